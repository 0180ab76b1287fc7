"""What an endpoint that others run says is wrong, as one of our errors; for `audio` and `images`."""

from __future__ import annotations

from typing import Final

import msgspec

from bethink.errors import InvalidResponse, LlmError, RateLimited, Refused, Unreachable

_SHOWN: Final = 300


class _Fault(msgspec.Struct, frozen=True):
    message: str = ""


class _Faulty(msgspec.Struct, frozen=True):
    error: _Fault | str


def fault_of(status: int, content: bytes, *, name: str, key: str) -> LlmError:
    """The error that an answer tells of, in OpenAI's shape or as plain text.

    `name` is what the endpoint is called at the start of a sentence, `key` the setting of its key.
    """
    try:
        fault = msgspec.json.decode(content, type=_Faulty).error
        said = fault if isinstance(fault, str) else fault.message
    except (msgspec.DecodeError, UnicodeError):
        said = content[:_SHOWN].decode("utf-8", "replace")
    said = " ".join(said.split())[:_SHOWN] or f"HTTP {status}"
    match status:
        case 401:
            return Refused(f"{name} does not accept the key: set {key}.")
        case 404:
            return InvalidResponse(f"{name} does not know this model or address: {said}")
        case 400 | 403 | 413 | 415 | 422:
            return Refused(f"{name} refused: {said}")
        case 429:
            return RateLimited(f"{name} limits the rate of requests: {said}")
        case _:
            return Unreachable(f"{name} answered with HTTP {status}: {said}")
