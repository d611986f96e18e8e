"""The inventory reads texts out of source the way Python would put them together."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from sgl_explain.authoring.inventory import Saying, inventory, main

Read = Callable[..., tuple[Saying, ...]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that reads the source of one module, and of others by file name."""

    def sayings(source: str, **others: str) -> tuple[Saying, ...]:
        folder = tmp_path / "sglang"
        folder.mkdir()
        (folder / "__init__.py").touch()
        for name, text in {"m": source, **others}.items():
            (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        return inventory(tmp_path)

    return sayings


def templates(sayings: tuple[Saying, ...]) -> list[str | None]:
    return [saying.template for saying in sayings]


def test_a_raise_is_listed_with_its_site(read: Read) -> None:
    (saying,) = read("""
        class ServerArgs:
            def check(self):
                if self.tp < 1:
                    raise ValueError(
                        f"tp must be {1} or more, "
                        f"got {self.tp}."
                    )
    """)

    assert saying == Saying(
        module="sglang.m",
        function="ServerArgs.check",
        lineno=5,
        kind="raise",
        exception="ValueError",
        template="tp must be 1 or more, got {tp}.",
        source_line="raise ValueError(",
    )


def test_nested_functions_are_named_without_locals(read: Read) -> None:
    sayings = read("""
        raise OSError("no such platform")
        def f():
            async def g():
                assert ready, "not ready yet"
    """)

    assert [saying.function for saying in sayings] == ["", "f.g"]


def test_sites_without_text_are_listed_and_passing_on_an_exception_is_not(read: Read) -> None:
    sayings = read("""
        def f(x):
            assert x > 0
            try:
                raise NotImplementedError
            except KeyError as e:
                raise e
            except OSError:
                raise
            raise RuntimeError(x)
    """)

    assert [(saying.exception, saying.template) for saying in sayings] == [
        ("AssertionError", None),
        ("NotImplementedError", None),
        ("RuntimeError", None),
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"a " "b"', "a b"),
        ('"{x} is no " + kind(y)', "{{x}} is no {kind_y}"),
        ('f"{x=}, {len(ys)} of {self.size}"', "x={x}, {len_ys} of {size}"),
        ('f"{{literal}} {x!r} {3!r}"', "{{literal}} {x} 3"),
        ('"%s: %d%% of %(all)s" % (x, y)', "{x}: {y}% of {all}"),
        ('"{} and {name} and {0.size}".format(x, name=y)', "{x} and {y} and {value}"),
        ('"; ".join(["first", f"second {x}"])', "first; second {x}"),
        ('"known: " + ", ".join(sorted(REGISTRY))', "known: {REGISTRY}"),
        ('textwrap.dedent("""\n            one\n              two {}""").strip()', "one\n  two {{}}"),
        ('f"{a - b} left, {a - b} right, {b - a}"', "{a_minus_b} left, {a_minus_b} right, {b_minus_a}"),
        ('f"{a.name}/{b.name} {x.a} {y.a}"', "{a}/{b} {a_2} {a_3}"),
        ('f"{self.__class__.__name__} of {type(x).__name__}"', "{class_name} of {type_x_name}"),
        ("f\"{envs.SGLANG_MODE.get()} mode, {d['key']} key\"", "{SGLANG_MODE} mode, {d_key} key"),
    ],
)
def test_expressions_fold_as_python_would(read: Read, expression: str, expected: str) -> None:
    (saying,) = read(f"def f(self, x, y):\n    raise ValueError({expression})\n")

    assert saying.template == expected


def test_a_conditional_expression_gives_both_texts(read: Read) -> None:
    sayings = read("""
        def f(x):
            raise ValueError("too " + ("big" if x else "small"))
    """)

    assert templates(sayings) == ["too big", "too small"]


def test_branches_and_additions_give_one_text_each(read: Read) -> None:
    sayings = read("""
        def f(fraction):
            msg = "Not enough memory."
            if fraction is not None:
                msg += f" Current value: {fraction}"
            raise RuntimeError(msg)
    """)

    assert templates(sayings) == ["Not enough memory. Current value: {fraction}", "Not enough memory."]


def test_a_name_used_again_does_not_keep_its_old_text(read: Read) -> None:
    sayings = read("""
        def f(a, b):
            msg = "the first"
            if a:
                raise ValueError(msg)
            msg = "the second"
            if b:
                raise ValueError(msg)
    """)

    assert templates(sayings) == ["the first", "the second"]


def test_texts_set_before_break_and_in_handlers_arrive(read: Read) -> None:
    sayings = read("""
        def f(xs):
            why = None
            for x in xs:
                if x.bad:
                    why = f"item {x} is bad"
                    break
            try:
                g()
            except OSError as e:
                why = f"could not open: {e}"
            if why:
                raise ValueError(why)
    """)

    assert sorted(map(str, templates(sayings))) == ["could not open: {e}", "item {x} is bad"]


