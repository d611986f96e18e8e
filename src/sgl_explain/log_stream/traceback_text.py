"""What single lines of a printed traceback say: frames, exception lines, the sentences between linked tracebacks.

The shapes are those of CPython's ``traceback`` module (3.8 to 3.14), of ``faulthandler`` and of exception groups.
"""

import builtins
import re
from typing import Final

from sgl_explain.evidence import SGLANG_PACKAGES, Frame, type_name

HEADER: Final = "Traceback (most recent call last):"
_GROUP_HEADER: Final = "+ Exception Group Traceback (most recent call last):"
_CONNECTORS: Final = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_CALL: Final = re.compile(r'\s*File "(?P<path>[^"]{1,1000})", line \d+(?:,? in (?P<function>.{1,300}))?$')
_MARKERS: Final = re.compile(r"[\s~^]+$")
_ASIDE: Final = re.compile(r"\s*\[(?:Previous line repeated \d+ more times?|\.\.\. .{0,60})\]$")
_MEMBER: Final = re.compile(r"\s*\+(?:-\+)?-{8,} (?:\d+|\.\.\.) -{8,}$")
_GROUP_END: Final = re.compile(r"\s*\+-{8,}$")
_MARGIN: Final = re.compile(r"\s*\| ?")

_NAME: Final = r"[A-Za-z_][\w.]{0,200}(?:\.<locals>\.[\w.]{1,100})?"
_EXCEPTION: Final = re.compile(
    rf"(?P<type>{_NAME})(?:\((?P<inner>[\w.]{{1,100}})\))?(?::(?: (?P<message>.*))?)?$", re.DOTALL
)
_KIND: Final = (
    r"(?:Error|Exception|Warning|Interrupt|Exit|Failure|Failed|Fault|Expired|Timeout|NotFound|Group|Traceback)"
)
_PLAINLY_NAMED: Final = re.compile(rf"(?:[\w<>]+\.)*(?:[A-Z_]\w*{_KIND}|Exception)$|(?:\w+\.)+\w*error$")
_NO_TYPES: Final = frozenset({
    "TRACE", "DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "Killed", "Note",
})  # fmt: skip
_UNTOLD_BASES: Final = (object, BaseException, Exception)

_ROOT_FOLDERS: Final = re.compile(r"(?:site|dist)-packages")
_PYTHON_FOLDER: Final = re.compile(r"python(?:\d[\d.]*)?t?")
_KNOWN_PACKAGES: Final = frozenset({
    "torch", "transformers", "triton", "flashinfer", "vllm", "xgrammar", "outlines", "openai", "httpx", "requests",
    "uvicorn", "fastapi", "starlette", "pydantic", "ray", "zmq", "huggingface_hub", "safetensors", "accelerate",
    "numpy", "diffusers", "deep_gemm", "deep_ep", "aiter", "torch_npu",
})  # fmt: skip


def words_before_header(text: str) -> str:
    """Return what stands before the header on its line, such as "Scheduler hit an exception", or its indentation."""
    before = text.partition(HEADER)[0].removesuffix("Exception Group ").removesuffix("+ ")
    return before if not before.strip() else before.rstrip(" :-")


def is_connector(text: str) -> bool:
    """Tell whether a line is the sentence that joins two tracebacks of a chain."""
    return text.strip() in _CONNECTORS


def is_group_header(text: str) -> bool:
    """Tell whether a traceback of an exception group starts here; its lines stand behind a margin."""
    return _GROUP_HEADER in text


def is_member_rule(text: str) -> bool:
    """Tell whether a line separates the members of an exception group."""
    return _MEMBER.match(text) is not None


def is_group_end(text: str) -> bool:
    """Tell whether a line closes an exception group."""
    return _GROUP_END.match(text) is not None


def without_margin(text: str) -> str:
    """Return a line of an exception group without its margin."""
    found = _MARGIN.match(text)
    return text[found.end() :] if found else text


def is_call(text: str) -> bool:
    """Tell whether a line is ``File "…", line N, in f``, or that of a SyntaxError or of faulthandler."""
    return "File" in text and _CALL.match(text) is not None


def is_marker(text: str) -> bool:
    """Tell whether a line only points at the line above (``^^^^``), or tells of frames left out."""
    return _MARKERS.match(text) is not None or _ASIDE.match(text) is not None


def frame_in(text: str) -> Frame | None:
    """Return the frame of a ``File`` line, yet without its source line; None for a SyntaxError's, which is no call."""
    found = _CALL.match(text)
    if found is None or found["function"] is None:
        return None
    function = found["function"].strip()
    return Frame(module_of(found["path"]), function if "<" in function else function.rpartition(".")[2])


def exception_in(text: str, *, plainly_named: bool) -> tuple[tuple[str, ...], str] | None:
    """Return type names and message of an exception line such as ``ValueError: …``, or None if it is not one.

    With ``plainly_named`` the class must look like an exception's by its name alone; without, the line is known to
    end a traceback and any class name will do. Bases are added for builtin classes only.
    """
    found = _EXCEPTION.match(text)
    if found is None or found["type"] in _NO_TYPES:
        return None
    name = found["type"]
    told = _PLAINLY_NAMED.match(name) is not None
    if told or (not plainly_named and (_is_class(name) if found["message"] is not None else "." in name)):
        return _types(name, found["inner"]), found["message"] or ""
    return None


def _is_class(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last[:1].isupper() or last.lower().endswith(("error", "exception")) or "." in name


def _types(name: str, inner: str | None) -> tuple[str, ...]:
    """Return the classes a name stands for: itself, Ray's second base in parentheses, the bases of a builtin."""
    own = (f"{name}({inner})", name) if inner else (name,)
    builtin = getattr(builtins, inner or name, None)
    mro = builtin.__mro__ if isinstance(builtin, type) and issubclass(builtin, BaseException) else ()
    bases = (type_name(base) for base in mro if base not in _UNTOLD_BASES)
    return tuple(dict.fromkeys((*own, *([inner] if inner else []), *bases)))


def module_of(path: str) -> str:
    """Return the dotted module of a file, as far as its path tells.

    What follows the last ``site-packages``, else the last ``python3.x`` or ``python`` folder, else a folder named
    like a known package; the file's name alone where the path has none of them.
    """
    if path.startswith("<"):
        return path[1:-1].removeprefix("frozen ") if path.startswith("<frozen ") else "__main__"
    *folders, file = re.split(r"[\\/]", path)
    parts = [*folders[_package_root(folders) :], re.sub(r"\.pyx?$", "", file)]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _package_root(folders: list[str]) -> int:
    """Return the index of the first folder that is part of the module's name."""
    for name in (_ROOT_FOLDERS, _PYTHON_FOLDER):
        found = [index for index, folder in enumerate(folders) if name.fullmatch(folder)]
        if found:
            return found[-1] + 1
    for names in (SGLANG_PACKAGES, _KNOWN_PACKAGES):
        found = [index for index, folder in enumerate(folders) if folder in names]
        if found:
            return found[-1]
    return len(folders)
