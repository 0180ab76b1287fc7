"""Times as a person types them. `forget` and `search` read them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from bethink.errors import BadInput

if TYPE_CHECKING:
    from datetime import tzinfo


def moment(text: str | None, zone: tzinfo) -> datetime | None:
    """The time that a text names, in `zone` where it names none; None for None.

    Raises:
        BadInput: it names no time.
    """
    if text is None:
        return None
    try:
        named = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text!r} is no time: write it as 2026-05-01 or 2026-05-01T14:30."
        raise BadInput(message) from error
    return named if named.tzinfo else named.replace(tzinfo=zone)
