"""Failures of an OpenAI-compatible server as sentences of Bethink; `openai_wire` is the caller.

A sentence names the model, what happened and what to check. It never holds the
key, also where the server quotes it.
"""

from __future__ import annotations

import email.utils
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from bethink.errors import (
    ContextTooLong,
    InvalidResponse,
    LlmError,
    RateLimited,
    Refused,
    Unreachable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.llm.openai_shapes import ErrorDetail

_QUOTED_CHARACTERS: Final = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context[ _-](?:length|window|size)"
    r"|prompt is too long|input is too long|too many (?:input )?tokens|truncate_prompt",
    re.IGNORECASE,
)
"""OpenAI's code, llama.cpp's type, and the words of vLLM, Anthropic, Ollama and DIAL."""
_NO_CREDIT = re.compile(r"insufficient_quota|insufficient_credits|billing|credit balance", re.IGNORECASE)
_RATE = re.compile(r"\b429\b|rate.?limit|too many requests", re.IGNORECASE)
_MILLISECONDS: Final = 1000
_REFUSALS: Final = frozenset({400, 413, 415, 422})
_HIDDEN_REFUSALS: Final = frozenset({404, 500, 501})
"""OpenRouter's and llama.cpp's for pictures that no model of theirs sees; of others when they say so."""
_SEES_NONE = re.compile(
    r"(?:image|vision|multi-?modal).{0,60}(?:not supported|unsupported|only supported|not enabled)"
    r"|support.{0,40}(?:image|vision|multi-?modal)|not a multi-?modal|at most 0 image|mmproj"
    r"|unknown variant .?image_url|content.{0,40}(?:must|should) be a (?:valid )?string",
    re.IGNORECASE,
)
_SPOILT = re.compile(r"format|dimension|corrupt|decode|download|too large", re.IGNORECASE)
"""Words about one picture: others may be seen."""


class Disconnected(Unreachable):
    """The model's server closed the connection without an answer."""


