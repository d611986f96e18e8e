import pytest

from sgl_explain.http_body import messages_in_body, replies_in_text


def messages_in(text: str) -> tuple[str, ...]:
    return tuple(reply.message for reply in replies_in_text(text))


@pytest.mark.parametrize(
    "text",
    [
        (
            '{"object":"error","message":"top_p must be in (0, 1], got 3.",'
            '"type":"BadRequestError","param":null,"code":400}'
        ),
        '{"error":{"message":"top_p must be in (0, 1], got 3."}}',
        (
            "Error code: 400 - {'object': 'error', 'message': 'top_p must be in (0, 1], got 3.', "
            "'type': 'BadRequestError', 'param': None, 'code': 400}"
        ),
        'data: {"error": {"message": "top_p must be in (0, 1], got 3.", "type": "BadRequestError", "code": 400}}',
        'HTTP 400: {"detail": "top_p must be in (0, 1], got 3."}',
    ],
)
def test_the_message_is_found_in_every_shape_of_body(text: str):
    assert messages_in(text) == ("top_p must be in (0, 1], got 3.",)


def test_a_bad_key_is_an_error_body_of_one_word():
    assert messages_in('{"error": "Unauthorized"}') == ('{"error":"Unauthorized"}',)


def test_a_running_request_that_failed_says_why_it_was_ended():
    reason = {"type": "abort", "message": "too long", "status_code": 400, "err_type": "BadRequestError"}

    assert messages_in_body({"text": "", "meta_info": {"finish_reason": reason}}) == ("too long",)


def test_validation_problems_name_their_place():
    body = {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "type": "missing"}]}

    assert messages_in_body(body) == ("body.messages: Field required",)


@pytest.mark.parametrize("body", [None, 3, [], {}, {"choices": []}, {"error": 5}])
def test_other_bodies_hold_no_message(body: object):
    assert messages_in_body(body) == ()


@pytest.mark.parametrize("text", ["", "{", "{'error': ", '{"message": }', "plain words"])
def test_broken_bodies_hold_no_message(text: str):
    assert messages_in(text) == ()


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ('{"object":"error","message":"x y","type":"BadRequestError","param":null,"code":400}', "perhaps sglang"),
        ('{"error":{"message":"x y"}}', "perhaps sglang"),
        ('data: {"error": {"object": "error", "message": "x y", "code": 400}}', "perhaps sglang"),
        ('data: {"error":{"message":"x y","type":"invalid_request_error","code":400,"retryable":false}}', "sglang"),
        ('{"object":"error","message":"File \\"/opt/sglang/srt/entrypoints/http_server.py\\""}', "sglang"),
        ('{"error":{"message":"x y","type":"BadRequestError","param":null,"code":400}}', ""),
        ('{"error":{"message":"x y","type":"invalid_request_error","param":"model","code":"model_not_found"}}', ""),
        ('{"error":{"type":"Service Unavailable","code":"no_available_workers","message":"x y"}}', ""),
        ('{"error":"Unauthorized"}', ""),
        ('{"detail":"Not Found"}', ""),
    ],
    ids=[
        "flat",
        "generate",
        "stream",
        "stream of generate",
        "names a file",
        "vLLM",
        "OpenAI",
        "router",
        "key",
        "FastAPI",
    ],
)
def test_the_form_shows_whose_answer_it_is(text: str, origin: str):
    assert [reply.origin for reply in replies_in_text(text)] == [origin]
