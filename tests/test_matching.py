"""Which entry accounts for a failure: gates by type and site, told-apart neighbours, abstention."""

import pytest

from sgl_explain.entry import Entry, entry_from
from sgl_explain.evidence import Context, Evidence, Frame, Raised
from sgl_explain.knowledge_base import Knowledge
from sgl_explain.matching import judge

SGLANG = Context(sglang_in_picture=True, deliberate=True)
BASE = {
    "title": "Something fails",
    "upstream": ["sglang.srt.server_args:check"],
    "versions": ">=0.5.16",
    "meaning": "M.",
    "trigger": "T.",
    "situations": ["S."],
    "fixes": [{"do": "F."}],
    "example": {"before": "a", "after": "b"},
    "prevention": {"habits": ["H."]},
    "tests": [{"message": "m"}],
}


def entry(entry_id: str, template: str = "", **more: object) -> Entry:
    templates = {"templates": [template]} if template else {}
    return entry_from(entry_id, {**BASE, "raises": ["ValueError"], **templates, **more})


CHUNK = entry("chunk", "chunked_prefill_size must be divisible by page_size")
SAMPLING = entry(
    "sampling",
    "top_p must be in (0, 1], got {given}.",
    upstream=["sglang.srt.sampling.sampling_params:verify"],
)
OOM = entry(
    "oom",
    "CUDA out of memory. Tried to allocate {size}.",
    raises=["torch.OutOfMemoryError"],
    upstream=["torch"],
)
WRAPPER = entry("wrapper", "Capture cuda graph failed: {inner}", raises=["Exception"], wrapper=True)
HEAD_DIM = entry("head-dim", "Unsupported head_dim: {dim:int}", raises=["RuntimeError"], upstream=["flashinfer"])
BARE = entry(
    "bare",
    raises=["AssertionError"],
    sites=[{"upstream": "sglang.srt.a:check", "line": "assert a % b == 0"}],
    upstream=["sglang.srt.a:check"],
)
SITE = entry(
    "site",
    raises=["KeyError"],
    sites=[{"upstream": "sglang.lang.chat_template:get_*"}],
    upstream=["sglang.lang.chat_template:get_*"],
)
GLOB = entry(
    "glob",
    raises=["KeyError"],
    sites=[{"upstream": "sglang.srt.models.*:load_weights"}],
    upstream=["sglang.srt.models.*:load_weights"],
)
DRIFT = entry(
    "drift",
    "The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory={a}",
)


def found(raised: Raised, *entries: Entry, context: Context = SGLANG) -> tuple[str, str] | None:
    verdict = judge(Evidence((raised,), context), Knowledge(entries)).verdict
    return verdict and (verdict.entry.id, verdict.confidence)


def test_the_text_alone_is_exact_when_it_is_particular():
    raised = Raised(("ValueError",), "chunked_prefill_size must be divisible by page_size")

    assert found(raised, CHUNK, SAMPLING) == ("chunk", "exact")


def test_another_type_is_not_explained_by_a_short_text():
    assert found(Raised(("KeyError",), "top_p must be in (0, 1], got 3."), SAMPLING) is None


def test_a_base_class_is_as_good_as_the_class():
    raised = Raised(("my.Error", "ValueError"), "top_p must be in (0, 1], got 3.")

    assert found(raised, SAMPLING) == ("sampling", "exact")


def test_a_class_known_under_another_module_is_recognised():
    raised = Raised(("torch.cuda.OutOfMemoryError",), "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has …")

    assert found(raised, OOM) == ("oom", "exact")


def test_third_parties_are_left_alone_where_sglang_is_not_in_the_picture():
    raised = Raised(("torch.OutOfMemoryError",), "CUDA out of memory. Tried to allocate 2.00 GiB.")

    assert found(raised, OOM, context=Context()) is None


def test_a_frame_of_sglang_puts_it_in_the_picture():
    frames = (Frame("sglang.srt.model_executor.model_runner", "load_model"), Frame("torch.nn", "f"))
    raised = Raised(("torch.OutOfMemoryError",), "CUDA out of memory. Tried to allocate 2.00 GiB.", frames)

    assert found(raised, OOM, context=Context()) == ("oom", "exact")


def test_a_bare_assert_is_told_by_its_line():
    raised = Raised(("AssertionError",), "", (Frame("sglang.srt.a", "check", "assert a % b == 0"),))

    assert found(raised, BARE) == ("bare", "exact")


