"""How settings are written as text: lists with commas, objects as JSON; and where they are from."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr


def default_data_dir() -> Path:
    """Where data lives if nobody says: the XDG base directory's place for it."""
    root = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(root) / "bethink"


def as_object(value: object) -> object:
    """What JSON text says: so objects are written into the environment."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from error


def as_list(value: object) -> object:
    """What a comma-separated text lists; anything else as it is."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(as_list)]


def as_extraction(value: object) -> object:
    """The mode, also by the name that it had in earlier versions."""
    return "auto" if value == "store" else value


def _origin(url: str) -> str:
    """An origin (RFC 6454) as browsers send it."""
    parts = urlsplit(url.strip().rstrip("/"))
    if parts.scheme not in _PORTS or not parts.hostname or parts.path or parts.query or "@" in url:
        raise ValueError(
            f"{url!r} is not the address of a site: give a scheme and a name, as https://bethink.example"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (
        f":{parts.port}" if parts.port not in (None, _PORTS[parts.scheme]) else ""
    )


_PORTS = {"http": 80, "https": 443}
Origins = Annotated[
    list[str], AfterValidator(lambda urls: [_origin(url) for url in urls]), BeforeValidator(as_list)
]
"""Addresses of sites, as browsers send them."""


def _network(text: str) -> str:
    """The address or network as it is, if it is one."""
    try:
        ip_network(text, strict=False)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is no address and no network: write it as 10.0.0.2, 10.0.0.0/8 or fd00::/8"
        ) from error
    return text


Networks = Annotated[
    list[str], AfterValidator(lambda texts: [_network(text) for text in texts]), BeforeValidator(as_list)
]
"""Addresses and networks (CIDR)."""


def _time_zone(name: str) -> str:
    """The name as it is, or that of this machine's time zone if it is empty."""
    if name:
        return name
    from zoneinfo import ZoneInfoNotFoundError

    import tzlocal

    try:
        found = tzlocal.get_localzone_name()
    except (ZoneInfoNotFoundError, ValueError, OSError):  # what the machine says of it contradicts itself
        return "UTC"
    return "UTC" if found in _UTC else found


_UTC = {None, "", "Etc/UTC", "Etc/UCT", "UCT", "Zulu", "local"}
"""What machines call UTC, or say if they have no name for their zone."""
TimeZone = Annotated[str, AfterValidator(_time_zone)]


def _mail_server(url: SecretStr) -> SecretStr:
    """The address as it is, if it is one of a mail server."""
    parts = urlsplit(url.get_secret_value())
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ValueError("write it like smtps://user:password@host, or smtp:// for STARTTLS")
    return url


MailServer = Annotated[SecretStr, AfterValidator(_mail_server)]


@dataclass(frozen=True, slots=True)
class AddressOf:
    """Marks a setting that is an address with one of these schemes.

    Any other is refused where the setting is changed. A start with one does not fail: it may never be used,
    and what uses it says what is wrong.
    """

    schemes: tuple[str, ...]
    example: str

    def fault(self, text: str) -> str | None:
        """What is wrong with an address; None for a right one."""
        try:
            parts = urlsplit(text.strip())
            # PostgreSQL's may name a socket's folder behind the question mark.
            host = parts.hostname or ("host=" in parts.query and parts.scheme == "postgresql")
            leads = bool(parts.path if parts.scheme == "unix" else host) and parts.port != 0
            if leads and parts.scheme in self.schemes and not re.search(r"\s", text.strip()):
                return None
        except ValueError:  # a port that is no number, or brackets around nothing
            pass
        begins = " or ".join(f"{scheme}://" for scheme in self.schemes)
        return f"this is no address: it begins with {begins}, such as {self.example}."


_WEB = AddressOf(("http", "https"), "http://127.0.0.1:8080/v1")
WebAddress = Annotated[str, _WEB]
WebAddressOrNone = Annotated[str | None, _WEB]
DatabaseAddress = Annotated[
    SecretStr | None,
    AddressOf(("postgresql", "postgres"), "postgresql://bethink:password@db.example/bethink"),
]
BucketAddress = Annotated[str, AddressOf(("s3",), "s3://BUCKET/FOLDER")]
RedisAddress = Annotated[SecretStr | None, AddressOf(("redis", "rediss", "unix"), "redis://127.0.0.1:6379/0")]


SEEING = [
    "*gpt-4o*",
    "*gpt-4.1*",
    "*gpt-4-turbo*",
    "*gpt-5*",
    "*:o3*",
    "*/o3*",
    "*:o4*",
    "*/o4*",
    "*claude-3*",
    "*claude-v3*",
    "*claude-[4-9]*",
    "*claude-opus*",
    "*claude-sonnet*",
    "*claude-haiku*",
    "*gemini*",
    "*llava*",
    "*qwen*vl*",
    "*pixtral*",
    "*internvl*",
    "*-vision*",
    "!*o3-mini*",
    "!*-audio*",
]
"""Models that are known to see pictures, wherever they are served."""


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Where a value comes from: `name` is the variable's, or the file's."""

    source: Literal["flag", "environment", "file", "kept", "default"]
    name: str | None = None

    @property
    def told(self) -> str:
        """In words."""
        match self.source:
            case "flag":
                return self.name or "the command line"
            case "kept":
                return "the data directory"
            case "default":
                return "nobody"
            case "environment" | "file":
                return self.name or self.source


@dataclass(frozen=True, slots=True)
class Given:
    """What a process was given at its start, as it was written, and where each value comes from."""

    values: Mapping[str, Any]
    origins: Mapping[str, ValueOrigin]
