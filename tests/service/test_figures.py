"""What alerts and the dashboard ask for, looked for in `/metrics` of a real server at work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import anyio
import httpx2
import pytest
import yaml

from benchmarks.stand_ins.scripted_process import scripted_process
from bethink.llm.scripted import Rule, ScriptedCall
from tests import warm
from tests.postgres_server import postgres_server
from tests.redis_server import redis_server
from tests.server_process import Running, environment, running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

DEPLOY = Path(__file__).parents[2] / "deploy"
STORED = ScriptedCall("store_memory", {"content": "User lives in Rome."})
UNKNOWN = ScriptedCall("fetch_page", {})
SAMPLE = re.compile(r"(bethink_\w+)(?:\{(.*)\})? \S+")
ASKED = re.compile(r"(bethink_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"')
GROUPED = re.compile(r"\b(?:by|on) \(([^)]*)\)")
OF_PROMETHEUS = {"job", "instance"}


class Shown:
    """What a server shows: the values of each label of each metric."""

    def __init__(self, text: str) -> None:
        self.labels: dict[str, dict[str, set[str]]] = {}
        for line in text.splitlines():
            if (found := SAMPLE.fullmatch(line)) is not None:
                labels = self.labels.setdefault(found[1], {})
                for name, _, value in LABEL.findall(found[2] or ""):
                    labels.setdefault(name, set()).add(value)

    def lacks(self, expression: str) -> list[str]:
        """What an expression of PromQL asks for and is not shown."""
        asked = ASKED.findall(expression)
        there = OF_PROMETHEUS.union(*(self.labels.get(name, {}) for name, _ in asked))
        missing = [name for name, _ in asked if name not in self.labels]
        for name, matchers in asked:
            values = self.labels.get(name, {})
            for label, how, value in LABEL.findall(matchers):
                is_there = label in OF_PROMETHEUS or label in values
                if not is_there or (how == "=" and label in values and value not in values[label]):
                    missing.append(f"{name}.{label}={value}")
        for group in GROUPED.findall(expression):
            missing += [label for label in re.split(r",\s*", group) if label not in there]
        return missing


def expressions() -> list[str]:
    """What all alerts and all panels ask for."""
    rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())
    panels = json.loads((DEPLOY / "grafana/bethink.json").read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    return asked + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


async def used(server: Running) -> None:
    """Have the server do a little of everything that is counted."""
    for said in ("Note it", "Fail once", "Fail now"):
        await server.answer(await server.new(), said)
    await server.http.post("/documents", files={"file": ("a.txt", b"The heron nests by the mill.")})
    await server.get("/recall?query=Rome")
    fact = (await server.http.post("/memories", json={"content": "Plays chess"})).json()["memory"]["id"]
    (await server.http.delete(f"/memories/{fact}", params={"forget": True})).raise_for_status()
    (await server.http.post("/backups")).raise_for_status()
    while (await server.get("/backups"))["last_good"] is None:
        pass


@pytest.mark.requirement("R205")
async def test_all_that_alerts_and_the_dashboard_ask_for_is_measured(tmp_path: Path) -> None:
    with scripted_process() as model, postgres_server() as postgres, redis_server() as redis:
        redis.client().config_set("maxmemory", "100mb")
        await model.plays(
            Rule(when="Note", after_tool=False, tool_calls=(STORED,)),
            Rule(when="Fail once", after_tool=False, tool_calls=(UNKNOWN,)),
            Rule(when="Fail now", status=400),
        )
        told = {
            "BETHINK_DATABASE_URL": postgres.new_database(),
            "BETHINK_REDIS_URL": redis.url,
            "BETHINK_REDIS_USE": "both",
            "BETHINK_PRICES": '{"openai:scripted-demo": {"input": 1, "output": 2}}',
            "BETHINK_BACKUPS": '{"every_hours": 24}',
        }
        async with running(tmp_path, model, **told) as server:
            await used(server)
            shown = Shown((await server.http.get("/metrics")).text)
    assert len(expressions()) > 40
    assert {asked: shown.lacks(asked) for asked in expressions() if shown.lacks(asked)} == {}


async def test_what_runs_on_one_machine_alone_lacks_only_what_it_does_not_use(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        shown = Shown((await server.http.get("/metrics")).text)
    assert {"bethink_database_bytes", "bethink_store_up", "bethink_bus_up", "bethink_disk_bytes"} <= {
        *shown.labels
    }
    assert not any(name.startswith("bethink_redis_") for name in shown.labels)


async def test_a_scraper_hears_that_the_database_is_away_and_of_nothing_else(tmp_path: Path) -> None:
    with postgres_server() as postgres:
        told = {"BETHINK_DATABASE_URL": postgres.new_database()}
        made = await anyio.run_process(
            [*warm.program(warm.BETHINK), "users", "add", "ann"], env=environment(tmp_path, None, **told)
        )
        assert made.returncode == 0
        async with running(tmp_path, None, **told) as server:
            assert (await server.http.get("/metrics")).status_code == 401
            postgres.kill()
            # Who comes in is known for half a second.
            while (away := await server.http.get("/metrics")).status_code == 401:
                pass
            assert lines(away) == [
                'bethink_store_up{access="read"} 0',
                'bethink_store_up{access="write"} 0',
            ]
            postgres.start()
            while (await server.http.get("/metrics")).status_code != 401:
                pass


def lines(answer: httpx2.Response) -> list[str]:
    """The samples of an answer but for the version."""
    assert answer.status_code == 200, answer.text
    return [line for line in answer.text.splitlines() if not line.startswith(("#", "bethink_info")) and line]
