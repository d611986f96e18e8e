import pytest

from sgl_explain.http_body import messages_in_body, messages_in_text


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
    assert messages_in_text(text) == ("top_p must be in (0, 1], got 3.",)


def test_a_bad_key_is_an_error_body():
    assert messages_in_text('{"error":"Unauthorized"}') == ("Unauthorized",)


def test_validation_problems_name_their_place():
    body = {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "type": "missing"}]}

    assert messages_in_body(body) == ("body.messages: Field required",)


@pytest.mark.parametrize("body", [None, 3, [], {}, {"choices": []}, {"error": 5}])
def test_other_bodies_hold_no_message(body: object):
    assert messages_in_body(body) == ()


@pytest.mark.parametrize("text", ["", "{", "{'error': ", '{"message": }', "plain words"])
def test_broken_bodies_hold_no_message(text: str):
    assert messages_in_text(text) == ()
