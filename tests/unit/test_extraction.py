"""Facts proposed from finished turns: in the owner's words, through the gate, in nobody's way."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence

import anyio
import pytest

from bethink.agent.completion import answer_to
from bethink.agent.request import BranchPoint, RunOptions
from bethink.conversations.service import ConversationStart
from bethink.errors import LlmError, Refused
from bethink.events import Event, RunDone, TextDelta, Usage
from bethink.llm import Delta, Finish, LlmRequest, LlmWrapper
from bethink.llm.scripted import Answer, ScriptedCall, ScriptedLlm
from bethink.memory import Fact, NewFact
from bethink.messages import UserMessage
from bethink.settings import Settings
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio

SAID = "I play the cello"


def change(fact: str, quote: str, **more: object) -> dict[str, object]:
    return {
        "do": "add",
        "turn": 1,
        "fact": fact,
        "quote": quote,
        "about": "user",
        "of": [],
        "sure": True,
    } | more


CELLO = change("The user plays the cello", SAID, category="preferences", importance=0.7, topics=["music"])


def facts(*proposed: Mapping[str, object]) -> str:
    return json.dumps({"changes": proposed})


class Model:
    """Answers talk with `talk` and a request for facts with what `found` holds, in order."""

    def __init__(self, *found: Answer, talk: Answer = "I see.", window: int = 8_192) -> None:
        self.asked: list[LlmRequest] = []
        self.reached = anyio.Event()
        self._found = list(found)
        self._talk = talk
        self.llm = ScriptedLlm(self._answer, context_tokens=window)

    def _answer(self, request: LlmRequest) -> Answer:
        if not request.system.startswith(("You read messages", "Tell again")):
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
    assert [(source.kind, source.id, source.message, source.said) for source in fact.sources] == [
        ("conversation", conversation, said.id, SAID)
    ]
    assert found == []
    assert [(ref.change, ref.ids) for ref in answered.changed] == [("suggested", (fact.id,))]
    assert [usage.job for usage in answered.usage] == ["chat", "extraction"]
    assert house.app.runs.metrics.tokens["scripted:demo", "extraction", "in"] > 0


async def test_a_fact_is_kept_at_once_where_the_setting_says_so() -> None:
    async with open_house(Model(facts(CELLO)).llm, extraction="auto") as house:
        await turn(house)
        found = await house.app.recall.search(house.me, "Who plays the cello?", kinds={"fact"})
    assert [hit.text for hit in found] == ["The user plays the cello"]


async def test_it_is_on_by_default_and_off_where_the_setting_says_so() -> None:
    assert Settings().extraction == "auto"
    model = Model(facts(CELLO))
    async with open_house(model.llm, extraction="off") as house:
        await turn(house)
        assert house.app.extraction.off is not None
    assert model.asked == []


async def test_the_name_that_the_mode_had_before_is_still_understood() -> None:
    assert Settings.model_validate({"extraction": "store"}).extraction == "auto"


async def test_what_was_said_and_answered_is_read_with_what_is_known_near_it() -> None:
    model = Model()
    async with open_house(model.llm, extraction="auto") as house:
        await house.say("/remember My sister is called Maria")
        await turn(house, "What is my sister called? I play the cello")
    (request,) = model.asked
    read = json.loads(request.messages[0].content)
    said = "What is my sister called? I play the cello"
    assert read["turns"] == [{"turn": 1, "message": said, "answer": "I see."}]
    assert read["known"] == [{"id": "k1", "fact": "My sister is called Maria"}]
    assert request.response_format is not None
    assert request.tools == ()


@pytest.mark.parametrize(
    "proposed",
    [
        change("The user lives in Berlin", "Your sister Maria lives in Berlin"),
        change("The user lives in Berlin", "I play the cello"),
        change("The user has 3 cellos", "I play the cello"),
        change("The user is a person who likes to talk", "which person likes it?"),
        change("User's sister is Maria", "Maria"),
        change("The user does not play the cello", "I play the cello"),
        change("The user plays the cello", ""),
        change("", "I play the cello"),
    ],
)
async def test_what_the_owner_did_not_say_is_left_out(proposed: Mapping[str, object]) -> None:
    model = Model(facts(proposed), talk="Your sister Maria lives in Berlin with 3 cellos.")
    async with open_house(model.llm, extraction="auto") as house:
        await turn(house, "Do I play the piano? I play the cello, which person likes it?")
        assert await kept(house, "active") == []
        assert await kept(house, "suggested") == []


@pytest.mark.parametrize(
    ("said", "quote", "fact"),
    [
        ("Ich esse kein Fleisch, also ohne Speck.", "Ich esse kein Fleisch", "Der Nutzer isst kein Fleisch"),
        (
            "Ich spiele seit drei Jahren Cello.",
            "Ich spiele seit drei Jahren Cello",
            "Der Nutzer spielt Cello",
        ),
        (
            "Meine Töchter sind Eva und Sara.",
            "Meine Töchter sind Eva und Sara",
            "Die Töchter sind Eva und Sara",
        ),
        ("Minha irmã se chama Maria.", "Minha irmã se chama Maria", "A irmã do usuário se chama Maria"),
    ],
)
async def test_what_is_said_in_plain_words_is_kept(said: str, quote: str, fact: str) -> None:
    about = fact.split()[1] if "Nutzer" not in fact else "user"
    async with open_house(Model(facts(change(fact, quote, about=about))).llm, extraction="auto") as house:
        await turn(house, said)
        assert [one.content for one in await kept(house, "active")] == [fact]


@pytest.mark.parametrize(
    ("old", "said", "quote", "fact", "is_kept"),
    [
        (
            "The user was born in 1984",
            "Sorry, I was born in 1985, not 1984.",
            "I was born in 1985",
            "The user was born in 1985",
            True,
        ),
        (
            "Der Nutzer wohnt in Köln",
            "Das war falsch: ich wohne in Bonn, nicht in Köln.",
            "ich wohne in Bonn",
            "Der Nutzer wohnt in Bonn",
            True,
        ),
        (
            "ユーザーは大阪に住んでいます",
            "大阪じゃなくて、京都に住んでいます。",
            "京都に住んでいます",
            "ユーザーは京都に住んでいます",
            True,
        ),
        (
            "Der Nutzer wohnt in Köln",
            "Ich habe nie gesagt, dass ich in Bonn wohne.",
            "ich in Bonn wohne",
            "Der Nutzer wohnt in Bonn",
            False,
        ),
        (
            "The user lives in Cologne",
            "I never lived in Cologne, he lives in Bonn.",
            "he lives in Bonn",
            "The user lives in Bonn",
            False,
        ),
        (
            "The user does not eat meat",
            "I don't eat meat, I eat fish.",
            "I eat fish",
            "The user eats fish",
            False,
        ),
    ],
)
async def test_what_says_not_the_old_but_the_new_corrects_it(
    old: str, said: str, quote: str, fact: str, *, is_kept: bool
) -> None:
    found = facts(change(fact, quote, do="correct", of=["k1"]))
    async with open_house(Model(found).llm, extraction="auto") as house:
        await house.app.memory.add(house.me, NewFact(old))
        await turn(house, said)
        now = [one.content for one in await kept(house, "active")]
        assert now == ([fact] if is_kept else [old])


@pytest.mark.parametrize("by", ["extraction", "store_memory"])
async def test_a_sister_s_allergy_is_hers_though_the_model_says_user(by: str) -> None:
    said, fact = "My sister Anna is allergic to nuts", "The user's sister Anna is allergic to nuts"
    call = ScriptedCall("store_memory", {"content": fact, "about": "user"})
    calls = iter([call] if by == "store_memory" else [])
    llm = ScriptedLlm(
        lambda asked: (
            facts(*([change(fact, said)] if by == "extraction" else []))
            if asked.system.startswith("You read messages")
            else next(calls, "I see.")
        )
    )
    async with open_house(llm, extraction="auto") as house:
        await turn(house, said)
        assert [(one.content, one.about) for one in await kept(house, "active")] == [(fact, "Anna")]


@pytest.mark.parametrize(
    "said",
    [
        "What do I answer?\n\nHi Clara, I play the cello now. Love, Jonas",
        "Hallo Clara, bald mehr. I play the cello. LG Jonas",
    ],
)
async def test_a_letter_on_one_line_is_its_writer_s(said: str) -> None:
    async with open_house(Model(facts(CELLO)).llm, extraction="auto") as house:
        await turn(house, said)
        assert [*await kept(house, "active"), *await kept(house, "suggested")] == []


async def test_what_is_not_sure_waits_for_review() -> None:
    unsure = change("The user plays the cello", "maybe I play the cello")
    guessed = change("The user likes rain", "I like rain", sure=False)
    async with open_house(Model(facts(unsure, guessed)).llm, extraction="auto") as house:
        await turn(house, "Well, maybe I play the cello. I like rain.")
        assert len(await kept(house, "suggested")) == 2
        assert await kept(house, "active") == []


@pytest.mark.requirement("R208")
async def test_what_changed_takes_the_place_of_what_was_and_can_be_taken_back() -> None:
    moved = change("The user lives in Lyon", "I moved to Lyon, I live there now", do="replace", of=["k1"])
    async with open_house(Model(facts(moved)).llm, extraction="auto") as house:
        await house.app.memory.add(house.me, NewFact("The user lives in Paris"))
        conversation = await turn(house, "I moved to Lyon, I live there now")
        assert [fact.content for fact in await kept(house, "active")] == ["The user lives in Lyon"]
        (ref,) = (await house.messages(conversation))[-1].changed
        await house.app.memory.undo(house.me, ref.undo or "")
        assert [fact.content for fact in await kept(house, "active")] == ["The user lives in Paris"]


async def test_what_does_not_concern_the_owner_s_words_is_not_replaced() -> None:
    wrong = change("The user plays the cello", SAID, do="replace", of=["k1"])
    async with open_house(Model(facts(wrong)).llm, extraction="auto") as house:
        await house.app.memory.add(house.me, NewFact("The user lives in Paris"))
        await turn(house)
        assert [fact.content for fact in await kept(house, "active")] == ["The user lives in Paris"]
        assert [fact.content for fact in await kept(house, "suggested")] == ["The user plays the cello"]


async def test_what_is_over_is_dropped_only_where_the_owner_says_so() -> None:
    said = "I no longer play the cello."
    gone = {"do": "forget", "quote": said, "fact": "", "of": ["k1"], "turn": 1}
    async with open_house(Model(facts(gone), facts(gone)).llm, extraction="auto") as house:
        await house.app.memory.add(house.me, NewFact("The user plays the cello"))
        await turn(house, "I like rain and chess.")
        assert len(await kept(house, "active")) == 1
        await turn(house, said)
        assert await kept(house, "active") == []


@pytest.mark.requirement("U1", "U2")
@pytest.mark.parametrize(
    "said", ["2+2", "tell me a joke", "start over", "hi", "thanks!", "What is the capital of Peru?"]
)
async def test_small_talk_makes_no_request(said: str) -> None:
    model = Model()
    async with open_house(model.llm, extraction="auto") as house:
        await turn(house, said)
    assert model.asked == []


async def test_what_the_owner_took_back_does_not_return_by_itself() -> None:
    model = Model(facts(CELLO), facts(CELLO))
    async with open_house(model.llm, extraction="auto") as house:
        conversation = await turn(house)
        (fact,) = await kept(house, "active")
        await house.app.memory.retract(house.me, fact.id)
        await turn(house)
        said = (await house.messages(conversation))[0].id
        run = await house.app.runs.start(house.me, BranchPoint(conversation, said, "again"), None)
        await house.events(run)
        await house.app.post_turn.finished()
        assert await kept(house, "active") == []
        assert await kept(house, "suggested") == []
    assert len(model.asked) == 2, "a message that is answered again is not read again"


async def test_turns_that_come_fast_are_one_request() -> None:
    gate = anyio.Event()
    rain = change("The user likes rain", "I like rain", turn=2)
    model = Model([gate, facts()], facts(CELLO, rain))
    async with open_house(model.llm, extraction="auto") as house:
        conversation = await house.new()
        await house.say(SAID, conversation)
        await model.reached.wait()
        await house.say("I like rain", conversation)
        await house.app.post_turn.finished()
        assert len(await kept(house, "active")) == 2
        stored = await house.messages(conversation)
    assert [len(json.loads(request.messages[0].content)["turns"]) for request in model.asked] == [1, 2]
    assert [len(message.changed) for message in stored] == [0, 1, 0, 1]


async def test_a_day_s_turns_are_bounded() -> None:
    model = Model()
    async with open_house(model.llm, extraction="auto", extraction_turns_a_day=2) as house:
        for _ in range(4):
            await turn(house)
    assert len(model.asked) == 2


async def test_a_day_s_bound_holds_over_a_restart_and_ends_with_the_day() -> None:
    model = Model()
    ports = ports_of(model.llm)
    for expected in (2, 2):
        async with open_house(ports=ports, extraction="auto", extraction_turns_a_day=2) as house:
            for _ in range(3):
                await turn(house)
        assert len(model.asked) == expected
    async with open_house(ports=ports, extraction="auto", extraction_turns_a_day=2) as house:
        house.clock.advance(86_400)
        await turn(house)
    assert len(model.asked) == 3


async def test_talk_without_memory_is_not_learnt_from() -> None:
    model = Model(facts(CELLO))
    async with open_house(model.llm, extraction="auto") as house:
        temporary = await house.app.conversations.create(house.me, ConversationStart(temporary=True))
        await house.say(SAID, temporary.id)
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, SAID, options=RunOptions(memory=False))
        await house.events(run)
        await house.app.post_turn.finished()
    assert model.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        f'<think>The user plays {{"it": [1]}}</think>{facts(CELLO)}',
        f"Here is what I found:\n```json\n{facts(CELLO)}\n```\nAnything else?",
        json.dumps([CELLO]),
        json.dumps(CELLO),
        facts(CELLO)[:-1],
        facts(CELLO, {"do": "explode"}, {"fact": 7}),
        json.dumps({"facts": [{"content": "The user plays the cello", "quote": SAID}]}),
    ],
)
async def test_answers_are_read_whatever_stands_around_them(answer: str) -> None:
    async with open_house(Model(answer).llm, extraction="auto") as house:
        await turn(house)
        assert [fact.content for fact in await kept(house, "active")] == [CELLO["fact"]]


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "A cello is a large instrument.",
        '{"changes": "cello"}',
        '{"changes": [{"fact": ""}]}',
        '{"changes": [{"fact": "User plays the cello", "importance": 7}]}',
        '{"changes": [{"fact": "User pl',
        "{" * 10_000,
        "null",
        "\x00",
    ],
)
async def test_garbage_is_harmless_has_a_model_asked_more_simply_and_ends_it_at_last(garbage: str) -> None:
    model = Model(garbage, facts(), *[garbage] * 6)
    async with open_house(model.llm, extraction="auto") as house:
        for _ in range(7):
            await turn(house)
            assert house.app.extraction.off is None
        await turn(house)
        assert "3 times in a row" in (house.app.extraction.off or "")
        await turn(house)
        assert await kept(house, "active") == []
    assert [request.response_format is None for request in model.asked] == [False] * 5 + [True] * 3


@pytest.mark.parametrize("said_again", ['{"fact": "I see."}, ', " ", f"{json.dumps(CELLO)},\n"])
async def test_an_answer_that_only_repeats_itself_is_ended(said_again: str) -> None:
    most, spoken = 20_000, [""]

    class Talker(LlmWrapper):
        async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta]:
            while len(spoken[0]) < most:
                spoken[0] += said_again
                yield TextDelta(text=said_again)

    asked = LlmRequest("", (UserMessage("Which facts are there?"),))
    answer = await answer_to(Talker(Model().llm), asked, job="extraction", prices={})
    assert len(spoken[0]) < most / 10
    assert answer.stop_reason == "length"
    assert answer.text == spoken[0] == answer.message().content


async def test_proposals_of_one_shape_do_not_repeat_themselves() -> None:
    told = facts(
        *(change(f"The user plays the {one}", SAID) for one in ("cello", "horn", "drum", "harp", "oboe"))
    )
    answer = await answer_to(
        Model(told).llm,
        LlmRequest("You read messages", (UserMessage("Which?"),)),
        job="extraction",
        prices={},
    )
    assert answer.text == told


@pytest.mark.requirement("U1")
@pytest.mark.parametrize(
    ("said", "answer", "fact"),
    [
        ("What a week. I live in Utrecht.", "The user lives in Utrecht", "The user lives in Utrecht"),
        (
            "Schöner Tag. Ich wohne in Graz. Wie spät ist es?",
            "<think>Hm, short.</think>\nDer Nutzer wohnt in Graz.<|im_end|>",
            "Der Nutzer wohnt in Graz",
        ),
    ],
)
async def test_a_model_that_writes_no_proposals_tells_sentences_again(
    said: str, answer: str, fact: str
) -> None:
    copied = facts(change("The user plays the cello", "…"))
    model = Model(copied, copied, copied, answer)
    async with open_house(model.llm, extraction="auto") as house:
        for _ in range(3):
            await turn(house)
        assert await kept(house, "active") == []
        conversation = await turn(house, said)
        (one,) = await kept(house, "active")
        assert one.content == fact
        assert (await house.messages(conversation))[-1].changed != ()
    assert len(model.asked) == 4
    assert isinstance(model.asked[-1].messages[-1], UserMessage)
    assert model.asked[-1].messages[-1].content in said


async def test_a_small_window_learns_from_single_sentences_what_has_changed_too() -> None:
    answers = ["The user lives in Utrecht", "Garbage of my own", "The user lives in Bilbao"]
    model = Model(*answers, window=2_048)
    async with open_house(model.llm, extraction="auto") as house:
        await turn(house, "I live in Utrecht.")
        await turn(house, "I like my new bicycle a lot.")
        await turn(house, "I moved, I now live in Bilbao.")
        assert [fact.content for fact in await kept(house, "active")] == ["The user lives in Bilbao"]
        assert [fact.content for fact in await kept(house, "superseded")] == ["The user lives in Utrecht"]
        await turn(house, "Please forget that I live in Bilbao.")
        assert await kept(house, "active") == []
    assert len(model.asked) == 3


async def test_what_a_small_model_tells_wrong_waits_for_review_in_the_owner_s_words() -> None:
    model = Model("The user is fond of coriander and soap", "-", window=2_048)
    async with open_house(model.llm, extraction="auto") as house:
        await turn(house, "I hate coriander a lot.")
        await turn(house, "I slept badly last night.")
        assert await kept(house, "active") == []
        assert [fact.content for fact in await kept(house, "suggested")] == ["I hate coriander a lot."]


async def test_what_is_told_is_learnt_if_the_answer_to_it_was_too_long() -> None:
    model = Model(facts(CELLO), talk=["Once upon a time", Finish("length", "demo")])
    async with open_house(model.llm, extraction="auto") as house:
        await turn(house)
        assert [fact.content for fact in await kept(house, "active")] == [CELLO["fact"]]


async def test_no_more_than_five_facts_of_a_turn_are_kept() -> None:
    said = "I like tea, rain, snow, chess, jazz, bread and salt"
    likes = [
        change(f"The user likes {word}", said) for word in ("tea", "rain", "snow", "chess", "jazz", "bread")
    ]
    async with open_house(Model(facts(*likes)).llm, extraction="auto") as house:
        await turn(house, said)
        assert len(await kept(house, "active")) == 5


async def test_a_provider_without_schemas_is_asked_plainly_from_then_on() -> None:
    refused: LlmError = Refused("response_format is not supported")
    model = Model([refused], f"```json\n{facts(CELLO)}\n```", facts())
    async with open_house(model.llm, extraction="auto") as house:
        await turn(house)
        await turn(house, "And I like rain")
        assert len(await kept(house, "active")) == 1
    assert [request.response_format is None for request in model.asked] == [False, True, True]


async def test_a_model_that_does_not_answer_is_no_garbage() -> None:
    failures: list[Answer] = [[LlmError("unreachable")] for _ in range(4)]
    async with open_house(Model(*failures, facts(CELLO)).llm, extraction="auto") as house:
        for _ in range(5):
            await turn(house)
        assert len(await kept(house, "active")) == 1


async def test_a_small_window_turns_it_off_and_health_says_why() -> None:
    llm = ScriptedLlm(["ok"], context_tokens=512)
    async with open_house(llm, extraction="suggest") as house:
        assert "too small" in (house.app.extraction.off or "")


async def test_it_gives_way_to_the_next_turn_and_comes_back() -> None:
    gate = anyio.Event()
    model = Model([gate, facts()], facts(CELLO))
    async with open_house(model.llm, extraction="auto") as house:
        conversation = await house.new()
        await house.say(SAID, conversation)
        await model.reached.wait()
        assert reason_of(await house.say("Hello", conversation)) == "answered"
        await house.app.post_turn.finished()
        assert [fact.content for fact in await kept(house, "active")] == [CELLO["fact"]]
    assert not gate.is_set()
    read = [json.loads(request.messages[0].content)["turns"] for request in model.asked]
    assert [[one["message"] for one in turns] for turns in read] == [[SAID], [SAID]]


async def test_what_is_forgotten_or_deleted_meanwhile_does_not_come_back() -> None:
    gate = anyio.Event()
    model = Model([gate, facts(CELLO)])
    async with open_house(model.llm, extraction="auto") as house:
        conversation = await house.new()
        await house.say(SAID, conversation)
        await model.reached.wait()
        await house.app.runs.delete_conversation(house.me, conversation)
        gate.set()
        await house.app.post_turn.finished()
        assert await kept(house, "active") == []


async def test_a_slash_command_and_an_answer_that_failed_are_not_looked_through() -> None:
    model = Model(talk=[LlmError("no")])
    async with open_house(model.llm, extraction="auto") as house:
        await turn(house, "/remember I play the cello")
        await turn(house)
    assert model.asked == []


async def test_what_waits_when_the_process_ends_is_learnt_by_the_next_one() -> None:
    gate = anyio.Event()
    model = Model([gate, facts()], facts(CELLO))
    ports = ports_of(model.llm)
    async with open_house(ports=ports, extraction="auto") as house:
        await house.say(SAID)
        await model.reached.wait()
    async with open_house(ports=ports, extraction="auto") as house:
        app = house.app
        await app.post_turn.resume(app.ports.store, app.accounts.on_behalf_of)
        await app.post_turn.finished()
        (fact,) = await kept(house, "active")
        await app.post_turn.resume(app.ports.store, app.accounts.on_behalf_of)
        await app.post_turn.finished()
    assert fact.sources[0].said == SAID
    assert len(model.asked) == 2


async def test_its_cost_is_told_once() -> None:
    model = Model(facts(CELLO), facts())
    async with open_house(model.llm, extraction="auto") as house:
        conversation = await turn(house)
        stored = await house.messages(conversation)
    assert [usage.job for usage in stored[-1].usage] == ["chat", "extraction"]
    assert all(isinstance(usage, Usage) for usage in stored[-1].usage)
