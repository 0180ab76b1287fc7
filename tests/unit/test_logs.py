"""The log as lines of JSON: what a request and its run cause is told with their ids, and holds no secret."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
from collections.abc import Callable, Generator
from typing import Any, Literal

import anyio
import pytest

from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.telemetry import Correlation, Supervisor, configure, correlated, correlation, log
from bethink.tool import ToolContext, tool
from tests.door import open_door

pytestmark = pytest.mark.anyio

Lines = Callable[[], list[dict[str, Any]]]


@tool(effect="read", label="Break")
async def break_down(context: ToolContext) -> str:
    """Fail as nobody expects."""
    del context
    raise RuntimeError("the key sk-abcdefghijklmnopqrstuvwxyz and bk_" + "a" * 43)


@pytest.fixture
def written() -> Generator[io.StringIO]:
    """Where the log is written by `configured`."""
    known = [logging.getLogger(name) for name in ("bethink", "bethink.requests", "uvicorn", "asyncio")]
    was = [(one, one.handlers[:], one.level, one.propagate) for one in known]
    yield io.StringIO()
    for logger, handlers, level, propagate in was:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def configured(written: io.StringIO, form: Literal["text", "json"]) -> None:
    with contextlib.redirect_stderr(written):
        configure("info", form, requests=True)


@pytest.fixture
def lines(written: io.StringIO) -> Lines:
    """All that was logged, each line parsed from JSON."""
    configured(written, "json")
    return lambda: [json.loads(line) for line in written.getvalue().splitlines()]


async def test_what_fails_in_a_run_is_logged_with_the_ids_of_run_request_and_owner(lines: Lines) -> None:
    llm = ScriptedLlm([[ScriptedCall("break_down", {})], "It failed."])
    async with open_door(llm, tools=[break_down]) as door:
        chat = f"/conversations/{await door.new()}/chat"
        body = {"message": {"role": "user", "content": "Break it"}, "stream": False}
        answer = await door.http.post(chat, json=body, headers={"X-Request-ID": "proxy-7:42"})
        owner = door.house.me.owner
    assert answer.headers["x-request-id"] == "proxy-7:42"
    (failed,) = [line for line in lines() if line["logger"] == "bethink.toolbox"]
    assert (failed["level"], failed["request_id"], failed["owner"]) == ("error", "proxy-7:42", owner)
    assert failed["run_id"] in failed["message"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", failed["time"])
    assert failed["traceback"].endswith("RuntimeError: the key *** and ***")


async def test_what_is_done_behind_an_answer_is_logged_with_the_ids_of_its_run(lines: Lines) -> None:
    llm = ScriptedLlm(["Hello.", "a name\nthat is none"])
    async with open_door(llm, titles="model") as door:
        answer = await door.chat(await door.new(), "Hi")
        await door.house.app.post_turn.finished()
    told = [line for line in lines() if line["logger"] == "bethink.post_turn"]
    assert {line.get("request_id") for line in told} == {answer.headers["x-request-id"]}
    assert all(line["run_id"] for line in told)
    assert told


@pytest.mark.parametrize("given", ["", "two words", "a" * 129, "x\u00e9", "-1", "a;b"])
async def test_an_id_that_is_none_is_replaced(given: str, lines: Lines) -> None:
    async with open_door() as door:
        answers = [
            await door.http.get("/livez", headers={"X-Request-ID": given.encode("latin-1")})  # pyright: ignore[reportArgumentType] - bytes are sent as they are
            for _ in range(2)
        ]
    made = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(made)) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in made)
    assert [line["request_id"] for line in lines() if line["logger"] == "bethink.requests"] == made


async def test_a_line_of_a_request_names_its_route_and_nothing_that_it_says(lines: Lines) -> None:
    async with open_door() as door:
        await door.http.get("/recall?query=my+illness")
        await door.http.get(f"/memories/{'s3cret' * 4}")
        await door.http.get("/private/word")
    told = [line for line in lines() if line["logger"] == "bethink.requests"]
    assert [(line["method"], line["route"], line["status"]) for line in told] == [
        ("GET", "/recall", 200),
        ("GET", "/memories/{memory}", 404),
        ("GET", "other", 404),
    ]
    assert all(line["duration_ms"] > 0 for line in told)
    assert not re.search("illness|s3cret|private", json.dumps(told))


def test_a_line_of_json_is_one_line_of_bounded_length(lines: Lines) -> None:
    told = {"msg": "two\nlines, half of \ud83d a pair, %s", "args": ("y" * 5_000,)}
    logging.getLogger("bethink").handlers[0].handle(logging.makeLogRecord(told))
    (line,) = lines()
    assert line["message"].startswith("two\nlines, half of ? a pair, yyy")
    assert len(line["message"]) <= 2_001


async def test_work_that_goes_on_for_ever_is_not_told_as_part_of_who_started_it() -> None:
    seen: list[Correlation] = []

    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(correlation())

    with correlated(Correlation(request_id="r", run_id="run", owner="ann")):
        await Supervisor().supervise("a test", work)
        assert correlation().run_id == "run"
    assert seen == [Correlation()]


@pytest.mark.parametrize(
    "said",
    [
        "cannot reach postgresql://bethink:hunter22@db.example/x",
        "refused: Bearer abcdefghijklmnopqrstuvwxyz",
        "the key sk-proj-abcdefghijklmnopqrst is not accepted",
        "bs_" + "Z" * 43,
    ],
)
def test_keys_are_masked_in_both_forms_of_the_log(said: str, lines: Lines, written: io.StringIO) -> None:
    log("x").error("%s", said)
    (line,) = lines()
    configured(written, "text")
    log("x").error("%s", said)
    text = written.getvalue().splitlines()[-1]
    for secret in ("hunter22", "abcdefghij", "ZZZZ"):
        assert secret not in line["message"]
        assert secret not in text
    assert "***" in line["message"]
    assert "***" in text
