"""Failures of a model's server as sentences that say what to do and keep the key to themselves."""

from __future__ import annotations

import json

import pytest

from bethink.errors import ContextTooLong, LlmError, RateLimited, Refused, Unreachable
from bethink.llm.openai_answer import Failures, retry_after_s
from bethink.llm.openai_shapes import ErrorDetail

KEY = "secret-key-4711"
FAILURES = Failures("openai:gpt", "https://api.test/v1", "OPENAI_API_KEY", KEY)


def failure(status: int, body: object = None, **headers: str) -> LlmError:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return FAILURES.of_status(status, ErrorDetail.of_bytes(raw), headers)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, Refused, "OPENAI_API_KEY"),
        (403, Refused, "OPENAI_API_KEY"),
        (402, Refused, "no credit"),
        (404, Refused, "base URL"),
        (405, Refused, "base URL"),
        (301, Refused, "final"),
        (400, Refused, "400"),
        (422, Refused, "422"),
        (413, ContextTooLong, "longer"),
        (429, RateLimited, "429"),
        (408, Unreachable, "408"),
        (500, Unreachable, "500"),
        (503, Unreachable, "api.test"),
        (529, Unreachable, "529"),
    ],
)
def test_a_status_becomes_an_error_that_names_the_model(
    status: int, kind: type[LlmError], words: str
) -> None:
    error = failure(status, {"error": {"message": "Something."}})
    assert type(error) is kind
    assert words in str(error)
    assert "openai:gpt" in str(error) or "api.test" in str(error)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "Too big.", "code": "context_length_exceeded"}}),
        (400, {"error": {"message": "This model's maximum context length is 8 tokens.", "code": 400}}),
        (400, {"error": {"code": 400, "message": "exceeds", "type": "exceed_context_size_error"}}),
        (400, {"object": "error", "message": "the maximum context length is 8 tokens", "code": 40303}),
        (400, {"error": "prompt is too long: 9 tokens > 8 maximum"}),
        (500, "the request exceeds the available context size. try increasing it"),
    ],
)
def test_a_conversation_that_is_too_long_is_recognised(status: int, body: object) -> None:
    assert isinstance(failure(status, body), ContextTooLong)


def test_an_exhausted_account_is_not_asked_again() -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    assert isinstance(failure(429, body), Refused)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": f"Incorrect API key provided: {KEY}."}},
        {"detail": f"{KEY} is wrong"},
        f"plain text about {KEY}",
        {"error": {"message": "Incorrect API key provided: sk-proj-ab***********xyz9"}},
    ],
)
@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_the_key_is_never_in_a_sentence(status: int, body: object) -> None:
    error = failure(status, body)
    assert KEY not in str(error)
    assert "xyz9" not in str(error)
    assert KEY not in repr(FAILURES)


def test_what_a_server_says_is_quoted_shortly_and_without_control_characters() -> None:
    message = str(failure(500, {"error": {"message": "a\x1b[31m\nb" + "x" * 1000}}))
    assert "a [31m b" in message
    assert len(message) < 500


def test_a_page_is_not_quoted() -> None:
    assert "<" not in str(failure(502, "<html><body>Bad gateway</body></html>"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 30),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_the_wait_is_carried_by_the_error() -> None:
    error = failure(429, None, **{"retry-after": "12"})
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 12
    assert "12 s" in str(error)
