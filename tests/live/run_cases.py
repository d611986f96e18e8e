"""Fire live cases on the installed, real SGLang: JSON lines of cases on stdin, JSON lines of outcomes on stdout.

Every run is a forked child of one warmed process (importing SGLang takes ten seconds): the bad input without the
explainer, the bad input with ``sgl_explain.install()``, and the corrected input. A child ends as a program would: what
nothing catches goes to ``sys.excepthook`` and makes the exit code 1. ``FAKE_SM`` shows SGLang CUDA devices.
"""

import gc
import json
import os
import shlex
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lab"))
if os.environ.get("FAKE_SM"):
    import automock  # noqa: F401 - GPU-only packages that SGLang imports where it sees a GPU
    import fake_cuda  # noqa: F401 - must come before sglang

import sglang
import sglang.srt.arg_groups.pipeline
import sglang.srt.managers.io_struct
import sglang.srt.speculative.spec_info
import sglang.srt.utils.hf_transformers_utils
from sglang.srt.server_args import prepare_server_args

import sgl_explain
from sgl_explain.integrations import _guard

# what every child needs is loaded once, and shared with them
sgl_explain.diagnose("nothing that any entry tells of")
gc.collect()
gc.freeze()

LAUNCHER = str(Path(sglang.__file__).parent / "launch_server.py")
TIME_LIMIT_S = 90


def check_arguments(argv):
    """Run every argument check of a launch, as `python -m sglang.launch_server` does before it starts processes."""
    sys.argv = [LAUNCHER, *argv]
    arguments = prepare_server_args(argv)
    getattr(arguments, "resolve_once", lambda: None)()
    arguments.check_server_args()


def run_program(kind, payload):
    if kind == "argv":
        check_arguments(payload)
    else:
        sys.argv = ["case.py"]
        exec(compile(payload, "<case>", "exec"), {"__name__": "__main__"})


def child(kind, payload, env, with_explainer):
    """Be a program with this input; leave by its exit code, and write what `diagnose` says to fd 3."""
    os.environ.update(env)
    signal.alarm(TIME_LIMIT_S)
    if with_explainer:
        _guard.BUDGET_S = 60.0  # what is explained is asked here, not how fast a busy machine is
        os.environ["SGLANG_EXPLAIN_DEBUG"] = "1"
        sgl_explain.install()
    else:
        # sglang.Engine loads plugins, and the installed package is one
        os.environ["SGLANG_EXPLAIN"] = "0"
    code, said = 0, None
    try:
        run_program(kind, payload)
    except SystemExit as error:
        code, said = error.code if isinstance(error.code, int) else 1, error
    except BaseException as error:
        sys.excepthook(*sys.exc_info())
        code, said = 1, error
    sys.stderr.flush()
    sys.stdout.flush()
    if with_explainer and said is not None:
        os.write(3, json.dumps(diagnosis(said)).encode())
    os._exit(code)


def diagnosis(error):
    explanation = sgl_explain.diagnose(argument_error() if isinstance(error, SystemExit) else error)
    return explanation and explanation.to_dict()


def argument_error():
    """What argparse printed before it left, with what this process knows of itself, as the hook has it."""
    from sgl_explain.environment import current_context
    from sgl_explain.evidence import Evidence, Raised

    text = Path("/dev/fd/2").read_text(encoding="utf-8", errors="replace").partition("\nsgl_explain: ")[0]
    message = text.rpartition(": error: ")[2].strip()
    return Evidence((Raised(("SystemExit",), message),), current_context())


def follow(explained, env):
    """Run the first corrected command of an explanation, if it has one."""
    fixes = (explained["diagnosis"] or {}).get("fixes", ())
    command = next((fix["command"] for fix in fixes if "command" in fix), None)
    argv = [os.path.expanduser(word) for word in shlex.split(command or "")[3:]]  # noqa: PTH111 - words, not all paths
    return command and {"command": command, **attempt("argv", argv, env, with_explainer=True)}


def attempt(kind, payload, env, with_explainer=False):
    """Run one program in a child; return its exit code, its standard error and what `diagnose` said."""
    with tempfile.TemporaryFile() as stderr, tempfile.TemporaryFile() as said, Path(os.devnull).open("r+b") as null:
        pid = os.fork()
        if not pid:
            os.dup2(null.fileno(), 0)
            os.dup2(stderr.fileno(), 2)
            os.dup2(null.fileno(), 1)
            os.dup2(said.fileno(), 3)
            child(kind, payload, env, with_explainer)
        _, status = os.waitpid(pid, 0)
        stderr.seek(0)
        said.seek(0)
        text = said.read()
        return {
            "exit": os.waitstatus_to_exitcode(status),
            "stderr": stderr.read().decode("utf-8", "replace"),
            "diagnosis": json.loads(text) if text else None,
        }


passed = {}


def corrected(kind, payload, env):
    """Run a corrected input, once for all the cases that share it."""
    key = json.dumps([kind, payload, env])
    if key not in passed:
        passed[key] = attempt(kind, payload, env)
    return passed[key]


def outcome(case):
    """What came of a case; one without bad input (an example) has only its corrected run."""
    kind = "argv" if "fixed" in case else "code"
    bad, good = case.get(kind), case["fixed" if kind == "argv" else "fixed_code"]
    env, fixed_env = case.get("env", {}), case.get("fixed_env", {})
    told = {"name": case["name"], "fixed": corrected(kind, good, fixed_env)}
    if not bad:
        return told
    explained = attempt(kind, bad, env, with_explainer=True)
    plain = attempt(kind, bad, env) if case["compare"] else None
    followed = follow(explained, fixed_env) if kind == "argv" and case["follow"] else None
    return {**told, "plain": plain, "explained": explained, "followed": followed}


os.dup2(os.dup(1), 9)
results = os.fdopen(9, "w")
for line in sys.stdin:
    results.write(json.dumps(outcome(json.loads(line))) + "\n")
    results.flush()
