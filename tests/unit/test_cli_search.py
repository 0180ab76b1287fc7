"""`bethink memory search`: over everything that is remembered, with what bounds it."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest
from inline_snapshot import snapshot

from bethink.app import open_app
from bethink.clock import to_us
from bethink.conversations.service import ConversationStart, PastMessage
from bethink.memory import NewFact
from bethink.settings import load_settings
from tests.command_line import CommandLine, masked

pytestmark = pytest.mark.timeout(20)

SPOKEN = to_us(datetime(2024, 5, 8, 10, tzinfo=UTC))


def told(plain: CommandLine, *said: PastMessage) -> str:
    """The id of a conversation in which this was said."""

    async def keep() -> str:
        async with open_app(load_settings(data_dir=plain.data, model="")) as app:
            me = await app.accounts.authenticate(audience="test")
            conversation = await app.conversations.create(me, ConversationStart(title="Before"))
            await app.conversations.take_over(me, conversation.id, said)
            return conversation.id

    return anyio.run(keep)


def test_facts_and_what_was_said_are_found_together_with_date_and_source(plain: CommandLine) -> None:
    plain.added("User keeps bees on the roof")
    conversation = told(plain, PastMessage("The bees\nswarmed today", SPOKEN, speaker="Ben"))
    found = plain("memory", "search", "bees", "--model", "")
    assert masked(found.out) == snapshot("""\
0.85  fact  <date>  User keeps bees on the roof  (person, <1>)
0.81  turn  <date>  The bees swarmed today  (Ben, conversation:<2>, <3>)
""")
    (bounded,) = plain("memory", "search", "bees", "--conversation", conversation, "--json").documents
    source = f"conversation:{conversation}#{bounded['id']}"
    assert bounded == {
        "id": bounded["id"],
        "kind": "turn",
        "text": "The bees\nswarmed today",
        "score": bounded["score"],
        "at": "2024-05-08T10:00:00Z",
        "source": source,
        "title": None,
        "conversation": conversation,
        "speaker": "Ben",
        "valid_from": None,
        "valid_until": None,
        "doubt": None,
        "untrusted": False,
        "near": False,
    }


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ((), {"fact", "turn"}),
        (("--kinds", "turn"), {"turn"}),
        (("--kinds", "fact, turn", "--k", "1"), {"fact"}),
        (("--since", "2024-05-09"), {"fact"}),
        (("--until", "2024-05-09"), {"turn"}),
        (("--as-of", "2024-05-09"), {"turn"}),
        (("--project", "hive"), set[str]()),
        (("--budget", "15"), {"fact"}),
    ],
)
def test_bounds_are_kept(bounds: tuple[str, ...], found: set[str], plain: CommandLine) -> None:
    plain.added("User keeps bees")
    told(plain, PastMessage("The bees of the neighbour swarmed today", SPOKEN))
    hits = plain("memory", "search", "bees", "--json", *bounds).documents
    assert {hit["kind"] for hit in hits} == found


def test_what_has_nothing_to_do_with_the_question_is_shown_only_when_asked_for(plain: CommandLine) -> None:
    plain.added("User keeps bees")
    assert not plain("memory", "search", "bees on Mars").out.startswith("0.00")
    nothing = plain("memory", "search", "violin lessons")
    assert (nothing.code, nothing.out) == (0, "")
    assert "No memories found matching: violin lessons" in nothing.err


def test_what_was_so_before_answers_and_says_until_when(plain: CommandLine) -> None:
    old = plain.added("User lives in Oslo")
    plain("memory", "edit", old, "User lives in Rome")
    (first, *_) = plain("memory", "search", "Where did I live before?", "--json").documents
    assert (first["text"], first["id"]) == ("User lives in Oslo", old)
    assert first["valid_until"]
    assert "(until 20" in plain("memory", "search", "Where did I live before?").out.splitlines()[0]
    assert "Oslo" not in plain("memory", "search", "Where do I live?").out


def test_what_does_not_fit_is_told(plain: CommandLine) -> None:
    plain.added("User keeps bees")
    plain.added("User likes the honey of bees")
    ended = plain("memory", "search", "bees", "--budget", "15")
    assert ended.out.count("\n") == 1
    assert "1 more do not fit into 15 tokens." in ended.err


@pytest.mark.parametrize(
    "words", [("--as-of", "yesterday"), ("--kinds", "dream"), ("--budget", "0"), ("--k", "900")]
)
def test_a_bound_that_makes_no_sense_is_told(words: tuple[str, ...], plain: CommandLine) -> None:
    ended = plain("memory", "search", "bees", *words)
    assert (ended.code, ended.out) == (2, "")


def test_the_last_day_of_all_calendars_is_shown_in_utc_where_the_owner_s_zone_has_no_such_day(
    plain: CommandLine,
) -> None:
    async def keep() -> None:
        async with open_app(load_settings(data_dir=plain.data, model="")) as app:
            me = await app.accounts.authenticate(audience="test")
            last = to_us(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))
            await app.memory.add(me, NewFact("User keeps bees", valid_until=last))

    anyio.run(keep)
    east = plain.setting(BETHINK_TIME_ZONE="Asia/Tokyo")
    found = east("memory", "search", "bees", "--model", "")
    assert "until 9999-12-31" in found.out
    shown = east("memory", "show", found.out.rsplit(maxsplit=1)[1].rstrip(")"))
    assert "9999-12-31 23:59" in shown.out
