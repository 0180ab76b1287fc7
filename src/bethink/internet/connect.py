"""The internet that the settings name. `app` asks for it once."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from bethink.internet import Internet
from bethink.internet.addresses import Gate, exceptions
from bethink.internet.ddgs_search import DdgsSearch
from bethink.internet.pages import Pages
from bethink.internet.robots import RobotsCache
from bethink.internet.searxng import SearxngSearch

if TYPE_CHECKING:
    from bethink.settings import Settings

MISSING = 'Searching and reading the web needs more packages: pip install "bethink[web]"'
_NEEDED = ("ddgs", "trafilatura", "pypdf")


def connect_internet(settings: Settings) -> Internet:
    """Search and pages by the settings. Looks on the disk for what is installed; nothing is sent.

    Raises:
        BadInput: an entry of `web_allow_private` is neither an address, a network nor a name.
    """
    ports = frozenset(settings.web_ports)
    gate = Gate(ports=ports, opened=exceptions(settings.web_allow_private))
    return Internet(
        search=(
            SearxngSearch(
                settings.web_search_url,
                safe=settings.web_safe_search,
                region=settings.web_search_region,
                timeout_s=settings.web_timeout_s,
            )
            if settings.web_search_url
            else DdgsSearch(
                settings.web_search_engines,
                safe=settings.web_safe_search,
                region=settings.web_search_region,
                timeout_s=settings.web_timeout_s,
            )
        ),
        pages=Pages(
            gate,
            RobotsCache(gate) if settings.web_robots else None,
            timeout_s=settings.web_timeout_s,
            max_bytes=settings.web_max_bytes,
        ),
        missing=MISSING if any(find_spec(name) is None for name in _NEEDED) else "",
    )
