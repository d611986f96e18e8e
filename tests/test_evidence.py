import sys

import pytest

from sgl_explain.evidence import MAX_LINKS, MAX_MESSAGE_CHARS, Context, evidence_from


def raised(action) -> BaseException:
    try:
        action()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def fail(error):
    raise error


def test_types_name_the_class_and_its_bases():
    (link,) = evidence_from(raised(lambda: fail(ModuleNotFoundError("No module named 'vllm'")))).raised

    assert link.types == ("ModuleNotFoundError", "ImportError")


def test_frames_have_module_function_and_source_line():
    (link,) = evidence_from(raised(lambda: fail(ValueError("x")))).raised

    assert (link.frames[-1].function, link.frames[-1].line) == ("fail", "raise error")
    assert link.frames[-1].module == __name__


def test_causes_follow_the_error_that_was_seen():
    def chained():
        try:
            fail(KeyError("inner"))
        except KeyError as error:
            raise RuntimeError("outer") from error

    assert [link.message for link in evidence_from(raised(chained)).raised] == ["outer", "'inner'"]


def test_a_context_that_was_suppressed_is_left_out():
    def suppressed():
        try:
            fail(KeyError("inner"))
        except KeyError:
            raise RuntimeError("outer") from None

    assert [link.message for link in evidence_from(raised(suppressed)).raised] == ["outer"]


def test_a_chain_that_bites_its_tail_ends():
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, first

    assert len(evidence_from(first).raised) == 2


def test_a_long_chain_is_cut():
    error = ValueError("0")
    for number in range(1, 500):
        link = ValueError(str(number))
        link.__cause__ = error
        error = link

    assert MAX_LINKS <= len(evidence_from(error).raised) < 500


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups came with Python 3.11")
def test_every_leaf_of_a_group_is_evidence():
    inner = ExceptionGroup("inner", [KeyError("a")])  # noqa: F821 - a builtin since 3.11
    group = ExceptionGroup("outer", [inner, ValueError("b")])  # noqa: F821 - likewise

    assert {link.message for link in evidence_from(group).raised} >= {"'a'", "b"}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="PEP 678 notes came with Python 3.11")
def test_notes_belong_to_the_message():
    error = ValueError("x")
    error.add_note("while loading layer 3")

    assert evidence_from(error).raised[0].message == "x\nwhile loading layer 3"


def test_secrets_and_home_folders_are_masked():
    error = ValueError("cannot read /home/maria/models with token hf_AbCdEfGhIjKlMnOpQr34")

    assert evidence_from(error).raised[0].message == "cannot read ~/models with token ****"


def test_a_huge_message_is_cut():
    assert len(evidence_from(ValueError("x" * 10**6)).raised[0].message) == MAX_MESSAGE_CHARS


def test_an_exception_whose_text_fails_has_an_empty_message():
    class UnreadableError(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    assert evidence_from(UnreadableError()).raised[0].message == ""


def test_an_sglang_frame_puts_sglang_in_the_picture():
    names = {"__name__": "sglang.srt.server_args"}
    exec("def check():\n    raise ValueError('x')", names)

    assert evidence_from(raised(names["check"])).involves_sglang


def test_a_foreign_error_has_nothing_to_do_with_sglang():
    assert not evidence_from(raised(lambda: fail(ValueError("x"))), Context()).involves_sglang


def test_the_openai_clients_exception_brings_the_servers_message():
    httpx, openai = pytest.importorskip("httpx"), pytest.importorskip("openai")
    body = {"object": "error", "message": "top_p must be in (0, 1], got 3.", "type": "BadRequestError", "code": 400}
    response = httpx.Response(400, json=body, request=httpx.Request("POST", "http://127.0.0.1/v1"))
    error = openai.BadRequestError(f"Error code: 400 - {body}", response=response, body=body)

    assert [link.message for link in evidence_from(error).raised][1:] == ["top_p must be in (0, 1], got 3."]


def test_a_reply_of_httpx_brings_the_servers_message():
    httpx = pytest.importorskip("httpx")
    request = httpx.Request("POST", "http://127.0.0.1/generate")
    response = httpx.Response(400, json={"error": {"message": "too long"}}, request=request)
    error = raised(response.raise_for_status)

    assert [link.message for link in evidence_from(error).raised][1:] == ["too long"]


def test_a_refused_key_is_explained_at_the_openai_client():
    httpx, openai = pytest.importorskip("httpx"), pytest.importorskip("openai")
    body = {"error": "Unauthorized"}
    response = httpx.Response(401, json=body, request=httpx.Request("POST", "http://127.0.0.1/v1"))
    error = raised(lambda: fail(openai.AuthenticationError(f"Error code: 401 - {body}", response=response, body=body)))
    import sgl_explain

    assert sgl_explain.diagnose(error).id == "request-api-key-rejected"
