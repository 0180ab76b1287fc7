"""Every error that Bethink raises, one tree.

BethinkError
├── BadInput                     the caller can mend it
│   ├── UnknownId
│   │   └── NoSuchPage
│   ├── TooLarge
│   ├── NotAllowed
│   ├── NotSignedIn
│   ├── OAuthFault               a program asks for a grant, or uses one, as it may not
│   ├── HoldsSecret
│   ├── EmailTaken
│   ├── InvalidSettings
│   ├── NotUnderstood            words of time that are none
│   ├── Ambiguous                words of time that can be read in several ways
│   └── JustForgotten
├── Conflict                     somebody else changed it first, or it is in use
│   └── Busy
├── TooManyRequests              this owner or key asks too often
├── StorageError                 the data directory cannot be used as asked
│   ├── NewerSchema
│   ├── CorruptDatabase
│   └── DiskFull
├── LlmError                     the model did not answer
│   ├── NoModel
│   ├── RateLimited
│   ├── ContextTooLong
│   ├── Refused
│   ├── InvalidResponse
│   └── Unreachable
├── WebError                     a page or a search gave nothing
│   └── AddressRefused
├── DeliveryError                a notice did not reach its owner
├── DocumentError
├── NotInstalled
├── McpError                     a server of tools did not do as it should
│   ├── McpUnreachable
│   ├── McpTimeout
│   └── McpLost
├── DialError                    DIAL Core did not do as asked
│   ├── DialUnreachable
│   ├── DialRefused
│   ├── DialBusy
│   └── DialChanged
├── MemoryUnavailable
├── EmbeddingsUnavailable
└── SandboxUnavailable

A class's docstring, its first paragraph, is its default message; ``code`` is stable and is what
doors show (``urn:bethink:error:<code>``); ``status`` is the HTTP status that
fits it. Adapters translate foreign errors into these at their edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def _first_paragraph(docstring: str) -> str:
    return " ".join(docstring.partition("\n\n")[0].split())


class BethinkError(Exception):
    """Something went wrong in Bethink."""

    code = "internal"
    status = 500

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or _first_paragraph(type(self).__doc__ or ""))

    @property
    def message(self) -> str:
        """The sentence that a person reads."""
        return str(self)


class BadInput(BethinkError):
    """The request is not valid."""

    code = "bad_input"
    status = 422


class UnknownId(BadInput):
    """There is nothing with this id."""

    code = "not_found"
    status = 404


class NoSuchPage(UnknownId):
    """The vault has no such page: list the folder to see which there are."""

    code = "no_such_page"


class TooLarge(BadInput):
    """The input is larger than allowed."""

    code = "too_large"
    status = 413


class NotAllowed(BadInput):
    """This is not allowed."""

    code = "not_allowed"
    status = 403


class NotSignedIn(BadInput):
    """This needs a key or a sign-in."""

    code = "not_signed_in"
    status = 401


class OAuthFault(BadInput):
    """This request for access, or for tokens, is not valid.

    ``fault`` is the code of OAuth for it (RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2).
    """

    code = "access_request"
    status = 400

    def __init__(self, message: str | None = None, fault: str = "invalid_request") -> None:
        super().__init__(message)
        self.fault = fault
        if fault == "invalid_client":
            self.status = 401


class JustForgotten(BadInput):
    """Not stored: this has just been forgotten for good. Do not mention it again."""

    code = "forgotten"


class EmailTaken(BadInput):
    """Two people cannot have one e-mail address."""

    code = "email_taken"
    status = 400

    def __init__(self) -> None:
        # The sentence of spec 001's service, to the letter: programs compare it.
        super().__init__("User with such email is already registered")


class InvalidSettings(BadInput):
    """Some of these settings are not valid: nothing was changed.

    ``faults`` are the names with what is wrong, a sentence each.
    """

    code = "invalid_settings"

    def __init__(self, faults: Mapping[str, str] | None = None) -> None:
        self.faults = faults or {}
        told = "; ".join(f"{name}: {detail}" for name, detail in self.faults.items())
        super().__init__(f"Nothing was changed. {told}" if told else None)


class HoldsSecret(BadInput):
    """This contains a secret, and secrets are not stored in memory.

    ``secret`` is its kind, in words; the secret itself is never repeated.
    """

    code = "secret"

    def __init__(self, secret: str | None = None) -> None:
        super().__init__(
            f"This looks like {secret or 'a secret'}: secrets are not stored in memory, because models"
            " read it. Keep it in a password manager, and remember only what it is for."
        )
        self.secret = secret


class NotUnderstood(BadInput):
    """These words of time were not understood."""

    code = "time_not_understood"


class Ambiguous(BadInput):
    """This time can be read in several ways: say which is meant.

    ``choices`` are words for each reading, ``texts`` the text with that reading written out.
    """

    code = "ambiguous_time"

    def __init__(self, text: str = "", choices: Sequence[str] = (), texts: Sequence[str] = ()) -> None:
        told = "; or ".join(choices)
        super().__init__(
            f"“{text}” can be read in several ways: {told}. Say which is meant, or ask; it is never guessed."
            if choices
            else None
        )
        self.choices = tuple(choices)
        self.texts = tuple(texts)


class Conflict(BethinkError):
    """Somebody else changed it in the meantime; load it again and repeat."""

    code = "conflict"
    status = 409


class Busy(Conflict):
    """This conversation is being answered; wait for the end or stop it."""

    code = "busy"


class TooManyRequests(BethinkError):
    """Too many requests; wait a moment.

    ``retry_after_s`` is how long, in seconds.
    """

    code = "too_many_requests"
    status = 429

    def __init__(self, message: str | None = None, *, retry_after_s: float = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class StorageError(BethinkError):
    """The store cannot be used."""

    code = "storage"
    status = 503


class NewerSchema(StorageError):
    """The data was written by a newer Bethink; start that version."""

    code = "newer_schema"


class CorruptDatabase(StorageError):
    """The database file is damaged; restore a backup, or move the file away to start empty."""

    code = "corrupt_database"


class DiskFull(StorageError):
    """The disk is full; nothing of this change was written. Free some space and repeat it."""

    code = "disk_full"
    status = 507


class LlmError(BethinkError):
    """The model could not answer."""

    code = "model_error"
    status = 502


class NoModel(LlmError):
    """No model is set."""

    code = "no_model"
    status = 409


class RateLimited(LlmError):
    """The model's provider limits the rate of requests; try again later.

    ``retry_after_s`` is what the provider asks to wait, in seconds, if it says.
    """

    code = "rate_limited"
    status = 429

    def __init__(self, message: str | None = None, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ContextTooLong(LlmError):
    """The conversation is longer than the model accepts.

    ``window`` is what is known of the model that said so, in tokens, if it is one of several.
    """

    code = "context_too_long"
    status = 413
    window: int | None = None


class Refused(LlmError):
    """The provider refused the request; check the model's name and its key."""

    code = "model_refused"


