"""What every search gives, whoever answers it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import ddgs
import ddgs.exceptions
import pytest

from bethink.errors import RateLimited, WebError
from bethink.internet import SearchResult, WebSearch
from bethink.internet.connect import DdgsSearch, SearxngSearch
from tests.fake_search import FakeSearch
from tests.pages import Web, asked_query, page, searxng, served

pytestmark = pytest.mark.anyio

TIDES = [
    SearchResult("Tides of Saint-Malo", "https://tides.example/saint-malo", "High tide at six"),
    SearchResult("What a tide is", "https://sea.example/tide?a=1", "The tide follows the moon"),
    SearchResult("Tide tables", "https://tables.example/", "A tide a day"),
]


class Engines:
    """Plays the library `ddgs`: its results are dictionaries of `title`, `href` and `body` (its README)."""

    def __init__(self, answer: Callable[[str], list[dict[str, Any]]]) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    def __call__(self, **made: Any) -> Engines:  # noqa: ANN401
        self.asked.append(made)
        return self

    def text(self, query: str, **wanted: Any) -> list[dict[str, Any]]:  # noqa: ANN401
        self.asked.append({"query": query, **wanted})
        return self.answer(query)


def played(query: str) -> list[dict[str, Any]]:
    if "tide" not in query:
        raise ddgs.exceptions.DDGSException("No results found.")
    return [{"title": found.title, "href": found.url, "body": found.snippet} for found in TIDES]


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    listed = searxng([{"title": found.title, "url": found.url, "content": found.snippet} for found in TIDES])
    async with served({"/search": listed}) as web:
        yield web


@pytest.fixture(params=["fake", "ddgs", "searxng"])
async def search(request: pytest.FixtureRequest, web: Web, monkeypatch: pytest.MonkeyPatch) -> WebSearch:
    match request.param:
        case "ddgs":
            monkeypatch.setattr(ddgs, "DDGS", Engines(played))
            return DdgsSearch()
        case "searxng":
            return SearxngSearch(web.url(""))
        case _:
            return FakeSearch(TIDES)


async def test_results_come_in_order_with_title_address_and_words(search: WebSearch) -> None:
    assert list(await search.search("tide", 10)) == TIDES


async def test_no_more_come_than_were_asked_for(search: WebSearch) -> None:
    assert list(await search.search("tide", 2)) == TIDES[:2]


async def test_it_says_whom_it_asks(search: WebSearch) -> None:
    assert search.name


async def test_nothing_found_is_no_error(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.answers["/search"] = searxng([])
    monkeypatch.setattr(ddgs, "DDGS", Engines(played))
    for search in (SearxngSearch(web.url("/search")), DdgsSearch(), FakeSearch(TIDES)):
        assert list(await search.search("quantum", 5)) == []


async def test_searxng_is_asked_as_its_documents_say(web: Web) -> None:
    await SearxngSearch(web.url(""), safe="strict", region="de").search("hohe Flut & Ebbe", 5)
    assert asked_query(web) == {
        "q": "hohe Flut & Ebbe",
        "format": "json",
        "safesearch": "2",
        "language": "de",
    }
    await SearxngSearch(web.url("/search?engines=wikipedia")).search("tide", 5)
    assert asked_query(web) == {"engines": "wikipedia", "q": "tide", "format": "json", "safesearch": "1"}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (page("<html>", status="403 Forbidden"), "needs `json` in its search.formats"),
        (page("<html>"), "SearXNG's JSON format"),
        (page(b'{"results": 5}', "application/json"), "SearXNG's JSON format"),
        (page("", status="500 Internal Server Error"), "HTTP 500"),
        (page(b"x" * 6_000_000), "more than can be read"),
        (b"nonsense\r\n\r\n", "cannot be reached"),
    ],
)
async def test_a_searxng_that_does_not_answer_says_why(web: Web, answer: bytes, says: str) -> None:
    web.answers["/search"] = answer
    with pytest.raises(WebError, match=says):
        await SearxngSearch(web.url("")).search("tide", 5)


async def test_a_searxng_that_is_tired_is_a_rate_limit(web: Web) -> None:
    web.answers["/search"] = page("", status="429 Too Many Requests")
    with pytest.raises(RateLimited, match="fewer queries"):
        await SearxngSearch(web.url("")).search("tide", 5)


async def test_results_without_an_address_are_left_out(web: Web) -> None:
    web.answers["/search"] = searxng([{"title": "An answer"}, {"url": "https://a.example/"}])
    found = await SearxngSearch(web.url("")).search("tide", 5)
    assert list(found) == [SearchResult("https://a.example/", "https://a.example/", "")]


async def test_ddgs_is_asked_with_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = Engines(played)
    monkeypatch.setattr(ddgs, "DDGS", engines)
    search = DdgsSearch("duckduckgo,brave", safe="strict", region="fr-fr", timeout_s=10)
    await search.search("tide", 3)
    assert engines.asked == [
        {"timeout": 5},
        {
            "query": "tide",
            "safesearch": "on",
            "max_results": 3,
            "backend": "duckduckgo,brave",
            "region": "fr-fr",
        },
    ]


@pytest.mark.parametrize(
    ("raised", "becomes"),
    [
        (ddgs.exceptions.RatelimitException("202"), RateLimited),
        (ddgs.exceptions.TimeoutException("timed out"), WebError),
        (ddgs.exceptions.DDGSException("ConnectError"), WebError),
    ],
)
async def test_what_ddgs_raises_becomes_our_own(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, becomes: type[Exception]
) -> None:
    def fail(query: str) -> list[dict[str, Any]]:
        raise raised

    monkeypatch.setattr(ddgs, "DDGS", Engines(fail))
    with pytest.raises(becomes):
        await DdgsSearch().search("tide", 5)


async def test_engines_that_hang_hold_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()

    def hang(query: str) -> list[dict[str, Any]]:
        done.wait()
        return []

    monkeypatch.setattr(ddgs, "DDGS", Engines(hang))
    try:
        with pytest.raises(WebError, match=r"longer than 0\.05 s"):
            await DdgsSearch(timeout_s=0.05).search("tide", 5)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await DdgsSearch().search("tide", 5)
    finally:
        done.set()
