"""What one check of `bethink doctor` found."""

from __future__ import annotations

from typing import Literal

import msgspec


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One part and its state. `message` says what is there, or what does not work and what to do."""

    part: str
    state: Literal["ok", "off", "broken"]
    message: str


def ok(part: str, message: str) -> Check:
    """It is well."""
    return Check(part=part, state="ok", message=message)


def off(part: str, message: str) -> Check:
    """It works less than it could."""
    return Check(part=part, state="off", message=message)


def broken(part: str, message: str) -> Check:
    """It does not work."""
    return Check(part=part, state="broken", message=message)