def test_a_line_that_drifted_is_probable():
    raised = Raised(("AssertionError",), "", (Frame("sglang.srt.a", "check", "assert a % bb == 0"),))

    assert found(raised, BARE) == ("bare", "probable")


@pytest.mark.parametrize(
    "frame",
    [Frame("sglang.srt.a", "check", "assert isinstance(x, int)"), Frame("sglang.srt.b", "check", "assert a % b == 0")],
)
def test_another_line_or_module_is_another_assert(frame: Frame):
    assert found(Raised(("AssertionError",), "", (frame,)), BARE) is None


def test_a_site_may_stand_for_a_family_of_modules():
    raised = Raised(("KeyError",), "'model.layers.0.w'", (Frame("sglang.srt.models.llama", "load_weights", "x"),))

    assert found(raised, GLOB) == ("glob", "exact")


def test_a_site_that_decides_leaves_the_values_of_the_text():
    where = {"upstream": "sglang.srt.a:check", "line": "raise ValueError(text)"}
    both = entry("both", "odd size {size:int}", upstream=["sglang.srt.a:check"], sites=[where])
    raised = Raised(("ValueError",), "odd size 7", (Frame("sglang.srt.a", "check", "raise ValueError(text)"),))

    verdict = judge(Evidence((raised,), SGLANG), Knowledge([both])).verdict

    assert verdict is not None
    assert verdict.captures == {"message": "odd size 7", "size": "7"}


def test_a_call_out_of_sglang_counts_as_the_site():
    frames = (Frame("sglang.srt.models.llama", "load_weights", "x"), Frame("dict", "lookup", "y"))

    assert found(Raised(("KeyError",), "'w'", frames), GLOB) == ("glob", "exact")


def test_a_wrapper_yields_to_what_it_wraps():
    raised = Raised(("Exception",), "Capture cuda graph failed: Unsupported head_dim: 106\nPossible solutions: …")

    assert judge(Evidence((raised,), SGLANG), Knowledge([WRAPPER, HEAD_DIM])).verdict.entry is HEAD_DIM


def test_a_wrapper_around_something_unknown_is_explained_itself():
    raised = Raised(("Exception",), "Capture cuda graph failed: what is this")

    assert found(raised, WRAPPER, HEAD_DIM) == ("wrapper", "exact")


def test_the_root_cause_wins_over_what_it_led_to():
    chain = (
        Raised(("ValueError",), "chunked_prefill_size must be divisible by page_size"),
        Raised(("ValueError",), "top_p must be in (0, 1], got 3."),
    )

    assert judge(Evidence(chain, SGLANG), Knowledge([CHUNK, SAMPLING])).verdict.entry is SAMPLING


def test_two_unrelated_entries_that_fit_equally_well_explain_nothing():
    twin = entry("twin", "chunked_prefill_size must be divisible by page_size", upstream=["sglang.srt.other:check"])
    raised = Raised(("ValueError",), "chunked_prefill_size must be divisible by page_size")

    assert found(raised, CHUNK, twin)[1] == "similar"


def test_frames_decide_between_twins():
    twin = entry("twin", "chunked_prefill_size must be divisible by page_size", upstream=["sglang.srt.other:check"])
    frames = (Frame("sglang.srt.other", "check", "raise"),)
    raised = Raised(("ValueError",), "chunked_prefill_size must be divisible by page_size", frames)

    assert found(raised, CHUNK, twin) == ("twin", "exact")


def test_the_more_particular_of_two_texts_wins():
    general = entry("general", "Unknown speculative algorithm name: {name}")
    special = entry("special", "Unknown speculative algorithm name: MEDUSA")
    raised = Raised(("ValueError",), "Unknown speculative algorithm name: MEDUSA")

    assert found(raised, general, special) == ("special", "exact")


def test_wording_that_drifted_is_probable():
    text = "The memory capacity is unbalanced. Some GPUs may be used by other processes. pre_model_load_memory=70.1"

    assert found(Raised(("ValueError",), text), DRIFT, CHUNK) == ("drift", "probable")


def test_wording_without_the_word_that_tells_it_from_others_is_another_error():
    petit = entry("petit", "The package petit is not installed. Please install it with pip.")
    others = [entry(f"other-{i}", "Is the package not installed? Please install it with pip.") for i in range(3)]
    drifted, foreign = (
        f"The package {name} is not installed. Install it with pip please." for name in ("petit", "peft")
    )

    assert found(Raised(("ValueError",), drifted), petit, *others) == ("petit", "probable")
    assert found(Raised(("ValueError",), foreign), petit, *others, context=SGLANG) != ("petit", "probable")


