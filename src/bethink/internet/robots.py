"""What sites ask of programs: their robots.txt (RFC 9309), kept for an hour. `pages` asks first."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.errors import AddressRefused, WebError
from bethink.internet.addresses import AddressGate, checked_url, port_of
from bethink.internet.decoder import decoded, decompressed
from bethink.internet.http_get import PRODUCT, BadStatus, http_get
from bethink.principal import Recent

if TYPE_CHECKING:
    import httpx2
    from protego import Protego


MAX_BYTES = 500 * 1024
"""So much of the file must be read (RFC 9309, 2.5); the rest is left."""
_MAX_REDIRECTS = 5
_WAIT_S = 5
_KEPT_S = 3_600
_UNAVAILABLE = range(400, 500)
"""A site that answers so has no rules (RFC 9309, 2.3.1.3); it may also be tired of us."""
_TOO_MANY = 429
_KEPT = 200
"""Sites whose rules are kept, the latest."""
_DECIDE = "The administrator can change this in the setting web_robots."


def parse(text: str) -> Protego:
    """The rules of a robots.txt: read and asked in a thread, for half a second if a file means harm."""
    from protego import Protego

    return Protego.parse(text)


@dataclass(frozen=True, slots=True)
class RobotsCache:
    """The rules of sites."""

    gate: AddressGate
    _kept: Recent[str, tuple[float, Protego]] = field(default_factory=lambda: Recent(_KEPT))

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
        if not await asyncio.to_thread(rules.can_fetch, str(url), PRODUCT):
            raise AddressRefused(f"{url.host} asks programs not to read this page (robots.txt). {_DECIDE}")

    async def _rules(self, url: httpx2.URL) -> Protego | None:
        origin = f"{url.scheme}://{url.raw_host.decode('ascii')}:{port_of(url)}"
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(origin)
        if kept is not None and now - kept[0] < _KEPT_S:
            return kept[1]
        try:
            async with asyncio.timeout(_WAIT_S):
                text = await self._read(url.copy_with(raw_path=b"/robots.txt"))
                rules = await asyncio.to_thread(parse, text)
        except AddressRefused:
            raise
        except (WebError, TimeoutError):
            return None
        self._kept[origin] = (now, rules)
        return rules

    async def _read(self, url: httpx2.URL) -> str:
        """The file, empty if the site has none."""
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                answer = await http_get(self.gate, url, MAX_BYTES)
            except BadStatus as error:
                if error.number in _UNAVAILABLE and error.number != _TOO_MANY:
                    return ""
                raise
            if answer.location is None:
                return decoded(decompressed(answer.content, answer.encoding, MAX_BYTES), "utf-8")
            url = checked_url(str(url.join(answer.location)))
        return ""
