"""Facts proposed from finished turns: in the owner's words, through the gate, in nobody's way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import anyio
import pytest

from bethink.errors import LlmError, Refused
from bethink.events import Event, RunDone, Usage
from bethink.llm import LlmRequest
from bethink.llm.scripted import Answer, ScriptedLlm
from bethink.memory import Fact
from bethink.memory.compare import is_said
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

CELLO = {
    "content": "The user plays the cello",
    "category": "preferences",
    "importance": 0.7,
    "topics": ["music"],
}
SAID = "I play the cello"


def facts(*proposed: Mapping[str, object]) -> str:
    return json.dumps({"facts": proposed})


class Model:
    """Answers talk with `talk` and a request for facts with what `found` holds, in order."""

    def __init__(self, *found: Answer, talk: Answer = "I see.") -> None:
        self.asked: list[LlmRequest] = []
        self.reached = anyio.Event()
        self._found = list(found)
        self._talk = talk
        self.llm = ScriptedLlm(self._answer)

    def _answer(self, request: LlmRequest) -> Answer:
        if not request.system.startswith("You read one message"):
            return self._talk
        self.asked.append(request)
        self.reached.set()
        return self._found.pop(0) if self._found else facts()


async def turn(house: House, said: str = SAID) -> str:
    """A turn, and what is done after it; its conversation."""
    conversation = await house.new()
    await house.say(said, conversation)
    await house.app.post_turn.finished()
    return conversation


async def kept(house: House, state: str) -> Sequence[Fact]:
    page = await house.app.memory.list(house.me, where={"state": state})
    return [item.record for item in page.items]


def reason_of(events: list[Event]) -> str:
    return next(event.reason for event in events if isinstance(event, RunDone))


@pytest.mark.requirement("R208")
async def test_a_fact_of_a_turn_is_suggested_with_its_source_and_its_cost() -> None:
    model = Model(facts(CELLO))
    async with open_house(model.llm, extraction="suggest") as house:
        conversation = await turn(house)
        (fact,) = await kept(house, "suggested")
        said, answered = await house.messages(conversation)
        found = await house.app.recall.search(house.me, "cello", kinds={"fact"})
    assert fact.content == "The user plays the cello"
    assert (fact.category, fact.topics) == ("preferences", ("music",))
    assert [(source.kind, source.id, source.message) for source in fact.sources] == [
        ("conversation", conversation, said.id)
    ]
    assert found == []
    assert [(ref.change, ref.ids) for ref in answered.changed] == [("suggested", (fact.id,))]
    assert [usage.job for usage in answered.usage] == ["chat", "extraction"]
    assert house.app.runs.metrics.tokens["scripted:demo", "extraction", "in"] > 0


async def test_a_fact_is_kept_at_once_where_the_setting_says_so() -> None:
    async with open_house(Model(facts(CELLO)).llm, extraction="store") as house:
        await turn(house)
        found = await house.app.recall.search(house.me, "Who plays the cello?", kinds={"fact"})
    assert [hit.text for hit in found] == ["The user plays the cello"]


async def test_it_is_off_unless_asked_for() -> None:
    model = Model(facts(CELLO))
    async with open_house(model.llm) as house:
        await turn(house)
        assert house.app.extraction.off is not None
    assert model.asked == []


async def test_only_what_was_said_and_answered_is_read() -> None:
    model = Model()
    async with open_house(model.llm, extraction="store") as house:
        await house.say("/remember My sister is called Maria")
        await turn(house, "What is my sister called? I play the cello")
    (request,) = model.asked
    read = json.loads(request.messages[0].content)
    assert read == {"message": "What is my sister called? I play the cello", "answer": "I see."}
    assert request.response_format is not None
    assert request.tools == ()


@pytest.mark.parametrize(
    "proposed",
    [
        {"content": "The user lives in Berlin"},
        {"content": "The user has 3 cellos"},
        {"content": "The user is a person who likes to talk"},
        {"content": "User's sister is Maria"},
    ],
)
async def test_what_the_owner_did_not_say_is_left_out(proposed: Mapping[str, object]) -> None:
    model = Model(facts(proposed), talk="Your sister Maria lives in Berlin with 3 cellos.")
    async with open_house(model.llm, extraction="store") as house:
        await turn(house, "I play the cello, which person likes it?")
        assert await kept(house, "active") == []


@pytest.mark.parametrize(
    ("fact", "message", "said"),
    [
        ("The user's daughter is called Anna", "My daughter Anna starts school", True),
        ("The user's daughter is called Maria", "My daughter Anna starts school", False),
        ("User owns 2 dogs", "I have 2 dogs", True),
        ("User owns 3 dogs", "I have 2 dogs", False),
        ("User works as a nurse in Lyon", "I'm a nurse, I work in Lyon", True),
        ("ユーザーは東京に住んでいる", "私は東京に住んでいます", False),
        ("User's sister lives somewhere", "Where does my sister live?", False),
        ("User plays chess", "Do you like it? I play chess.", True),
        ("", "anything", False),
        ("The user", "the user", False),
    ],
)
def test_a_fact_is_said_where_its_names_numbers_and_words_are(fact: str, message: str, said: bool) -> None:  # noqa: FBT001
    assert is_said(fact, message) is said


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "The user plays the cello.",
        '{"facts": "cello"}',
        '{"facts": [{"content": ""}]}',
        '{"facts": [{"content": "User plays the cello", "importance": 7}]}',
        '{"facts": [' + '{"content": "User plays the cello"},' * 3,
        "[]",
        "null",
        "\x00",
    ],
)
async def test_garbage_is_harmless_and_thrice_in_a_row_ends_it(garbage: str) -> None:
    model = Model(garbage, facts(), garbage, garbage, garbage)
    async with open_house(model.llm, extraction="store") as house:
        for _ in range(4):
            await turn(house)
            assert house.app.extraction.off is None
        await turn(house)
        assert "3 times in a row" in (house.app.extraction.off or "")
        await turn(house)
        assert await kept(house, "active") == []
    assert len(model.asked) == 5


async def test_no_more_than_five_facts_of_a_turn_are_kept() -> None:
    said = "I like tea, rain, snow, chess, jazz, bread and salt"
    likes = [
        {"content": f"The user likes {word}"} for word in ("tea", "rain", "snow", "chess", "jazz", "bread")
    ]
    async with open_house(Model(facts(*likes)).llm, extraction="store") as house:
        await turn(house, said)
        assert len(await kept(house, "active")) <= 5


async def test_a_provider_without_schemas_is_asked_plainly_from_then_on() -> None:
    refused: LlmError = Refused("response_format is not supported")
    model = Model([refused], f"```json\n{facts(CELLO)}\n```", facts())
    async with open_house(model.llm, extraction="store") as house:
        await turn(house)
        await turn(house, "And I like rain")
        assert len(await kept(house, "active")) == 1
    assert [request.response_format is None for request in model.asked] == [False, True, True]


async def test_a_model_that_does_not_answer_is_no_garbage() -> None:
    failures: list[Answer] = [[LlmError("unreachable")] for _ in range(4)]
    async with open_house(Model(*failures, facts(CELLO)).llm, extraction="store") as house:
        for _ in range(5):
            await turn(house)
        assert len(await kept(house, "active")) == 1


async def test_a_small_window_turns_it_off_and_health_says_why() -> None:
    llm = ScriptedLlm(["ok"], context_tokens=2_048)
    async with open_house(llm, extraction="suggest") as house:
        assert "too small" in (house.app.extraction.off or "")


async def test_it_gives_way_to_the_next_turn_and_comes_back() -> None:
    gate = anyio.Event()
    model = Model([gate, facts()], facts(CELLO), facts())
    async with open_house(model.llm, extraction="store") as house:
        conversation = await house.new()
        await house.say(SAID, conversation)
        await model.reached.wait()
        assert reason_of(await house.say("Hello", conversation)) == "answered"
        await house.app.post_turn.finished()
        assert [fact.content for fact in await kept(house, "active")] == [CELLO["content"]]
    assert not gate.is_set()
    assert [json.loads(request.messages[0].content)["message"] for request in model.asked] == [
        SAID,
        SAID,
        "Hello",
    ]


async def test_what_is_forgotten_or_deleted_meanwhile_does_not_come_back() -> None:
    gate = anyio.Event()
    model = Model([gate, facts(CELLO)])
    async with open_house(model.llm, extraction="store") as house:
        conversation = await house.new()
        await house.say(SAID, conversation)
        await model.reached.wait()
        await house.app.runs.delete_conversation(house.me, conversation)
        gate.set()
        await house.app.post_turn.finished()
        assert await kept(house, "active") == []


async def test_a_slash_command_and_an_answer_that_failed_are_not_looked_through() -> None:
    model = Model(talk=[LlmError("no")])
    async with open_house(model.llm, extraction="store") as house:
        await turn(house, "/remember I play the cello")
        await turn(house)
    assert model.asked == []


async def test_the_end_of_the_process_leaves_what_waits() -> None:
    gate = anyio.Event()
    model = Model([gate, facts(CELLO)])
    async with open_house(model.llm, extraction="store") as house:
        await house.say(SAID)
        await model.reached.wait()
    assert len(model.asked) == 1


async def test_its_cost_is_told_once() -> None:
    model = Model(facts(CELLO), facts())
    async with open_house(model.llm, extraction="store") as house:
        conversation = await turn(house)
        stored = await house.messages(conversation)
    assert [usage.job for usage in stored[-1].usage] == ["chat", "extraction"]
    assert all(isinstance(usage, Usage) for usage in stored[-1].usage)
