"""Facts and lines say the same after any changes of both, and whatever was cut short between them."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import anyio
import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from bethink.engines.memory import MemoryStore
from bethink.errors import BethinkError
from bethink.memory import NewFact
from bethink.mirror.lines import shown_in
from bethink.principal import LOCAL_OWNER
from bethink.store import Change
from tests.mirrored import Mirrored, mirrored_in
from tests.vaults import ME, kept_in

SAYINGS = st.sampled_from(
    [
        "Plays the violin",
        "Likes tea",
        "Has a dog",
        "Works nights",
        "Sails",
        "Owns a kayak",
        "100%% sure",
        "# Bold",
    ]
)
PLACES = st.sampled_from(["memories/general.md", "memories/goals.md", "entities/me.md"])


class PowerCut(BaseException):
    """The process is gone."""


class FailingStore(MemoryStore):
    """Goes out at the commit that is named; what was committed stays."""

    left: int | None = None

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise PowerCut
        await super().commit(owner, changes)


class Sides(RuleBasedStateMachine):
    """Edits on both sides, kills in between; in the end both say the same, and nothing was lost unseen."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.both: Mirrored

    def run(self, call: Callable[..., Coroutine[Any, Any, Any]], *args: object) -> object:
        return anyio.run(call, *args, backend="asyncio")

    @initialize()
    def begin(self) -> None:
        self.run(self._begin)

    async def _begin(self) -> None:
        kept = kept_in(self.directory, store=None, trust="owner")
        store = FailingStore(kept.index)
        kept = kept_in(self.directory, store=store, trust="owner")
        self.store = store
        await kept.vault.begin(ME)
        self.both = await mirrored_in(self.directory, kept=kept)

    @rule(content=SAYINGS, category=st.sampled_from(["general", "goals"]))
    def store_fact(self, content: str, category: str) -> None:
        self.run(self._memory, self.both.memory.add, ME, NewFact(content, category=category))

    @rule(pick=st.integers(0, 9), content=SAYINGS)
    def edit_fact(self, pick: int, content: str) -> None:
        self.run(self._of_fact, pick, lambda id: self.both.memory.edit(ME, id, NewFact(content)))

    @rule(pick=st.integers(0, 9))
    def retract_fact(self, pick: int) -> None:
        self.run(self._of_fact, pick, lambda id: self.both.memory.retract(ME, id))

    async def _memory(self, call: Callable[..., Coroutine[Any, Any, Any]], *args: object) -> None:
        with contextlib.suppress(BethinkError):
            await call(*args)

    async def _of_fact(self, pick: int, call: Callable[[str], Coroutine[Any, Any, Any]]) -> None:
        ids = [fact.id async for page in self.both.memory.pages(ME, {"state": "active"}) for fact in page]
        if ids:
            await self._memory(call, ids[pick % len(ids)])

    @rule(path=PLACES, content=SAYINGS)
    def write_line(self, path: str, content: str) -> None:
        self.both.kept.file(path, f"{self.both.text(path)}- {content}\n")

    @rule(pick=st.integers(0, 9), content=SAYINGS)
    def edit_line(self, pick: int, content: str) -> None:
        for path, lines, place in self._line(pick):
            head, id = lines[place].rpartition(" ^fact-")[::2]
            mark = head[: len(head) - len(head.lstrip())] + "- "
            lines[place] = f"{mark}{content} ^fact-{id}"
            self.both.kept.file(path, "".join(lines))

    @rule(pick=st.integers(0, 9))
    def delete_line(self, pick: int) -> None:
        for path, lines, place in self._line(pick):
            del lines[place]
            self.both.kept.file(path, "".join(lines))

    @rule(pick=st.integers(0, 9), to=PLACES)
    def move_line(self, pick: int, to: str) -> None:
        for path, lines, place in self._line(pick):
            line = lines.pop(place)
            self.both.kept.file(path, "".join(lines))
            self.both.kept.file(to, self.both.text(to) + line.lstrip())

    def _line(self, pick: int) -> list[tuple[str, list[str], int]]:
        found: list[tuple[str, list[str], int]] = []
        for file in sorted(self.both.kept.root.rglob("*.md")):
            lines = file.read_text().splitlines(keepends=True)
            path = file.relative_to(self.both.kept.root).as_posix()
            found += [(path, lines, place) for place, line in enumerate(lines) if " ^fact-" in line]
        return [found[pick % len(found)]] if found else []

    @rule()
    def compare(self) -> None:
        self.run(self.both.settle)

    @rule(after=st.integers(0, 6))
    def die(self, after: int) -> None:
        """Kill -9 in the middle of a comparison, and another process."""
        self.run(self._die, after)

    async def _die(self, after: int) -> None:
        await self.both.kept.vault.sync(LOCAL_OWNER)
        self.store.left = after
        with contextlib.suppress(PowerCut):
            await self.both.mirror.settle(LOCAL_OWNER)
        self.store.left = None
        kept = kept_in(self.directory, store=self.store, trust="owner")
        self.both = await mirrored_in(self.directory, kept=kept)

    def teardown(self) -> None:
        if hasattr(self, "both"):
            self.run(self._end)
        shutil.rmtree(self.directory, ignore_errors=True)

    async def _end(self) -> None:
        both = self.both
        await both.settle()
        await both.mirror.decide(LOCAL_OWNER, "restore")
        await both.settle()
        facts = await both.facts()
        report = await both.mirror.report(LOCAL_OWNER)
        open_ids = {problem.line for problem in report.problems if problem.line}
        shown = await self._shown()
        kept = {content for id, content in shown if id not in open_ids}
        assert kept <= set(facts), (kept, facts, report)
        if not open_ids:
            assert len(shown) == len(facts), (shown, facts, report)
        before = {file: file.read_bytes() for file in both.kept.root.rglob("*.md")}
        await both.settle()
        assert {file: file.read_bytes() for file in both.kept.root.rglob("*.md")} == before, "a loop"

    async def _shown(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for file in sorted(self.both.kept.root.rglob("*.md")):
            marked, _ = shown_in(file.read_text())
            found += [(one.id, one.content) for one in marked if not one.is_note]
        return found


Sides.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    phases=[Phase.explicit, Phase.generate],
)
test_both_sides_say_the_same = pytest.mark.timeout(120)(Sides.TestCase)


def test_a_fact_that_is_retracted_gets_no_line_again_if_the_comparison_is_cut_short() -> None:
    sides = Sides()
    sides.begin()
    sides.store_fact(content="# Bold", category="goals")
    sides.edit_fact(pick=0, content="100%% sure")
    sides.die(after=4)
    sides.write_line(path="memories/general.md", content="100%% sure")
    sides.delete_line(pick=0)
    sides.store_fact(content="Works nights", category="general")
    sides.die(after=4)
    sides.teardown()
