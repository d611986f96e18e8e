"""Python children of ``sgl-explain run``: installs the explainer in those that import SGLang.

Python's site module imports it at every start, from the folder that ``run`` puts first on PYTHONPATH and that holds
nothing else. It gives way to the ``sitecustomize`` that it shadows, takes its folder off the path again, and imports
nothing before SGLang is imported. It must be readable to any Python 3, and never fail.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would slow down every start
_PACKAGE = os.path.dirname(os.path.dirname(_FOLDER))  # noqa: PTH120 - the same
_SGLANG = ("sglang", "sglang_router")
_NEEDED = ("importlib_resources", "rapidfuzz", "rich", "wrapt")


def _give_way() -> None:
    """Load the ``sitecustomize`` that this one shadows, under its name, as if this one were not there."""
    ours = sys.modules.pop(__name__, None)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _FOLDER]  # noqa: PTH100 - the same
    try:
        __import__(__name__)
    except ImportError as error:
        if getattr(error, "name", __name__) != __name__:
            raise
        if ours is not None:
            sys.modules[__name__] = ours


class _UntilSglang:
    """A finder that finds nothing, and installs the explainer when SGLang is looked for the first time."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 - importlib's
        if name in _SGLANG:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
            try:
                _install()
            except BaseException:  # noqa: BLE001 - the program goes on as if we were not here
                return


def _install() -> None:
    from importlib.util import find_spec

    # a Python of another environment may lack what explaining needs; `run` then explains from the output alone
    if not all(map(find_spec, _NEEDED)):
        return
    if find_spec("sgl_explain") is None:
        sys.meta_path.append(_OurPackage())  # type: ignore[arg-type]  # the protocol, without importing its types
    import sgl_explain

    sgl_explain.install()


class _OurPackage:
    """Finds this very package, and nothing else of the folder it is installed in."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:  # noqa: ARG002 - importlib's
        if name != "sgl_explain":
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(
            name, os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE]  # noqa: PTH118 - the same
        )  # fmt: skip


if __name__ == "sitecustomize":
    if sys.version_info >= (3, 10):  # noqa: UP036 - the Python that starts here is anyone's
        sys.meta_path.insert(0, _UntilSglang())
    _give_way()
