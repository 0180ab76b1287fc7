"""The ways by which a notice leaves this machine: e-mail, webhook, Web Push. `delivery` tries them.

Each repetition of a delivery carries the same id, so that a receiver who has it already can tell.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, unquote, urlsplit

import anyio.to_thread
import msgspec

from bethink.clock import rfc3339, to_datetime
from bethink.errors import AddressRefused, BadInput, DeliveryError, WebError
from bethink.internet.addresses import AddressGate, checked_url
from bethink.internet.http_get import http_post, ready
from bethink.schedules.web_push import MAX_MESSAGE_BYTES, Browser, Vapid, sealed

if TYPE_CHECKING:
    from bethink.schedules.records import Notice

_SECOND_US: Final = 1_000_000
_SMTP_S: Final = 20.0
_SMTP_PORTS: Final = {"smtp": 587, "smtps": 465}
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Where a server of this machine needs no encryption."""
_EMAIL: Final = re.compile(r"[^\s@<>,;:\"()\[\]\\\x00-\x1f\x7f]{1,64}@(?:[\w-]+\.)*[\w-]+")
_MAX_EMAIL_CHARS: Final = 254
"""The longest address that mail can be sent to (RFC 5321, 4.5.3.1.3)."""
_PUSH_TTL_S: Final = 86_400
_TAKEN: Final = range(200, 300)
_GONE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what a secret begins with
_LEAST_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class Letter:
    """A notice to be sent; `id` is its delivery's, the same at each try, `url` where it leads, "" nowhere."""

    id: str
    notice: Notice
    url: str

    def as_json(self) -> dict[str, str | None]:
        """What a program is told."""
        notice = self.notice
        return {
            "id": notice.id,
            "title": notice.title,
            "text": notice.text,
            "url": self.url or None,
            "schedule": notice.schedule or None,
            "conversation": notice.conversation or None,
        }


class SubscriptionGone(DeliveryError):
    """The browser has taken back its subscription."""

    def __init__(self) -> None:
        super().__init__("The browser has taken back its subscription.", is_final=True)


@dataclass(frozen=True, slots=True)
class Mail:
    """Sends e-mail by the server at `url`."""

    url: SplitResult
    sender: str

    @classmethod
    def of(cls, url: str, sender: str) -> Mail:
        """The server that settings name.

        Raises:
            BadInput: nobody is named to send them.
        """
        parts = urlsplit(url)
        sender = sender or unquote(parts.username or "")
        return cls(parts, checked_email(sender, "smtp_from"))

    async def send(self, letter: Letter, to: str) -> None:
        """Hand a notice to the server.

        Raises:
            DeliveryError: it does not take it.
        """
        await anyio.to_thread.run_sync(self._send, self._written(letter, to), abandon_on_cancel=True)

    def _written(self, letter: Letter, to: str) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["To"] = self.sender, to
        message["Subject"] = letter.notice.title
        message["Date"] = format_datetime(to_datetime(letter.notice.at))
        message["Message-ID"] = f"<{letter.id}@bethink.invalid>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content("\n\n".join(part for part in (letter.notice.text, letter.url) if part) + "\n")
        return message

    def _send(self, message: EmailMessage) -> None:
        import smtplib

        url, context = self.url, ssl.create_default_context()
        host, port = url.hostname or "", url.port or _SMTP_PORTS[url.scheme]
        try:
            with (
                smtplib.SMTP_SSL(host, port, timeout=_SMTP_S, context=context)
                if url.scheme == "smtps"
                else smtplib.SMTP(host, port, timeout=_SMTP_S)
            ) as server:
                if url.scheme == "smtp":
                    server.ehlo()
                    if server.has_extn("starttls"):
                        server.starttls(context=context)
                    elif host not in _HERE:
                        raise DeliveryError(f"The mail server {host} offers no encryption.", is_final=True)
                if url.username:
                    server.login(unquote(url.username), unquote(url.password or ""))
                server.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            why = f"The mail server {host} does not take this address."
            raise DeliveryError(why, is_final=True) from error
        except (smtplib.SMTPException, OSError, ValueError) as error:
            code = getattr(error, "smtp_code", None) or type(error).__name__
            raise DeliveryError(f"The mail server {host} did not take it ({code}).") from error


def checked_email(address: str, name: str = "email") -> str:
    """The address, as it is kept.

    Raises:
        BadInput: it is none.
    """
    address = address.strip()
    if len(address) > _MAX_EMAIL_CHARS or not _EMAIL.fullmatch(address):
        raise BadInput(f"{name} is not an e-mail address, such as ada@example.org.")
    return address


def new_webhook_secret(random: bytes) -> str:
    """A secret in the form of Standard Webhooks."""
    return _SECRET_PREFIX + base64.b64encode(random).decode()


def webhook_signature(secret: str, id: str, *, at_s: int, content: bytes) -> str:
    """The signature of a webhook. Source: Standard Webhooks 1.0, "Signature scheme", symmetric."""
    key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX))
    signed = hmac.digest(key, f"{id}.{at_s}.".encode() + content, hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


async def send_webhook(gate: AddressGate, url: str, letter: Letter, *, secret: str, now_us: int) -> None:
    """POST a notice, signed.

    Raises:
        DeliveryError: the receiver does not take it.
    """
    at_s = now_us // _SECOND_US
    content = msgspec.json.encode(
        {"type": "notice", "timestamp": rfc3339(letter.notice.at), "data": letter.as_json()}
    )
    headers = {
        "Content-Type": "application/json",
        "webhook-id": letter.id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": webhook_signature(secret, letter.id, at_s=at_s, content=content),
    }
    status = await _posted(gate, url, content, headers=headers)
    if status not in _TAKEN:
        raise DeliveryError(f"The webhook answered {status}.", is_final=status == HTTPStatus.GONE)


async def send_push(
    gate: AddressGate, browser: Browser, letter: Letter, *, vapid: Vapid, contact: str, now_us: int
) -> None:
    """Hand a notice to a browser's push service, sealed for the browser alone.

    Raises:
        SubscriptionGone: the browser does not take any more.
        DeliveryError: the service does not take it.
    """
    url = urlsplit(browser.endpoint)
    headers = {
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(_PUSH_TTL_S),
        "Urgency": "normal",
        # A repetition takes the place of the message before it (RFC 8030, 5.4).
        "Topic": letter.id.replace("-", "")[:32],
        "Authorization": vapid.authorization(f"{url.scheme}://{url.netloc}", now_us // _SECOND_US, contact),
    }
    status = await _posted(gate, browser.endpoint, sealed(_short(letter), browser), headers=headers)
    if status in _GONE:
        raise SubscriptionGone
    if status not in _TAKEN:
        raise DeliveryError(f"The push service {url.netloc} answered {status}.")


def _short(letter: Letter) -> bytes:
    """The notice as JSON, as much of its text as a push service takes; its page knows where it is itself."""
    told = letter.as_json() | {"url": letter.notice.link or None}
    content = msgspec.json.encode(told)
    while len(content) > MAX_MESSAGE_BYTES and len(text := told["text"] or "") > _LEAST_TEXT:
        told["text"] = text[: len(text) // 2].rstrip() + "…"
        content = msgspec.json.encode(told)
    return content


async def _posted(gate: AddressGate, url: str, content: bytes, *, headers: Mapping[str, str]) -> int:
    await ready()
    try:
        return await http_post(gate, checked_url(url), content, headers=headers)
    except AddressRefused as error:
        raise DeliveryError(str(error), is_final=True) from error
    except WebError as error:
        raise DeliveryError(str(error)) from error
