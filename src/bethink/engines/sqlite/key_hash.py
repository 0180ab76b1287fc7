"""Texts as they stand in keys of the file: eight bytes that say nothing. `store.sqlite_tables` calls it.

Index pages are split and merged, and copies of what moved stay behind (see
`index.sqlite_bodies`). A category or a project is a person's word, so no index
holds one: where equal keys are sought, equal digests are as good.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bethink.store import Key

_BYTES = 8
"""Two of a million different texts are taken for one another in 1 of 37 million files."""


class Seal:
    """Seals with the file's own secret, so that nobody can choose texts which collide."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __call__(self, key: Key) -> int | bytes | None:
        """The key as it is kept; numbers stay as they are."""
        if not isinstance(key, str):
            return key
        return hashlib.blake2b(key.encode(), digest_size=_BYTES, key=self._secret).digest()