def test_a_loop_over_a_literal_table_gives_one_text_a_row(read: Read) -> None:
    sayings = read("""
        def check_lora(cfg):
            unsupported = [
                (cfg.a == "X", f"does not support MODE={cfg.mode!r}: it is " "slow"),
                (cfg.b, "does not support --b"),
            ]
            for is_unsupported, reason in unsupported:
                if is_unsupported:
                    raise ValueError(f"LoRA {reason}.")
    """)

    assert templates(sayings) == ["LoRA does not support MODE={mode}: it is slow.", "LoRA does not support --b."]
    assert {saying.lineno for saying in sayings} == {9}


def test_rows_of_a_mapping_keep_key_and_value_together(read: Read) -> None:
    sayings = read("""
        HINTS = {"--a": "use --b", "--c": "use --d"}
        def f(args):
            for flag, hint in HINTS.items():
                assert flag not in args, f"{flag} is gone, {hint}"
    """)

    assert templates(sayings) == ["--a is gone, use --b", "--c is gone, use --d"]


def test_problems_gathered_in_a_list_are_joined(read: Read) -> None:
    sayings = read("""
        def f(a):
            problems = []
            if a:
                problems.append("a is wrong")
            if problems:
                raise ValueError("Bad input: " + "; ".join(problems))
    """)

    assert "Bad input: a is wrong" in templates(sayings)


def test_constants_of_the_module_its_class_and_other_modules_are_read(read: Read) -> None:
    sayings = read(
        """
        from sglang.names import GREETING
        from sglang import names
        LIMIT = 8
        timeout = 5
        class C:
            HINT = "try again"
            rank: int = 0
            def f(self):
                raise ValueError(f"{GREETING}, at most {LIMIT} in {timeout}, {self.HINT} {self.rank} {names.BYE}")
        """,
        names='GREETING = "Hello there"\nBYE = "bye"\n',
    )

    assert templates(sayings) == ["Hello there, at most 8 in {timeout}, try again {rank} bye"]


def test_helpers_that_return_a_text_are_read(read: Read) -> None:
    sayings = read(
        """
        from sglang.other import reason
        class C:
            def _check(self, name):
                return bool(name), f"[{name}] total={self.total}"
            def f(self):
                leak, msg = self._check("full")
                assert not leak, f"Leak! {msg}"
                raise ValueError(reason(self))
        """,
        other='def reason(x):\n    if x:\n        return "x is set"\n    return None\n',
    )

    assert templates(sayings) == ["Leak! [full] total={total}", "x is set"]


def test_a_text_handed_to_a_helper_that_raises_is_listed_where_it_stands(read: Read) -> None:
    sayings = read(
        """
        from sglang.other import raise_or_warn
        class C:
            def report(self, pool, detail):
                msg = f"{pool} memory leak detected! {detail}"
                raise_or_warn(self, True, msg)
        """,
        other="""
        def raise_or_warn(obj, strict, message):
            if strict:
                raise ValueError(message)
            logger.warning(message)
        """,
    )

    at_call = [saying for saying in sayings if saying.via]
    assert [(saying.kind, saying.template) for saying in at_call] == [
        ("raise", "{pool} memory leak detected! {detail}"),
        ("log", "{pool} memory leak detected! {detail}"),
    ]
    assert {(saying.module, saying.function, saying.via) for saying in at_call} == {
        ("sglang.m", "C.report", "sglang.other:raise_or_warn")
    }


def test_a_helper_with_a_sentence_of_its_own_is_not_repeated_for_every_name(read: Read) -> None:
    sayings = read("""
        def positive(name, value):
            if value < 0:
                raise ValueError(f"{name} must be positive")
        def f(x):
            positive("the size", x)
    """)

    assert templates(sayings) == ["{name} must be positive"]


def test_a_helper_that_calls_itself_ends(read: Read) -> None:
    sayings = read("""
        def fail(msg):
            fail(f"again and again and again: {msg}")
            raise ValueError(msg)
        def text(x):
            return text(x) + " and on"
        def f():
            raise ValueError(text(1))
    """)

    assert sayings


def test_exceptions_built_first_or_by_a_helper_keep_class_and_text(read: Read) -> None:
    sayings = read("""
        def died(rank):
            return RuntimeError(f"Rank {rank} died")
        def f(x):
            error = ValueError("x is wrong")
            if x:
                raise error
            raise died(x)
    """)

    assert [(s.exception, s.template) for s in sayings] == [
        ("ValueError", "x is wrong"),
        ("RuntimeError", "Rank {x} died"),
    ]


