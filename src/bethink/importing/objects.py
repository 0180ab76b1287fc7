"""The objects of an archive's JSON file; what is wrong with it is told in its place. Readers call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.errors import BadInput, TooLarge
from bethink.importing.json_stream import Broken, elements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.importing.archive import Archive

_NOTHING: frozenset[str] = frozenset()


def objects(
    archive: Archive, name: str, ignored: frozenset[str] = _NOTHING, *, alone: bool = False
) -> Iterator[dict[str, object] | Broken]:
    """See `streaming.elements`; a member that is damaged ends in a `Broken`.

    Raises:
        TooLarge: the archive unpacks to more than any export would.
    """
    try:
        with archive.open(name) as file:
            yield from elements(file, ignored, alone=alone)
    except TooLarge:
        raise
    except BadInput as error:
        yield Broken(name, error.message)