class InvalidResponse(LlmError):
    """The model's answer could not be understood."""

    code = "invalid_response"


class Unreachable(LlmError):
    """The model's server cannot be reached."""

    code = "model_unreachable"
    status = 504


class WebError(BethinkError):
    """The web page or search gave no result; try again later, or another address."""

    code = "web_error"
    status = 502


class AddressRefused(WebError):
    """This address is not allowed."""

    code = "address_refused"
    status = 403


class DeliveryError(BethinkError):
    """This notice could not be delivered.

    `is_final` says that trying again is of no use.
    """

    code = "not_delivered"
    status = 502

    def __init__(self, message: str = "", *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class DocumentError(BethinkError):
    """This file cannot be read."""

    code = "document_unreadable"
    status = 422


class NotInstalled(BethinkError):
    """This part of Bethink is not installed."""

    code = "not_installed"
    status = 501


class McpError(BethinkError):
    """The server of this tool answered with an error."""

    code = "mcp_error"
    status = 502


class McpUnreachable(McpError):
    """The server of this tool cannot be reached; `GET /mcp-servers` says why."""

    code = "mcp_unreachable"
    status = 503


class McpTimeout(McpError):
    """The server of this tool did not answer in time; the call was cancelled, and may have had effects."""

    code = "mcp_timeout"
    status = 504


class McpLost(McpError):
    """The server of this tool was lost during the call. It may or may not have happened: look first."""

    code = "mcp_lost"


class DialError(BethinkError):
    """DIAL Core answered with an error; its log says why."""

    code = "dial_error"
    status = 502


class DialUnreachable(DialError):
    """DIAL Core cannot be reached; check `url` of the setting `dial`, and that Core runs."""

    code = "dial_unreachable"
    status = 503


class DialRefused(DialError):
    """DIAL Core refuses the key of this request; it may have expired: ask again."""

    code = "dial_refused"
    status = 401


class DialBusy(DialError):
    """DIAL Core limits the rate of requests; try again later."""

    code = "dial_busy"
    status = 429


class DialChanged(DialError):
    """Somebody else changed the file in DIAL in the meantime."""

    code = "dial_changed"
    status = 412


class MemoryUnavailable(BethinkError):
    """Memory is switched off (BETHINK_MEMORY_ENABLED): nothing is remembered or recalled."""

    code = "memory_unavailable"
    status = 503


class EmbeddingsUnavailable(BethinkError):
    """The embedding model is not there yet; search uses words only."""

    code = "embeddings_unavailable"
    status = 503


class SandboxUnavailable(BethinkError):
    """Code cannot be run here: no sandbox works on this machine. `GET /health` says why."""

    code = "sandbox_unavailable"
    status = 503
