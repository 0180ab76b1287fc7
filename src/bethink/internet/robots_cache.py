"""What sites ask of programs, kept for an hour. `pages` asks before each page."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.errors import AddressRefused, WebError
from bethink.internet import robots
from bethink.internet.addresses import checked_url, port_of
from bethink.internet.decoding import decoded, decompressed
from bethink.internet.user_agent import PRODUCT
from bethink.internet.visit import BadStatus, visit

if TYPE_CHECKING:
    import httpx2

    from bethink.internet.gate import Gate

_MAX_REDIRECTS = 5
_WAIT_S = 5
_KEPT_S = 3_600
_UNAVAILABLE = range(400, 500)
"""A site that answers so has no rules (RFC 9309, 2.3.1.3); it may also be tired of us."""
_TOO_MANY = 429
_KEPT = 200
"""Sites whose rules are kept, the latest."""


@dataclass(frozen=True, slots=True)
class Manners:
    """The rules of sites."""

    gate: Gate
    _kept: OrderedDict[str, tuple[float, robots.Robots]] = field(
        default_factory=OrderedDict[str, tuple[float, robots.Robots]]
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

    async def _rules(self, url: httpx2.URL) -> robots.Robots | None:
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

    async def _read(self, url: httpx2.URL) -> robots.Robots:
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                answer = await visit(self.gate, url, robots.MAX_BYTES)
            except BadStatus as error:
                if error.number in _UNAVAILABLE and error.number != _TOO_MANY:
                    return robots.ALLOW_ALL
                raise
            if answer.location is None:
                text = decoded(decompressed(answer.content, answer.encoding, robots.MAX_BYTES), "utf-8")
                return robots.parse(text, PRODUCT)
            url = checked_url(str(url.join(answer.location)))
        return robots.ALLOW_ALL


_DECIDE = "Whoever runs this Bethink can decide otherwise in the setting web_robots."
