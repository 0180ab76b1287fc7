"""What sites ask of programs: their robots.txt (RFC 9309), kept for an hour. `pages` asks first."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from bethink.errors import AddressRefused, WebError
from bethink.internet.addresses import checked_url, port_of
from bethink.internet.decoding import decoded, decompressed
from bethink.internet.http_get import PRODUCT, BadStatus, http_get

if TYPE_CHECKING:
    import httpx2

    from bethink.internet.addresses import Gate


MAX_BYTES = 500 * 1024
"""So much of the file must be read (RFC 9309, 2.5); the rest is left."""
_MAX_RULES = 5_000
_MAX_REDIRECTS = 5
_WAIT_S = 5
_KEPT_S = 3_600
_UNAVAILABLE = range(400, 500)
"""A site that answers so has no rules (RFC 9309, 2.3.1.3); it may also be tired of us."""
_TOO_MANY = 429
_KEPT = 200
"""Sites whose rules are kept, the latest."""
_DECIDE = "Whoever runs this Bethink can decide otherwise in the setting web_robots."


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


@dataclass(frozen=True, slots=True)
class RobotsCache:
    """The rules of sites."""

    gate: Gate
    _kept: OrderedDict[str, tuple[float, Robots]] = field(
        default_factory=OrderedDict[str, tuple[float, Robots]]
    )

    async def check(self, url: httpx2.URL) -> None:
        """Nothing, if the site lets programs read a page.

        Raises:
            AddressRefused: it does not, or cannot be asked (RFC 9309, 2.3.1.4).
        """
        rules = await self._rules(url)
        if rules is None:
            raise AddressRefused(
                f"{url.host} does not say whether programs may read it (robots.txt). {_DECIDE}"
            )
        if not rules.allow(url.raw_path.decode("ascii", "replace") or "/"):
            raise AddressRefused(f"{url.host} asks programs not to read this page (robots.txt). {_DECIDE}")

    async def _rules(self, url: httpx2.URL) -> Robots | None:
        origin = f"{url.scheme}://{url.raw_host.decode('ascii')}:{port_of(url)}"
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(origin)
        if kept is not None and now - kept[0] < _KEPT_S:
            return kept[1]
        try:
            async with asyncio.timeout(_WAIT_S):
                rules = await self._read(url.copy_with(raw_path=b"/robots.txt"))
        except AddressRefused:
            raise
        except (WebError, TimeoutError):
            return None
        self._kept[origin] = (now, rules)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return rules

    async def _read(self, url: httpx2.URL) -> Robots:
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                answer = await http_get(self.gate, url, MAX_BYTES)
            except BadStatus as error:
                if error.number in _UNAVAILABLE and error.number != _TOO_MANY:
                    return ALLOW_ALL
                raise
            if answer.location is None:
                text = decoded(decompressed(answer.content, answer.encoding, MAX_BYTES), "utf-8")
                return parse(text, PRODUCT)
            url = checked_url(str(url.join(answer.location)))
        return ALLOW_ALL
