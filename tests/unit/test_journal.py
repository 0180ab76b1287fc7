"""The journal: whoever reads from wherever gets exactly the rest."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.agent.records import Journal, NumberedEvent, behind
from bethink.events import (
    Event,
    MessageSaved,
    Place,
    ReasoningDelta,
    RunDone,
    TextDelta,
    TextSoFar,
    ToolProgress,
)

pytestmark = pytest.mark.anyio

DONE = RunDone(reason="answered")
EVENTS = st.lists(
    st.builds(TextDelta, text=st.text(max_size=5))
    | st.builds(ReasoningDelta, text=st.text(max_size=5))
    | st.builds(ToolProgress, call=st.just("c"), text=st.text(max_size=3))
    | st.builds(MessageSaved, id=st.just("m"), role=st.just("assistant")),
    max_size=20,
)


def journal_of(events: Sequence[Event], first: int = 1) -> Journal:
    journal = Journal(first)
    for event in events:
        journal.append(event)
    return journal


def whole(events: Sequence[Event]) -> list[Event]:
    """The events with deltas that follow one another put together and empty ones left out."""
    merged: list[Event] = []
    for event in events:
        if isinstance(event, TextDelta | ReasoningDelta) and not event.text:
            continue
        last = merged[-1] if merged else None
        if isinstance(event, TextDelta | ReasoningDelta) and type(last) is type(event):
            assert isinstance(last, TextDelta | ReasoningDelta)
            merged[-1] = type(event)(text=last.text + event.text)
        else:
            merged.append(event)
    return merged


def read(journal: Journal, after: Place) -> list[Event]:
    return [numbered.event for numbered in journal.read(after)]


@given(EVENTS, st.integers(1, 5))
def test_reading_from_the_start_gives_everything(events: list[Event], first: int) -> None:
    assert read(journal_of(events, first), Place(0)) == whole(events)


@given(EVENTS, st.data(), st.integers(1, 5))
def test_reading_to_any_place_and_from_it_on_is_reading_all(
    events: list[Event], data: st.DataObject, first: int
) -> None:
    cut = data.draw(st.integers(0, len(events)))
    journal = journal_of(events[:cut], first)
    early = read(journal, Place(0))
    place = journal.place
    for event in events[cut:]:
        journal.append(event)
    assert whole([*early, *read(journal, place)]) == whole(events)


@given(EVENTS, st.data())
def test_a_place_inside_a_text_cuts_the_text_there(events: list[Event], data: st.DataObject) -> None:
    journal = journal_of(events)
    parts = [one for one in journal.read(Place(0)) if isinstance(one.event, TextDelta)]
    if not parts:
        return
    part = data.draw(st.sampled_from(parts))
    assert isinstance(part.event, TextDelta)
    seen = data.draw(st.integers(0, len(part.event.text)))
    rest = journal.read(Place(part.place.sequence, seen))
    same = [one.event for one in rest if one.place == part.place]
    assert same == ([TextDelta(text=part.event.text[seen:])] if seen < len(part.event.text) else [])
    assert behind(journal.read(Place(0)), Place(part.place.sequence, seen)) == rest


@given(EVENTS, st.integers(0, 30), st.integers(0, 30))
def test_places_that_nobody_was_given_are_read_without_harm(
    events: list[Event], sequence: int, characters: int
) -> None:
    journal = journal_of(events, 3)
    known = journal.read(Place(0))
    assert all(
        one in known or isinstance(one.event, TextDelta | ReasoningDelta)
        for one in journal.read(Place(sequence, characters))
    )


@given(EVENTS)
def test_the_snapshot_is_the_last_text_and_where_it_ends(events: list[Event]) -> None:
    journal = journal_of(events)
    snapshot = journal.snapshot()
    texts = {TextDelta: "", ReasoningDelta: ""}
    for event in whole(events):
        if isinstance(event, TextDelta | ReasoningDelta):
            texts[type(event)] = event.text
    assert snapshot == NumberedEvent(
        journal.place, TextSoFar(text=texts[TextDelta], reasoning=texts[ReasoningDelta])
    )
    journal.append(TextDelta(text="more"))
    assert whole(read(journal, snapshot.place))[-1] == TextDelta(text="more")


def test_what_was_told_anew_counts_and_not_what_stood_before_it() -> None:
    told = TextSoFar(text="", reasoning="thought ")
    before = [TextDelta(text="saved"), MessageSaved(id="m", role="assistant"), TextDelta(text="thought ")]
    journal = journal_of([*before, told, TextDelta(text="said")])
    whole_part = TextSoFar(text="said", reasoning="thought ")
    assert journal.unsaved() == journal.snapshot().event == whole_part


def test_what_is_unsaved_is_the_text_since_the_last_saved_message() -> None:
    journal = journal_of(
        [
            TextDelta(text="kept"),
            MessageSaved(id="m", role="assistant"),
            ReasoningDelta(text="why"),
            TextDelta(text="lost "),
            ToolProgress(call="c", text="half"),
            TextDelta(text="again"),
        ]
    )
    assert journal.unsaved() == TextSoFar(text="lost again", reasoning="why")


async def follow(journal: Journal, after: Place) -> list[Event]:
    async with aclosing(journal.follow(after)) as batches:
        return [one.event async for batch in batches for one in batch]


async def test_many_readers_that_come_at_any_time_get_the_same() -> None:
    journal = Journal()
    got: list[list[Event]] = []

    async def reader() -> None:
        got.append(await follow(journal, Place(0)))

    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(reader)
            journal.append(TextDelta(text=f"{number} "))
            await anyio.lowlevel.checkpoint()
        journal.append(DONE)
    text = "".join(f"{number} " for number in range(50))
    assert [whole(events) for events in got] == [[TextDelta(text=text), DONE]] * 50


async def test_a_slow_reader_gets_what_it_missed_as_one_delta() -> None:
    journal = Journal()
    journal.append(TextDelta(text="a"))
    async with aclosing(journal.follow(Place(0))) as batches:
        (first,) = await anext(batches)
        for _ in range(1_000):
            journal.append(TextDelta(text="b"))
        (second,) = await anext(batches)
    assert (first.event, first.place) == (TextDelta(text="a"), Place(1, 1))
    assert (second.event, second.place) == (TextDelta(text="b" * 1_000), Place(1, 1_001))


async def test_a_reader_waits_and_is_woken_by_the_next_event() -> None:
    journal = Journal()
    got: list[Event] = []

    async def reader() -> None:
        got.extend(await follow(journal, Place(0)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader)
        await anyio.wait_all_tasks_blocked()
        assert got == []
        journal.append(DONE)
    assert got == [DONE]


async def test_closing_ends_every_reader() -> None:
    journal = Journal()
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(follow, journal, Place(0))
        await anyio.wait_all_tasks_blocked()
        journal.close()


async def test_a_reader_that_leaves_disturbs_nobody() -> None:
    journal = Journal()
    got: list[Event] = []

    async def stays() -> None:
        got.extend(await follow(journal, Place(0)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stays)
        async with anyio.create_task_group() as leaving:
            leaving.start_soon(follow, journal, Place(0))
            await anyio.wait_all_tasks_blocked()
            leaving.cancel_scope.cancel()
        journal.append(DONE)
    assert got == [DONE]


@given(st.builds(Place, st.integers(0, 10**17), st.integers(0, 10**17)))
def test_a_place_can_be_written_and_read(place: Place) -> None:
    assert Place.parse(str(place)) == place


@pytest.mark.parametrize(
    "text", ["", ".", "a", "1.a", "-1", "1.-2", " 1", "1e5", "²", "9" * 5_000, "1." + "9" * 19]
)
def test_what_is_no_place_is_none(text: str) -> None:
    assert Place.parse(text) is None


def test_a_place_without_characters_is_that_of_an_event() -> None:
    assert Place.parse("7") == Place.parse("7.") == Place(7)
