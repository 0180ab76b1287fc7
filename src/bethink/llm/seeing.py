"""Which models see pictures, by their names. `settled` asks for each that the settings name."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def sees(spec: str, patterns: Sequence[str]) -> bool:
    """Whether a model `provider:name` fits a pattern, and none that begins with `!`; case does not count."""
    name = spec.strip().lower()

    def fits(pattern: str) -> bool:
        return fnmatchcase(name, pattern.strip().lower())

    return any(map(fits, patterns)) and not any(
        fits(pattern[1:]) for pattern in patterns if pattern[:1] == "!"
    )
