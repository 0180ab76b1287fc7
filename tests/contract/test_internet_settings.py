"""The settings decide what is searched with and what may be opened."""

from __future__ import annotations

import ipaddress
import subprocess
import sys

import pytest

from bethink.errors import BadInput, NotInstalled
from bethink.internet import connect
from bethink.internet.connect import connect_internet
from bethink.settings import Settings
from tests.house import open_house, ports_of


def test_by_default_search_engines_are_asked_and_only_public_addresses_opened() -> None:
    internet = connect_internet(Settings())
    assert internet.search.name == "search engines (ddgs)"
    assert internet.pages.robots is not None
    assert internet.pages.gate.ports == {80, 443, 8080, 8443}
    assert not internet.pages.gate.opened.include("localhost", ipaddress.ip_address("127.0.0.1"), 80)
    assert internet.missing == ""


def test_another_search_and_exceptions_are_settings() -> None:
    settings = Settings.model_validate(
        {
            "web_search_url": "http://127.0.0.1:8888",
            "web_allow_private": "127.0.0.1:8000, wiki.lan",
            "web_ports": "443",
            "web_robots": "false",
        }
    )
    internet = connect_internet(settings)
    assert internet.search.name == "http://127.0.0.1:8888"
    assert internet.pages.robots is None
    assert internet.pages.gate.ports == {443}
    assert internet.pages.gate.opened.include("localhost", ipaddress.ip_address("127.0.0.1"), 8000)


def test_an_exception_that_means_nothing_stops_the_start() -> None:
    with pytest.raises(BadInput, match="web_allow_private"):
        connect_internet(Settings(web_allow_private=["http://wiki.lan"]))


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "find_spec", lambda _name: None)
    with pytest.raises(NotInstalled, match=r'pip install "bethink\[web\]"'):
        connect_internet(Settings()).check()


def test_a_start_loads_nothing_that_the_web_needs() -> None:
    heavy = {"httpx2", "httpcore2", "trafilatura", "lxml", "ddgs", "pypdf"}
    script = f"import sys, bethink.app; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.anyio
async def test_an_app_stands_on_the_internet_it_is_given() -> None:
    async with open_house(ports=ports_of()) as house:
        assert house.app.ports.internet is None
