"""What a site asks of programs: its robots.txt, by RFC 9309. `pages` asks it before a page."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

MAX_BYTES = 500 * 1024
"""So much of the file must be read (RFC 9309, 2.5); the rest is left."""
_MAX_RULES = 5_000


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one site for us: paths with whether they may be read."""

    rules: tuple[tuple[str, bool], ...] = ()

    def allow(self, path: str) -> bool:
        """Whether a path with its query may be read: the longest rule that fits decides (2.2.2)."""
        path = _normal(path)
        best, allowed = -1, True
        for pattern, is_allowed in self.rules:
            if len(pattern) < best or not _fits(pattern, path):
                continue
            # Of two as long, the one that allows.
            allowed = is_allowed or (allowed and len(pattern) == best)
            best = len(pattern)
        return allowed


ALLOW_ALL = Robots()


def parse(text: str, product: str) -> Robots:
    """The rules for the program called `product`: of its own groups, else of those for all (2.2.1)."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    agents: list[str] = []
    in_rules = False
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().casefold(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            agents = [value.casefold()] if in_rules else [*agents, value.casefold()]
            in_rules = False
            groups.setdefault(value.casefold(), [])
        elif key in {"allow", "disallow"}:
            in_rules = True
            for agent in agents if value else ():
                groups[agent].append((_normal(value), key == "allow"))
    rules = groups.get(product.casefold(), groups.get("*", []))
    return Robots(tuple(rules[:_MAX_RULES]))


def _normal(path: str) -> str:
    """Percent-encoding aside, so that both ways of writing one path compare."""
    return quote(unquote(path), safe="/%?&=*$:@!,;+~'()[]#-._")


def _fits(pattern: str, path: str) -> bool:
    """Whether a rule fits, `*` standing for anything and `$` for the end; in time that is bounded."""
    anchored = pattern.endswith("$")
    first, *parts = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for position, part in enumerate(parts):
        if anchored and position == len(parts) - 1:
            return path.endswith(part) and len(path) - len(part) >= at
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not anchored or at == len(path)
