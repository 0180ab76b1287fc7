"""`bethink bench door`: what a streamed turn with one tool call costs the serving process, over HTTP.

The same turn as `bethink bench agent`, in a `bethink serve` of its own; only
the server's CPU is counted. It does not know the tool and says so to the model,
which costs as much as a tool that does next to nothing. The ratios are to the bare loop over aiohttp and
json, measured in this process in the same run.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from benchmarks.agent import BASELINE, SHORT, Load, bare_way, cpu_ms, look_up, script
from benchmarks.process import Serving, can_measure, serving
from benchmarks.stand_ins.scripted_process import scripted_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ROUNDS: Final = 3
_LOADS: Final = (
    Load("burst, one at a time", delay_ms=0, at_once=1, turns=100, long_tokens=410),
    Load("every 2 ms, 20 at once", delay_ms=2, at_once=20, turns=60, long_tokens=210),
    Load("burst, 500 at once", delay_ms=0, at_once=500, turns=1_000, long_tokens=110),
)
_MORE_READERS: Final = 2


async def measure_door(models: Path) -> list[dict[str, Any]]:
    """A row for each load and number of readers, the least of three rounds; recall is off.

    `reader_token_us` is what one more reader of the run costs a token.
    """
    if not can_measure():
        return [{"way": "serve", "skipped": "this machine does not tell what a process has used"}]
    rows: list[dict[str, Any]] = []
    with scripted_process() as llm:
        environment = {
            "BETHINK_MODEL": "openai:scripted",
            "OPENAI_BASE_URL": llm.base_url,
            "OPENAI_API_KEY": "none",
            "BETHINK_EXTRACTION": "off",
            "BETHINK_RECALL_LIMIT": "0",
            "BETHINK_RECALL_PROFILE_LIMIT": "0",
        }
        async with serving(models, **environment) as server, bare_way(llm.base_url) as bare:
            for load in _LOADS:
                await llm.plays(*script(load, tool=look_up.name, arguments={"city": "Paris"}))
                baseline = [await cpu_ms(bare, load, tokens) for tokens in (SHORT, load.long_tokens)]
                rows += await _rows(server, load, baseline)
    return rows


async def _rows(server: Serving, load: Load, baseline: list[float]) -> list[dict[str, Any]]:
    further = load.long_tokens - SHORT
    bare_turn, bare_token = baseline[0], (baseline[1] - baseline[0]) / further * 1_000
    costs: dict[int, tuple[float, float]] = {}
    for readers in (0, _MORE_READERS) if load.delay_ms else (0,):
        short = min([await _cpu_ms(server, load, SHORT, readers=readers) for _ in range(_ROUNDS)])
        long = min([await _cpu_ms(server, load, load.long_tokens, readers=readers) for _ in range(_ROUNDS)])
        costs[readers] = (short, (long - short) / further * 1_000)
    rows: list[dict[str, Any]] = [
        {"load": load.name, "way": BASELINE, "turn_cpu_ms": bare_turn, "token_cpu_us": bare_token}
    ]
    for readers, (turn, token) in costs.items():
        row = {
            "load": load.name,
            "way": "serve" if not readers else f"serve, {readers} more readers",
            "turn_cpu_ms": turn,
            "token_cpu_us": token,
            "turn_ratio": turn / bare_turn,
            "token_ratio": token / bare_token,
        }
        if readers:
            row["reader_token_us"] = (token - costs[0][1]) / readers
        rows.append(row)
    return [
        {name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}
        for row in rows
    ]


async def _cpu_ms(server: Serving, load: Load, tokens: int, *, readers: int) -> float:
    """CPU milliseconds of the server for one turn of this load."""
    await _turns(server, load.at_once, load.at_once, said=str(tokens), readers=readers)
    conversations = await _conversations(server, load.turns)
    before = server.cpu_ms()
    await _spread(server, conversations, load.at_once, said=str(tokens), readers=readers)
    return (server.cpu_ms() - before) / load.turns


async def _turns(server: Serving, turns: int, at_once: int, *, said: str, readers: int) -> None:
    await _spread(server, await _conversations(server, turns), at_once, said=said, readers=readers)


async def _conversations(server: Serving, count: int) -> list[str]:
    return [(await server.post("/conversations", {}))["id"] for _ in range(count)]


async def _spread(
    server: Serving, conversations: list[str], at_once: int, *, said: str, readers: int
) -> None:
    waiting = iter(conversations)

    async def worker(waiting: Iterator[str]) -> None:
        for conversation in waiting:
            await _turn(server, conversation, said=said, readers=readers)

    await asyncio.gather(*(worker(waiting) for _ in range(at_once)))


async def _turn(server: Serving, conversation: str, *, said: str, readers: int) -> None:
    body = {"message": {"role": "user", "content": said}, "stream": True}
    url = f"{server.origin}/conversations/{conversation}/chat"
    async with server.session.post(url, json=body) as response:
        first = await response.content.readuntil(b"\n\n")
        run = first.partition(b'"run":"')[2].partition(b'"')[0].decode()
        others = [asyncio.create_task(_follow(server, run)) for _ in range(readers)]
        read = first + await response.content.read()
        if not read.endswith(b"data: [DONE]\n\n") or b'"reason":"answered"' not in read:
            message = f"the stream ended early: {read[-200:]!r}"
            raise RuntimeError(message)
        await asyncio.gather(*others)


async def _follow(server: Serving, run: str) -> None:
    async with server.session.get(f"{server.origin}/runs/{run}/events") as response:
        await response.content.read()