def test_the_text_of_an_exception_class_of_sglangs_own_is_read(read: Read) -> None:
    sayings = read("""
        class PoolError(RuntimeError):
            def __init__(self, pool, why):
                super().__init__(f"Pool {pool} failed: {why}")
        def f(x):
            raise PoolError(x, "it is full")
    """)

    assert templates(sayings) == ["Pool {x} failed: it is full"]


@pytest.mark.parametrize(
    ("statement", "kind", "exception", "template", "level"),
    [
        ('logger.error("bad %s in %d", x, y)', "log", None, "bad {x} in {y}", "error"),
        ('self.logger.exception(f"bad {x}")', "log", None, "bad {x}", "error"),
        ('logging.getLogger(__name__).warning("100% bad")', "log", None, "100% bad", "warning"),
        ('logger.log(logging.CRITICAL, "very bad")', "log", None, "very bad", "critical"),
        ('warnings.warn("old flag", DeprecationWarning)', "warning", None, "old flag", None),
        ('raise HTTPException(status_code=400, detail=f"no {x}")', "http", "HTTPException", "no {x}", None),
        ('return ORJSONResponse({"error": {"message": "no key"}}, status_code=401)', "http", None, "no key", None),
        ('return JSONResponse(content={"message": "no rank"}, status_code=400)', "http", None, "no rank", None),
        ('return self.create_error_response(message=f"no {x}")', "http", None, "no {x}", None),
        ('req.finished_reason = FINISH_ABORT(f"gone: {x}", 400)', "abort", None, "gone: {x}", None),
        ('prepare_abort(req, "too long for the pool")', "abort", None, "too long for the pool", None),
        ('send({"type": "abort", "message": "queue is full"})', "abort", None, "queue is full", None),
        ('parser.error("--a needs --b")', "parser", "SystemExit", "--a needs --b", None),
        ('raise argparse.ArgumentTypeError("no JSON")', "parser", "argparse.ArgumentTypeError", "no JSON", None),
        ('p.add_argument("-a", error_message="a is gone")', "parser", None, "a is gone", None),
        ('sys.exit("give up now")', "raise", "SystemExit", "give up now", None),
        ('raise OSError(number, f"no {x} there")', "raise", "OSError", "no {x} there", None),
        ('print("cannot open", path)', "print", None, "cannot open {path}", None),
    ],
)
def test_every_way_to_speak_is_known(
    read: Read, statement: str, kind: str, exception: str | None, template: str, level: str | None
) -> None:
    (saying,) = read(f"def f(self, req, x, y):\n    {statement}\n")

    assert (saying.kind, saying.exception, saying.template, saying.level) == (kind, exception, template, level)


def test_successful_replies_and_lesser_logs_are_left_out(read: Read) -> None:
    sayings = read("""
        def f():
            logger.info("all is well")
            return JSONResponse(content={"message": "done"}, status_code=200)
    """)

    assert sayings == ()


def test_alternatives_are_capped_and_each_part_still_turns_up(read: Read) -> None:
    branches = "".join(f"    if x == {number}:\n        msg += 'part{number} '\n" for number in range(8))
    sayings = read(f"def f(x):\n    msg = 'Parts: '\n{branches}    raise ValueError(msg)\n")

    assert len(sayings) == 16
    assert all(any(f"part{number} " in str(template) for template in templates(sayings)) for number in range(8))


def test_what_no_run_reaches_is_listed_all_the_same(read: Read) -> None:
    assert len(read("def f():\n    return\n    raise ValueError('dead code')\n")) == 1


def test_a_module_that_cannot_be_parsed_is_left_out(read: Read) -> None:
    sayings = read("raise ValueError('kept here')\n", broken="def f(:\n")

    assert templates(sayings) == ["kept here"]


def test_a_wheel_gives_the_same_as_the_folder(read: Read, tmp_path: Path) -> None:
    from_folder = read("raise ValueError('in the wheel')\n")
    wheel = tmp_path / "sglang-0.5.19-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in (tmp_path / "sglang").iterdir():
            archive.write(path, f"sglang/{path.name}")

    assert inventory(wheel) == from_folder


def test_anything_else_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"neither a folder that contains sglang/__init__\.py nor a wheel"):
        inventory(tmp_path)


def test_the_command_prints_one_record_a_line(read: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (saying,) = read("raise ValueError('to be printed')\n")

    status = main([str(tmp_path)])

    record = json.loads(capsys.readouterr().out)
    assert status == 0
    assert record["template"] == saying.template
    assert record["module"] == "sglang.m"


def test_the_summary_counts_by_kind_and_by_module(
    read: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read("raise ValueError('to be counted')\nassert x\n")

    status = main([str(tmp_path), "--summary"])

    counts = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert status == 0
    assert counts == [["1", "raise"], ["1", "assert"], ["2", "sglang.m"]]


def test_the_command_says_what_is_wrong_and_returns_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nothing")]) == 2
    assert "neither a folder" in capsys.readouterr().err