def test_wording_that_is_only_alike_is_similar():
    text = "The memory capacity of this node is unbalanced, and some GPUs are occupied"

    assert found(Raised(("ValueError",), text), DRIFT, CHUNK) == ("drift", "similar")


@pytest.mark.parametrize(
    "message",
    ["", " ", "x", "list index out of range", "CUDA error", "'name'", "invalid literal for int() with base 10: 'x'"],
)
def test_foreign_messages_find_nothing(message: str):
    assert found(Raised(("ValueError",), message), CHUNK, SAMPLING, OOM, WRAPPER, DRIFT, BARE, SITE) is None


def test_a_short_text_raised_elsewhere_is_only_probable():
    frames = (Frame("sglang.srt.other", "check", "raise"),)

    assert found(Raised(("ValueError",), "top_p must be in (0, 1], got 3.", frames), SAMPLING) == (
        "sampling",
        "probable",
    )


@pytest.mark.parametrize(
    ("frames", "server", "expected"),
    [((), "", "probable"), ((Frame("sglang.srt.server_args", "check", "x"),), "", "exact"), ((), "sglang", "exact")],
)
def test_two_words_of_everyday_language_want_their_place(frames: tuple[Frame, ...], server: str, expected: str):
    unknown = entry("unknown", "Unknown type: {given}")

    assert found(Raised(("ValueError",), "Unknown type: x", frames, server), unknown) == ("unknown", expected)


MODELS = Frame("sglang.srt.models.llama", "__init__", "raise")


@pytest.mark.parametrize(
    ("template", "message", "frame", "expected"),
    [
        ("Unsupported norm: {given}", "Unsupported norm: 3", MODELS, ("wide", "exact")),
        ("Unsupported norm: {given}", "Unsupported norm: 3", None, None),
        ("Unsupported norm: {given}", "Unsupported norm: 3", Frame("sglang.srt.other", "check", "raise"), None),
        ("Unsupported vision norm type: {given}", "Unsupported vision norm type: 3", MODELS, ("wide", "exact")),
        ("Unsupported vision norm type: {given}", "Unsupported vision norm type: 3", None, ("wide", "probable")),
    ],
)
def test_plain_wording_of_many_places_wants_one_of_them(template: str, message: str, frame: Frame | None, expected):
    wide = entry("wide", template, upstream=["sglang.srt.models.*:*"])

    assert found(Raised(("ValueError",), message, (frame,) if frame else ()), wide) == expected


def test_what_a_library_raises_in_words_of_sglangs_is_another_error():
    message = "You must specify exactly one of input_ids or inputs_embeds when calling the forward of this model"
    gemma = entry("gemma", message, upstream=["sglang.srt.models.gemma:forward"])
    ours, theirs = Frame("sglang.srt.models.transformers", "forward", "x"), Frame("transformers.llama", "forward", "y")

    assert found(Raised(("ValueError",), message, (ours,)), gemma) == ("gemma", "exact")
    assert found(Raised(("ValueError",), message, (ours, theirs)), gemma) is None


def test_a_harmless_line_is_not_taken_for_the_error_it_quotes():
    ignored = entry("ignored", "Ignore import error when loading {name}: {error}", raises=[], harmless=True)
    missing = entry("missing", "No module named 'vllm'", raises=["ModuleNotFoundError"], upstream=["vllm"])

    assert (
        found(Raised((), "Ignore import error when loading x.y: No module named 'vllm'"), ignored, missing)[0]
        == "ignored"
    )


PROGRAM = (Frame("my.program", "main", "x"),)


def test_a_short_text_that_the_users_own_code_raised_is_left_alone():
    missing = entry("missing", "No module named 'vllm'", raises=["ModuleNotFoundError"], upstream=["vllm"])

    assert found(Raised(("ModuleNotFoundError",), "No module named 'vllm'", PROGRAM), missing) is None


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "No such file or directory on this host: '{path}/adapter.json'",
            "No such file or directory on this host: '/a b'",
        ),
        ("The environment variable 'MOONCAKE_MASTER' is not set.", "The environment variable 'OPENAI_KEY' is not set."),
        ("the compiler of the toolkit must be at least 12", "the compiler of the toolkit must be at least 99"),
    ],
)
def test_what_a_template_spells_out_is_not_a_value_that_may_differ(template: str, message: str):
    spelled = entry("spelled", template, raises=["OSError", "ValueError"])

    assert (found(Raised(("ValueError",), message), spelled) or (None,))[0] is None
