"""Which models a setting means, by their names. `settled` asks for each that the settings name."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def sees(spec: str, patterns: Sequence[str]) -> bool:
    """Whether a model `provider:name` fits a pattern, and none that begins with `!`; case does not count."""
    return fits(spec, patterns) and not fits(spec, [one[1:] for one in patterns if one[:1] == "!"])


def fits(spec: str, patterns: Sequence[str]) -> bool:
    """Whether a model `provider:name` fits one of the patterns; case does not count."""
    name = spec.strip().lower()
    return any(fnmatchcase(name, pattern.strip().lower()) for pattern in patterns)