class PicturesRefused(Refused):
    """The model's server refused a request with pictures. `always` where it says that its model sees none."""

    def __init__(self, message: str, *, always: bool) -> None:
        super().__init__(message)
        self.always = always


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes errors about one model at one address.

    `key_setting` names where the key is set; `key` is what no sentence may hold.
    """

    model: str
    address: str
    key_setting: str
    key: str | None = field(default=None, repr=False)

    def of_status(self, status: int, detail: ErrorDetail, headers: Mapping[str, str]) -> LlmError:
        """The error of a response that is not 200. `headers` are read without regard to case."""
        said = self._said(detail)
        about = f"{detail.code} {detail.message}"
        # A gateway hides a model's 400 in a 5xx now and then: what it says counts for more.
        if _TOO_LONG.search(about) or status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return ContextTooLong(f"The conversation is longer than {self.model} accepts.{said}")
        if status == HTTPStatus.PAYMENT_REQUIRED or _NO_CREDIT.search(about):
            return Refused(f"The account of {self.model} has no credit left ({status}).{said}")
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            wait_s = retry_after_s(headers)
            when = "" if wait_s is None else f" It asks to wait {wait_s:.0f} s."
            return RateLimited(
                f"The provider of {self.model} limits the rate of requests (429).{when}{said}",
                retry_after_s=wait_s,
            )
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
            return Unreachable(
                f"The server of {self.model} at {self.address} has a problem ({status}).{said}"
            )
        return Refused(f"{self._refusal(status)}{said}")

    def of_pictures(self, status: int, detail: ErrorDetail, error: LlmError) -> PicturesRefused | None:
        """The error of a request that showed pictures; None where they are not what was refused."""
        about = f"{detail.code} {detail.message}"
        blind = bool(_SEES_NONE.search(about)) and not _SPOILT.search(about)
        too_long = isinstance(error, ContextTooLong) and status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        if too_long or not (status in _REFUSALS or (blind and status in _HIDDEN_REFUSALS)):
            return None
        return PicturesRefused(error.message, always=blind)

    def of_error_object(self, detail: ErrorDetail) -> LlmError:
        """The error of an `error` object inside an answer."""
        about = f"{detail.code} {detail.message}"
        said = self._said(detail)
        if _TOO_LONG.search(about):
            return ContextTooLong(f"The conversation is longer than {self.model} accepts.{said}")
        if _RATE.search(about):
            return RateLimited(f"The provider of {self.model} limits the rate of requests.{said}")
        return InvalidResponse(f"{self.model} failed while it answered.{said} Ask again.")

    def of_exception(self, error: Exception) -> LlmError:
        """The error of a request to which no response came; `error` is aiohttp's or the system's."""
        import aiohttp

        host = self.address.split("/")[2]
        match error:
            case aiohttp.ClientConnectorDNSError():
                return self.unreachable(f"there is no host {host}. Check the base URL and the network.")
            case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
                return self.unreachable(f"its TLS connection cannot be trusted ({error}).")
            case aiohttp.ConnectionTimeoutError():
                return self.unreachable("no connection in time. Check the base URL and the network.")
            case aiohttp.ClientConnectorError():
                return self.unreachable(f"nothing answers there ({error.os_error.strerror}). Is it started?")
            case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
                return Disconnected(self.unreachable("it closed the connection without an answer.").message)
            case aiohttp.ClientResponseError():
                return InvalidResponse(
                    f"What answers at {self.address} does not speak HTTP. Check the base URL."
                )
            case _:
                return self.unreachable(f"{error}.")

    def unreachable(self, why: str) -> Unreachable:
        """The server did not answer."""
        return Unreachable(f"{self.model} cannot be reached at {self.address}: {why}")

    def broken_off(self) -> InvalidResponse:
        """The connection ended inside an answer."""
        return InvalidResponse(
            f"The connection to {self.model} broke in the middle of its answer. Ask again."
        )

    def _refusal(self, status: int) -> str:
        match status:
            case HTTPStatus.UNAUTHORIZED:
                given = "does not accept the key" if self.key else "asks for a key, and none is set"
                return f"{self.model} {given} (401): check {self.key_setting}."
            case HTTPStatus.FORBIDDEN:
                return (
                    f"{self.model} does not allow this (403): check {self.key_setting} and what it may use."
                )
            case HTTPStatus.NOT_FOUND | HTTPStatus.METHOD_NOT_ALLOWED:
                return (
                    f"{self.model} is not known at {self.address} ({status}):"
                    " check the model's name and the base URL."
                )
            case redirect if HTTPStatus.MULTIPLE_CHOICES <= redirect < HTTPStatus.BAD_REQUEST:
                return (
                    f"{self.address} sends to another address ({status}), which a key must not follow:"
                    " set the base URL to the final one."
                )
            case _:
                return f"{self.model} refused the request ({status})."

    def _said(self, detail: ErrorDetail) -> str:
        """What the server says, as one quoted sentence that holds no key."""
        text = _CONTROL.sub(" ", detail.message).strip()
        if self.key:
            text = text.replace(self.key, "***")
        text = re.sub(r"\b(?:sk|pk|key)-[\w*-]{4,}", "***", text)
        if len(text) > _QUOTED_CHARACTERS:
            text = text[:_QUOTED_CHARACTERS] + "…"
        return f" It says: “{text}”" if text else ""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait, in seconds, never negative.

    A date counts from the server's own `Date`, so that clocks need not agree.
    Sources: RFC 9110, section 10.2.3; `retry-after-ms` is Azure's.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / _MILLISECONDS
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        until = email.utils.parsedate_to_datetime(value)
        now = email.utils.parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):  # TypeError: one of them has no time zone
        return None


def _number(value: str | None) -> float | None:
    if value is None or not re.fullmatch(r"\s*\d{1,9}(?:\.\d{1,9})?\s*", value):
        return None
    return float(value)
