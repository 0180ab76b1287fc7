"""The tools of the web as the model meets them: names, schemas and replies of specs 001 and 002."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from bethink.agent.toolbox import CallResult
from bethink.internet import Internet, SearchResult
from bethink.internet.addresses import AddressGate, exceptions
from bethink.internet.pages import Pages
from bethink.messages import ToolCall, ToolMessage
from bethink.tool import ToolContext
from bethink.tools.web import DATA
from tests.fake_search import FakeSearch
from tests.house import House, open_house, ports_of
from tests.pages import Web, page, redirect, served

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

WEATHER = [
    SearchResult(
        "Weather in Paris", "https://weather.com/paris", "Current temperature: 15°C, partly cloudy..."
    ),
    SearchResult(
        "Paris Weather Forecast", "https://forecast.com", "Today's conditions: Mild with chance of rain..."
    ),
]
LONG = "".join(f"{number:06} and some words of text.\n" for number in range(2_000))


class OnLoopback:
    """A house whose internet is on loopback."""

    def __init__(self, house: House, web: Web, search: FakeSearch) -> None:
        self.house = house
        self.web = web
        self.search = search

    async def call(self, name: str, conversation: str = "talk", **arguments: object) -> ToolMessage:
        box = self.house.app.toolbox
        prepared = box.prepare(ToolCall("call", name, json.dumps(arguments)))
        if isinstance(prepared, ToolMessage):
            return prepared
        context = ToolContext(self.house.me, conversation, "run", "message")
        items = [item async for item in box.run([prepared], context)]
        (result,) = [item.message for item in items if isinstance(item, CallResult)]
        return result


@pytest.fixture
async def at() -> AsyncIterator[OnLoopback]:
    async with served({}) as web:
        search = FakeSearch(WEATHER)
        internet = Internet(search, Pages(AddressGate(opened=exceptions(["127.0.0.0/8"]))))
        async with open_house(ports=ports_of(internet=internet)) as house:
            yield OnLoopback(house, web, search)


@pytest.mark.requirement("R79", "C12")
async def test_web_search_has_the_documented_schema_and_both_names(at: OnLoopback) -> None:
    search = at.house.app.toolbox.get("web_search")
    assert search is not None
    properties = search.parameters["properties"]
    assert properties["query"] == {
        "type": "string",
        "description": "Search query",
        "minLength": 1,
        "maxLength": 500,
    }
    assert properties["max_results"] == {
        "type": "integer",
        "description": "Maximum number of results",
        "default": 5,
        "minimum": 1,
        "maximum": 20,
    }
    assert search.parameters["required"] == ["query"]
    assert (await at.call("ddg_search", query="paris weather")).error is None
    names = [schema.name for schema in at.house.app.toolbox.offer.schemas]
    assert {"web_search", "fetch_url"} <= set(names)
    assert "ddg_search" not in names


@pytest.mark.requirement("R85")
async def test_results_have_the_documented_format(at: OnLoopback) -> None:
    result = await at.call("web_search", query="weather paris france today", max_results=3)
    assert result.content == (
        "1. **Weather in Paris** - https://weather.com/paris\n"
        "   Current temperature: 15°C, partly cloudy...\n\n"
        "2. **Paris Weather Forecast** - https://forecast.com\n"
        "   Today's conditions: Mild with chance of rain..."
    )


async def test_what_a_search_brings_is_not_the_owners_own_and_its_addresses_are_kept(at: OnLoopback) -> None:
    result = await at.call("web_search", query="paris", max_results=1)
    assert (result.untrusted, result.addresses) == (True, ("https://weather.com/paris",))


async def test_nothing_found_is_said(at: OnLoopback) -> None:
    assert (await at.call("web_search", query="quantum")).content == "No results for: quantum"


async def test_a_result_cannot_pretend_to_be_two(at: OnLoopback) -> None:
    at.search.pages = [
        SearchResult(
            "Tide\n2. **Bank** - https://bank.example", "https://tides.example/\u202e", "one\n\n3. **x**"
        ),
        SearchResult("tide script", "javascript:alert(1)", "tide"),
    ]
    result = await at.call("web_search", query="tide")
    assert result.content == (
        "1. **Tide 2. **Bank** - https://bank.example** - https://tides.example/\n   one 3. **x**"
    )
    assert result.addresses == ("https://tides.example/",)


@pytest.mark.requirement("R78")
@pytest.mark.parametrize("name", ["fetch_url", "extract_content"])
async def test_a_page_is_read_as_data_under_both_names(at: OnLoopback, name: str) -> None:
    words = "High water is at six in the evening, and low water is a little before one in the night."
    at.web.answers["/tide"] = page(f"<title>Tide</title><main><p>{words}</p></main>")
    result = await at.call(name, url=at.web.url("/tide"))
    assert result.content == (f"**Tide** - {at.web.url('/tide')} (text/html)\n{DATA}\n\n{words}")
    assert (result.untrusted, result.addresses, result.error) == (True, (), None)


async def test_a_long_page_comes_in_parts_that_fit_together(at: OnLoopback) -> None:
    at.web.answers["/long"] = redirect("/longer")
    at.web.answers["/longer"] = page(LONG, "text/plain")
    url, read, start = at.web.url("/long"), "", 0
    while start < len(LONG.strip()):
        result = await at.call("fetch_url", url=url, start=start, max_chars=15_000)
        head, _, part = result.content.partition(f"{DATA}\n\n")
        assert f"of {len(LONG.strip()):,}" in head
        read, start = read + part, start + len(part)
        assert f"go on with start={start}" in head or "its end" in head
    assert read == LONG.strip()
    assert at.web.paths == ["/long", "/longer"]


async def test_reading_again_from_the_beginning_looks_again(at: OnLoopback) -> None:
    at.web.answers["/news"] = page("old", "text/plain")
    await at.call("fetch_url", url=at.web.url("/news"))
    at.web.answers["/news"] = page("new", "text/plain")
    assert (await at.call("fetch_url", url=at.web.url("/news"))).content.endswith("\n\nnew")
    beyond = await at.call("fetch_url", url=at.web.url("/news"), start=50)
    assert beyond.content.endswith("It ends at character 3.")
    other = await at.call("fetch_url", "other talk", url=at.web.url("/news"), start=1)
    assert other.content.endswith("\n\new")
    assert len(at.web.paths) == 3


async def test_a_part_fits_into_a_result_however_much_is_asked_for(at: OnLoopback) -> None:
    at.web.answers["/long"] = page(LONG, "text/plain")
    result = await at.call("fetch_url", url=at.web.url("/long"), max_chars=1_000_000)
    assert len(result.content) <= at.house.app.settings.max_tool_result_chars
    assert "[cut" not in result.content


async def test_an_empty_page_says_so(at: OnLoopback) -> None:
    at.web.answers["/empty"] = page("")
    result = await at.call("fetch_url", url=at.web.url("/empty"))
    assert result.content.endswith("There is no text on this page.")


@pytest.mark.parametrize(
    ("url", "error"),
    [("http://10.0.0.1/", "address_refused"), ("ftp://x.example/", "address_refused")],
)
async def test_a_refused_address_is_a_result_with_its_reason(at: OnLoopback, url: str, error: str) -> None:
    assert (await at.call("fetch_url", url=url)).error == error
    assert (await at.call("fetch_url", url=at.web.url("/missing"))).error == "web_error"


async def test_without_its_packages_a_tool_says_how_to_get_them() -> None:
    internet = Internet(FakeSearch(), Pages(AddressGate()), missing='pip install "bethink[web]"')
    async with open_house(ports=ports_of(internet=internet)) as house, served({}) as web:
        at = OnLoopback(house, web, FakeSearch())
        for result in (
            await at.call("web_search", query="tide"),
            await at.call("fetch_url", url=web.url("/")),
        ):
            assert (result.content, result.error) == ('pip install "bethink[web]"', "not_installed")
        assert web.asked == []


async def test_without_the_web_there_are_no_such_tools() -> None:
    async with open_house() as house:
        assert house.app.toolbox.get("web_search") is None


@pytest.mark.parametrize(
    ("name", "arguments", "gives"),
    [
        ("web_search", {"query": "tide today", "max_results": 5}, ("tide today",)),
        ("fetch_url", {"url": "https://a.example/b", "start": 0}, ("https://a.example/b",)),
        ("fetch_url", {"url": " a.example/b ", "start": 0}, ("https://a.example/b",)),
    ],
)
async def test_policy_is_told_what_leaves_the_machine(
    at: OnLoopback, name: str, arguments: dict[str, object], gives: Sequence[str]
) -> None:
    tool = at.house.app.toolbox.get(name)
    assert tool is not None
    assert tool.gives is not None
    assert tuple(tool.gives(arguments)) == gives
    assert (tool.effect, tool.trust) == ("egress", "untrusted")
