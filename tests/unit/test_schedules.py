"""Schedules: each due time is taken up once, whatever dies, and its owner is told what came of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import msgspec
import pytest
from anyio.abc import TaskGroup

from bethink.agent.stored_runs import ApprovalChoice
from bethink.clock import rfc3339, to_datetime, to_us
from bethink.errors import AddressRefused, BadInput
from bethink.llm import Llm
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.schedules.clock import ScheduleClock
from bethink.schedules.due_times import QuietHours, next_due, understood
from bethink.schedules.records import SCHEDULE_RUNS, SCHEDULES, Notice, Schedule, ScheduleRun, run_id
from bethink.schedules.service import ScheduleDraft, Schedules
from bethink.store import Put
from bethink.tasks.service import Tasks
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Planned:
    """A house, and its clock of schedules, which looks when a test says so."""

    house: House

    @property
    def schedules(self) -> Schedules:
        return self.house.app.features.of(Schedules)

    async def look(self, after_s: float = 0) -> None:
        """Let time pass, look what is due, and wait until it is done."""
        self.house.clock.advance(after_s)
        async with anyio.create_task_group() as tasks:
            await self.schedules.firing.look(tasks)

    async def new(self, text: str, after_s: float = HOUR, **more: object) -> str:
        """A schedule that is due once, after so many seconds."""
        at = self.house.clock.now_us() + round(after_s * 1_000_000)
        return (await self.made(text, rfc3339(at), **more)).id

    async def made(self, text: str, when: str, **more: object) -> Schedule:
        draft = ScheduleDraft(text=text, when=when, **more)  # pyright: ignore[reportArgumentType] - by name
        made = (await self.schedules.create(self.house.me, draft)).record
        self.wake()
        return made

    def wake(self) -> None:
        """Have the clock look at the owner again, as the bus does."""
        self.schedules.firing.wake(self.house.me.owner)

    async def get(self, id: str) -> Schedule:
        return (await self.schedules.get(self.house.me, id)).record

    async def notices(self) -> list[Notice]:
        page = await self.schedules.notices(self.house.me)
        return [item.record for item in page.items]

    async def history(self, id: str) -> list[ScheduleRun]:
        return [item.record for item in (await self.schedules.history(self.house.me, id)).items]

    async def said(self, conversation: str) -> list[str]:
        return [one.message.content for one in await self.house.messages(conversation)]


@asynccontextmanager
async def planned(llm: Llm | None = None, **settings: Any) -> AsyncGenerator[Planned]:  # noqa: ANN401 - by name
    async with open_house(llm, **settings) as house:
        yield Planned(house)


async def test_a_reminder_is_a_message_in_its_conversation_and_a_notice_once() -> None:
    async with planned() as plan:
        place = await plan.house.new()
        id = await plan.new("Call Bruna", 20 * MINUTE, conversation=place)
        await plan.look(19 * MINUTE)
        assert await plan.notices() == []
        await plan.look(MINUTE)
        await plan.look(MINUTE)
        (notice,) = await plan.notices()
        assert (notice.title, notice.text, notice.kind) == ("Call Bruna", "Call Bruna", "reminder")
        assert notice.link == f"/schedules/{id}"
        assert await plan.said(place) == ["Reminder: Call Bruna"]
        (run,) = await plan.history(id)
        assert run.outcome == "done"
        assert (await plan.get(id)).next_at is None


async def test_a_run_answers_in_a_conversation_of_its_own() -> None:
    async with planned(ScriptedLlm(lambda _: "Three things today.")) as plan:
        id = await plan.new("Give me my day", action="run")
        await plan.look(HOUR)
        (run,) = await plan.history(id)
        assert (run.outcome, run.message) == ("done", "Three things today.")
        schedule = await plan.get(id)
        assert schedule.results == run.conversation
        assert await plan.said(run.conversation) == ["Give me my day", "Three things today."]
        (notice,) = await plan.notices()
        assert notice.link == f"/c/{run.conversation}"


async def test_what_was_due_while_bethink_was_off_is_told_once_with_its_time() -> None:
    async with planned() as plan:
        once = await plan.made("Water the plants", "every day at 8")
        left = await plan.made("Stretch", "every day at 8", missed="skip")
        assert once.next_at is not None
        await plan.look((once.next_at - plan.house.clock.now_us()) / 1e6 + 2 * DAY + HOUR)
        (notice,) = await plan.notices()
        assert notice.text.startswith(
            "Water the plants\n\nThis was due 3 times while Bethink was off, first on"
        )
        assert [run.outcome for run in await plan.history(left.id)] == ["missed"]
        following = (await plan.get(once.id)).next_at
        assert following is not None
        assert following > plan.house.clock.now_us()
        assert following - once.next_at == 3 * DAY * 1_000_000


async def test_a_paused_schedule_waits_and_goes_on() -> None:
    async with planned() as plan:
        made = await plan.made("Stand up", "every hour")
        await plan.schedules.pause(plan.house.me, made.id)
        await plan.look(3 * HOUR)
        assert await plan.notices() == []
        await plan.schedules.resume(plan.house.me, made.id)
        plan.wake()
        await plan.look()
        assert await plan.notices() == []
        await plan.look(HOUR)
        assert [notice.text for notice in await plan.notices()] == ["Stand up"]


async def test_a_snoozed_reminder_comes_at_that_time_and_then_as_usual() -> None:
    async with planned() as plan:
        made = await plan.made("Stand up", "every day at 8")
        assert made.next_at is not None
        until = plan.house.clock.now_us() + 10 * MINUTE * 1_000_000
        await plan.schedules.snooze(plan.house.me, made.id, until)
        plan.wake()
        await plan.look(11 * MINUTE)
        assert len(await plan.notices()) == 1
        again = await plan.get(made.id)
        assert (again.next_at, again.snoozed_until) == (made.next_at, None)


async def test_what_is_asked_for_now_runs_now_even_while_it_is_paused() -> None:
    async with planned() as plan:
        id = await plan.new("Call Bruna", DAY, paused=True)
        await plan.schedules.run_now(plan.house.me, id)
        plan.wake()
        await plan.look()
        assert len(await plan.notices()) == 1
        assert (await plan.get(id)).next_at is None
        await plan.schedules.resume(plan.house.me, id)
        assert (await plan.get(id)).next_at is not None


async def test_two_clocks_on_one_store_do_what_is_due_once() -> None:
    async with planned(ScriptedLlm(lambda _: "Done.")) as plan:
        reminder = await plan.new("Call Bruna")
        run = await plan.new("Give me my day", action="run")
        other = replace(plan.schedules.firing)
        plan.house.clock.advance(HOUR)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(plan.schedules.firing.look, tasks)
            tasks.start_soon(other.look, tasks)
        assert len(await plan.notices()) == 2
        assert len(await plan.history(reminder)) == len(await plan.history(run)) == 1


@pytest.mark.parametrize("jump", [-DAY, DAY], ids=["back", "forward"])
async def test_a_clock_that_jumps_a_day_repeats_nothing_and_loses_nothing(jump: int) -> None:
    async with planned() as plan:
        made = await plan.made("Stand up", "every hour")
        for _ in range(3):
            await plan.look(HOUR)
        await plan.look(jump)
        # What was due in a day that was jumped over is told once.
        assert len(await plan.history(made.id)) == (4 if jump > 0 else 3)
        for _ in range(25):
            await plan.look(HOUR)
        due = [run.due_at for run in await plan.history(made.id)]
        assert len(set(due)) == len(due)
        # Hours that come a second time are not due again.
        assert len(due) == (4 + 25 if jump > 0 else 3 + 1)


async def test_an_owner_who_moves_is_reminded_at_the_same_time_of_their_day() -> None:
    ports = ports_of()
    async with open_house(ports=ports, time_zone="Europe/Berlin") as house:
        made = await Planned(house).made("Stand up", "every day at 8")
        fixed = await Planned(house).made("Call", "every day at 8", zone="Europe/Berlin")
    async with open_house(ports=ports, time_zone="America/New_York") as house:
        plan = Planned(house)
        await plan.look()
        moved, stayed = (await plan.get(made.id)).next_at, (await plan.get(fixed.id)).next_at
        assert f"{to_datetime(moved or 0).astimezone(ZoneInfo('America/New_York')):%H:%M}" == "08:00"
        assert f"{to_datetime(stayed or 0).astimezone(ZoneInfo('Europe/Berlin')):%H:%M}" == "08:00"


async def test_a_run_that_broke_off_is_said_to_be_unknown_and_is_not_repeated() -> None:
    asked = 0

    def answer(_: object) -> str:
        nonlocal asked
        asked += 1
        return "Done."

    async with planned(ScriptedLlm(answer)) as plan:
        made = await plan.made("Give me my day", "every day at 8", action="run")
        due = made.next_at or 0
        run = ScheduleRun(
            id=run_id(made.id, due), schedule=made.id, due_at=due, started_at=due, is_open=1, process="killed"
        )
        after = msgspec.structs.replace(made, next_at=due + DAY * 1_000_000)
        await plan.schedules.store.commit(
            plan.house.me.owner, [Put(SCHEDULE_RUNS, run), Put(SCHEDULES, after)]
        )
        await plan.look((due - plan.house.clock.now_us()) / 1e6 + HOUR)
        assert asked == 0
        (found,) = await plan.history(made.id)
        assert found.outcome == "unknown"
        (notice,) = await plan.notices()
        assert "not known; it is not repeated" in notice.text
        await plan.look(DAY)
        assert asked == 1


async def test_what_would_ask_waits_for_its_owner_and_says_so() -> None:
    script = [ScriptedCall("delete_all_memories", {}), "I forgot it all.", "Good morning."]
    async with planned(ScriptedLlm(script)) as plan:
        await plan.house.app.memory.add(plan.house.me, NewFact("Has a cat."))
        made = await plan.made("Forget everything", "every day at 8", action="run")
        await plan.look(DAY)
        (run,) = await plan.history(made.id)
        assert run.outcome == "waiting_for_approval"
        (notice,) = await plan.notices()
        assert notice.link == f"/c/{run.conversation}"
        assert "waits for your approval" in notice.text
        # What waits is not taken back by the next run: that has a conversation of its own.
        await plan.look(DAY)
        second, first = await plan.history(made.id)
        assert first.outcome == "waiting_for_approval"
        assert second.conversation != first.conversation
        runs = plan.house.app.runs
        waiting = (await runs.stored.get(plan.house.me, first.run)).waiting
        yes = ApprovalChoice("approve")
        await runs.approvals.decide(plan.house.me, first.run, call=waiting[0].call, choice=yes)
        await plan.house.events(first.run)
        await plan.look(2 * HOUR)
        assert [one.outcome for one in await plan.history(made.id)][-1] == "done"
        assert len(await plan.notices()) == 2


async def test_a_run_ends_at_its_budget_and_says_so() -> None:
    calls = [ScriptedCall("search_memory", {"query": f"{number}"}) for number in range(50)]
    async with planned(ScriptedLlm(calls)) as plan:
        id = await plan.new("Search on", action="run", budget_tokens=2_000)
        await plan.look(HOUR)
        (run,) = await plan.history(id)
        assert run.outcome == "failed"
        assert "budget of tokens" in run.error


async def test_without_a_model_a_run_says_how_to_set_one() -> None:
    async with planned() as plan:
        id = await plan.new("Give me my day", action="run")
        await plan.look(HOUR)
        (run,) = await plan.history(id)
        assert run.outcome == "failed"
        assert "No model is set" in run.error
        assert "No model is set" in (await plan.notices())[0].text


async def test_a_reminder_waits_until_its_conversation_is_answered() -> None:
    script = [ScriptedCall("delete_all_memories", {}), "I did not."]
    async with planned(ScriptedLlm(script)) as plan:
        await plan.house.app.memory.add(plan.house.me, NewFact("Has a cat."))
        place = await plan.house.new()
        await plan.new("Call Bruna", conversation=place)
        await plan.house.say("Forget everything", place)
        await plan.look(HOUR)
        assert [notice.title for notice in await plan.notices()] == ["Call Bruna"]
        assert "Reminder: Call Bruna" not in await plan.said(place)
        await plan.look(MINUTE)
        assert "Reminder: Call Bruna" not in await plan.said(place)
        await plan.house.app.runs.stored.settle(plan.house.me, place, rejecting=True)
        await plan.look(HOUR)
        await plan.look(HOUR)
        assert (await plan.said(place)).count("Reminder: Call Bruna") == 1
        assert len(await plan.notices()) == 1


async def test_a_reminder_whose_conversation_was_deleted_is_told_on_the_page() -> None:
    async with planned() as plan:
        place = await plan.house.new()
        await plan.new("Call Bruna", conversation=place)
        await plan.house.app.runs.delete_conversation(plan.house.me, place)
        await plan.look(HOUR)
        assert [notice.title for notice in await plan.notices()] == ["Call Bruna"]


async def test_in_quiet_hours_a_notice_waits_until_their_end() -> None:
    async with planned(quiet_hours="22:00-07:00", time_zone="Europe/Berlin") as plan:
        made = await plan.made("Stand up", "every day at 23:30")
        await plan.look(((made.next_at or 0) - plan.house.clock.now_us()) / 1e6)
        assert await plan.notices() == []
        assert [run.outcome for run in await plan.history(made.id)] == ["done"]
        await plan.look(7 * HOUR)
        assert await plan.notices() == []
        await plan.look(30 * MINUTE)
        assert [notice.text for notice in await plan.notices()] == ["Stand up"]


async def test_history_goes_after_its_time() -> None:
    async with planned() as plan:
        made = await plan.made("Stand up", "every day at 8")
        await plan.look(DAY)
        await plan.look(30 * DAY)
        await plan.look(61 * DAY)
        assert len(await plan.history(made.id)) == 3
        await plan.house.app.housekeeping.tidy(plan.house.me)
        (run,) = await plan.history(made.id)
        assert run.due_at > plan.house.clock.now_us() - 90 * DAY * 1_000_000
        assert len(await plan.notices()) == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": "", "when": "tomorrow"}, "Say in `text`"),
        ({"text": "\0", "when": "tomorrow"}, "Say in `text`"),
        ({"text": "x", "when": ""}, "No time was given"),
        ({"text": "x", "when": "sometime"}, "no time that can be understood"),
        ({"text": "x", "when": "2020-01-01T09:00"}, "is over: give a time to come"),
        ({"text": "x", "when": "next week"}, "is a stretch of time"),
        ({"text": "x", "when": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}, "never happens"),
        ({"text": "x", "when": "FREQ=SECONDLY"}, "FREQ"),
        ({"text": "x" * 4001, "when": "tomorrow"}, "a text 4,000"),
        ({"text": "x", "when": "every minute", "action": "run"}, "every 5 minutes"),
        ({"text": "x", "when": "tomorrow", "action": "watch"}, "address of the page"),
        ({"text": "x", "when": "tomorrow", "action": "watch", "url": "file:///etc/passwd"}, "https://"),
        ({"text": "x", "when": "tomorrow", "zone": "Mars/Base"}, "IANA name"),
        ({"text": "x", "when": "tomorrow", "action": "run", "budget_tokens": 5}, "at least 1,000"),
    ],
)
async def test_what_cannot_be_scheduled_is_refused_with_what_to_do(fields: dict[str, Any], said: str) -> None:
    async with planned() as plan:
        with pytest.raises((BadInput, AddressRefused)) as refused:
            await plan.schedules.create(plan.house.me, ScheduleDraft(**fields))
        assert said in str(refused.value)
        assert (await plan.schedules.list(plan.house.me)).items == ()


async def test_a_task_s_reminder_rings_once_in_its_conversation_and_not_for_the_past() -> None:
    async with planned() as plan:
        tasks, me = plan.house.app.features.of(Tasks), plan.house.me
        await plan.look()
        at = to_datetime(plan.house.clock.now_us()) + timedelta(hours=2)
        await tasks.create(me, {"title": "Pay the rent", "due_at": at.isoformat(), "reminders": [60]})
        plan.wake()
        await plan.look()
        assert await plan.notices() == []
        await plan.look(HOUR)
        (notice,) = await plan.notices()
        assert (notice.title, notice.kind) == ("Pay the rent", "reminder")
        assert notice.link.startswith("/tasks/")
        again = replace(plan.schedules.firing)
        async with anyio.create_task_group() as both:
            await again.look(both)
        await plan.look(HOUR)
        assert len(await plan.notices()) == 1


async def test_reminders_of_tasks_that_were_missed_are_told_together_if_there_are_many() -> None:
    ports = ports_of()
    async with open_house(ports=ports) as house:
        plan, tasks = Planned(house), house.app.features.of(Tasks)
        await plan.look()
        at = to_datetime(house.clock.now_us()) + timedelta(hours=2)
        for number in range(25):
            given = {"title": f"Task {number}", "due_at": at.isoformat(), "reminders": [60]}
            await tasks.create(house.me, given)
        plan.wake()
        await plan.look()
    async with open_house(ports=ports) as house:
        plan = Planned(house)
        await plan.look(5 * HOUR)
        (notice,) = await plan.notices()
        assert notice.title == "25 reminders were due while Bethink was off"
        assert notice.link == "/today"


async def test_a_running_clock_sleeps_until_it_is_told_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    async with planned() as plan:
        looks = 0
        real = ScheduleClock.look

        async def counted(self: ScheduleClock, tasks: TaskGroup) -> None:
            nonlocal looks
            looks += 1
            await real(self, tasks)

        monkeypatch.setattr(ScheduleClock, "look", counted)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(plan.schedules.firing.run)
            await anyio.wait_all_tasks_blocked()
            assert looks == 1
            store = plan.schedules.store
            scans: list[object] = []
            monkeypatch.setattr(type(store), "scan", lambda *given: scans.append(given))
            # Time passes and nothing is due: a look reads nothing.
            await plan.schedules.firing.look(tasks)
            assert scans == []
            monkeypatch.undo()
            made = await plan.made("Call Bruna", "in 10 minutes")
            await anyio.wait_all_tasks_blocked()
            plan.house.clock.advance(600)
            plan.wake()
            await anyio.wait_all_tasks_blocked()
            assert [run.outcome for run in await plan.history(made.id)] == ["done"]
            tasks.cancel_scope.cancel()


async def test_nothing_happens_for_a_user_who_is_disabled() -> None:
    async with planned(ScriptedLlm(lambda _: "Done.")) as plan:
        register = plan.house.app.accounts.register
        ann = await register.add_user("ann")
        hers = plan.house.app.accounts.on_behalf_of(ann.id, audience="test")
        draft = ScheduleDraft(text="Give me my day", when="every day at 8", action="run")
        made = (await plan.schedules.create(hers, draft)).record
        await register.change_user(ann.id, disabled=True)
        await plan.look(DAY)
        assert (await plan.schedules.history(hers, made.id)).items == ()
        await register.change_user(ann.id, disabled=False)
        await plan.look(DAY)
        (run,) = (await plan.schedules.history(hers, made.id)).items
        assert run.record.outcome == "done"


@pytest.mark.parametrize(
    ("hours", "at", "until"),
    [
        ("22:00-07:00", "2026-11-24T21:59", "2026-11-24T21:59"),
        ("22:00-07:00", "2026-11-24T22:00", "2026-11-25T07:00"),
        ("22:00-07:00", "2026-11-25T06:59", "2026-11-25T07:00"),
        ("22:00-07:00", "2026-11-25T07:00", "2026-11-25T07:00"),
        ("13:00-14:30", "2026-11-25T13:30", "2026-11-25T14:30"),
        ("7:00 - 9:00", "2026-11-25T06:00", "2026-11-25T06:00"),
        # The clocks are put forward and back in the night.
        ("22:00-07:00", "2026-03-28T23:00", "2026-03-29T07:00"),
        ("22:00-07:00", "2026-10-24T23:00", "2026-10-25T07:00"),
    ],
)
def test_quiet_hours_end_by_the_owner_s_clock(hours: str, at: str, until: str) -> None:
    zone = ZoneInfo("Europe/Berlin")
    quiet = QuietHours.parse(hours)
    assert quiet is not None
    moments = [to_us(datetime.fromisoformat(text).replace(tzinfo=zone)) for text in (at, until)]
    assert quiet.over(moments[0], "Europe/Berlin") == moments[1]


@pytest.mark.parametrize("text", ["22-7", "22:00", "25:00-07:00", "22:00-22:00", "late", "22:00-07:00-08:00"])
def test_what_are_no_quiet_hours_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="22:00-07:00"):
        QuietHours.parse(text)


def test_a_reminder_of_eight_stays_at_eight_when_the_clocks_change() -> None:
    now = to_us(datetime(2026, 3, 27, 12, tzinfo=ZoneInfo("Europe/Berlin")))
    timing = understood("every day at 8", now, "Europe/Berlin")
    schedule = Schedule(
        id="s",
        title="",
        action="remind",
        text="",
        created_at=now,
        updated_at=now,
        start=timing.start,
        recurrence=timing.recurrence,
    )
    due, shown = now, list[str]()
    for _ in range(3):
        due = next_due(schedule, due, "Europe/Berlin") or 0
        shown.append(f"{to_datetime(due):%d %H:%M}")
    assert shown == ["28 07:00", "29 06:00", "30 06:00"]
