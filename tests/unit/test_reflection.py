"""Memory put in order as a whole: a model judges, code decides, and all of it is one step back."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace

import anyio
import anyio.lowlevel
import msgspec
import pytest

from bethink.errors import Conflict, LlmError, UnknownId
from bethink.llm import Delta, LlmRequest
from bethink.llm.scripted import Answer, ScriptedLlm
from bethink.memory import Fact, NewFact
from bethink.memory.batch import BatchEdit
from bethink.memory.facts import digest, weight
from bethink.reflection.records import REFLECTIONS, ProfileSentence, Reflection
from bethink.reflection.service import ReflectionPlan, Reflections
from bethink.store import Scan, records_of
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

DAY_S = 86_400
NURSE = "The user works as a nurse in Linz"
PARAPHRASED = "The user has a job as a nurse in Linz"
TEA = "The user likes tea with milk"
KNOWN = {
    frozenset(("The user works as a nurse", "The user is employed as a nurse")),
    frozenset(("The user enjoys going for a swim", "The user likes to go swimming")),
    frozenset(("The user owns a bicycle", "A bicycle belongs to the user")),
}
"""What every model that is to be believed takes for the same."""


class Model:
    """Judges pairs by `verdicts`, knows the known ones unless it is `silly`, and writes `profile`."""

    def __init__(
        self,
        verdicts: Mapping[frozenset[str], str] | None = None,
        profile: Callable[[dict[str, str]], object] | None = None,
        *,
        silly: str = "",
        talk: Answer = "I see.",
    ) -> None:
        usual = {frozenset[str]((NURSE, PARAPHRASED)): "same"}
        self.verdicts = usual if verdicts is None else verdicts
        self.profile = profile
        self.silly = silly
        self.talk = talk
        self.asked: list[LlmRequest] = []
        self.llm = ScriptedLlm(self.answer)

    def answer(self, request: LlmRequest) -> Answer:
        if request.system.startswith("You compare notes"):
            self.asked.append(request)
            return self._judged(json.loads(request.messages[-1].content)["pairs"])
        if request.system.startswith("You write a short profile"):
            self.asked.append(request)
            notes = json.loads(request.messages[-1].content)["notes"]
            labels = {one["note"]: one["id"] for one in notes}
            return json.dumps(self.profile(labels) if self.profile else {"sentences": [], "insights": []})
        return self.talk

    def _judged(self, pairs: Sequence[Mapping[str, str]]) -> str:
        if self.silly:
            return json.dumps({"pairs": [{"pair": one["pair"], "is": self.silly} for one in pairs]})
        said = [
            (
                one["pair"],
                "same"
                if (both := frozenset((one["a"], one["b"]))) in KNOWN
                else self.verdicts.get(both, "different"),
            )
            for one in pairs
        ]
        return (
            "Well:\n```json\n"
            + json.dumps({"pairs": [{"pair": place, "is": word} for place, word in said]})
            + "```"
        )


def told(
    *texts: tuple[str, Sequence[str]], insights: Sequence[tuple[str, Sequence[str]]] = ()
) -> Callable[[dict[str, str]], object]:
    """A profile with these sentences, each with the facts that it names."""

    def written(labels: dict[str, str]) -> object:
        def entries(some: Sequence[tuple[str, Sequence[str]]]) -> list[object]:
            return [{"text": text, "from": [labels.get(one, "n99") for one in named]} for text, named in some]

        return {"sentences": entries(texts), "insights": entries(insights)}

    return written


async def remember(house: House, *contents: str) -> list[Fact]:
    return [(await house.app.memory.add(house.me, NewFact(one))).fact for one in contents]


async def reflect(house: House) -> Reflection:
    return await house.app.reflection.run(house.me.owner, asked=True)


async def contents(house: House, state: str = "active") -> list[str]:
    page = await house.app.memory.list(house.me, where={"state": state})
    return sorted(item.record.content for item in page.items)


def service(house: House) -> Reflections:
    return house.app.features.of(Reflections)


def _fact(content: str, place: int) -> Fact:
    return Fact(
        id=f"0193a000-0000-7000-8000-00000000000{place}",
        content=content,
        digest=digest(content),
        weight=weight(0.5, pinned=False),
        created_at=1_700_000_000_000_000 + place,
    )


async def stored(house: House) -> dict[str, dict[str, object]]:
    """All facts as they are, but for what tells of their own past."""
    found = [fact async for page in house.app.memory.pages(house.me) for fact in page]
    return {fact.id: {**msgspec.to_builtins(fact), "before": None} for fact in found}


@pytest.mark.requirement("C9")
async def test_paraphrases_become_one_fact_with_the_sources_of_both_and_undo_parts_them_again() -> None:
    model = Model()
    async with open_house(model.llm) as house:
        kept, gone, *_ = await remember(
            house, NURSE, PARAPHRASED, TEA, "The user has a cat called Miau", "The user plays chess"
        )
        before = await stored(house)
        done = await reflect(house)
        assert [(one.kept, one.gone, one.by_model) for one in done.merges] == [(kept.id, gone.id, True)]
        assert await contents(house, "merged") == [PARAPHRASED]
        (now,) = await house.app.memory.get(house.me, [kept.id])
        assert now is not None
        assert len(now.sources) == 2
        assert now.sources[1].said == PARAPHRASED
        back = await service(house).undo(house.me, done.id)
        assert back.status == "undone"
        assert await stored(house) == before
        # What was taken back is not done again.
        assert (await reflect(house)).merges == ()


@pytest.mark.parametrize(
    ("one", "other", "left"),
    [
        ("The user was at the school with Anna", "The user was with Bruna at the school", 2),
        ("The user sees the dentist on 3 May", "The user goes to the dentist on 4 May", 2),
        ("Ich esse zu Hause gern Fisch", "Zu Hause esse ich nicht gern Fisch", 2),
        ("The user's wine comes from Graz", "The user gets wine from Graz, 12 bottles", 1),
    ],
)
async def test_no_number_name_or_denial_is_lost_whatever_the_model_says(
    one: str, other: str, left: int
) -> None:
    async with open_house(Model({frozenset((one, other)): "same"}).llm) as house:
        facts = await remember(house, one, other, TEA)
        assert len({fact.id for fact in facts}) == 3
        done = await reflect(house)
        assert len(await contents(house)) == left + 1
        assert other in await contents(house)
    assert (len(done.merges), done.refused.merges) == ((0, 1) if left == 2 else (1, 0))


@pytest.mark.parametrize("silly", ["same", "different", "contradicts"])
async def test_a_model_that_is_wrong_about_known_pairs_changes_nothing(silly: str) -> None:
    model = Model(silly=silly, profile=told((NURSE, [NURSE])))
    async with open_house(model.llm) as house:
        await remember(house, NURSE, PARAPHRASED, TEA)
        done = await reflect(house)
        assert await contents(house) == sorted((NURSE, PARAPHRASED, TEA))
    assert (done.merges, done.contradictions, done.profile) == ((), (), ())
    assert done.refused.answers >= 1
    assert "wrong about pairs whose answer is known" in done.note


async def test_contradictions_are_noted_on_both_and_lifted_by_undo() -> None:
    one, other = "The user drinks coffee each morning", "The user drinks no coffee in the morning"
    async with open_house(Model({frozenset((one, other)): "contradicts"}).llm) as house:
        facts = await remember(house, one, other)
        if any(fact.doubts for fact in facts):
            pytest.fail("the gate sees it by itself: take other words")
        before = await stored(house)
        done = await reflect(house)
        assert done.contradictions == ((facts[0].id, facts[1].id),)
        page = await house.app.memory.list(house.me, where={"doubted": 1})
        assert len(page.items) == 2
        await service(house).undo(house.me, done.id)
        assert await stored(house) == before


@pytest.mark.requirement("R208")
async def test_a_profile_has_a_source_for_each_sentence_and_insights_wait_for_review() -> None:
    cat, cottage, cabin = (
        "The user has a cat called Miau",
        "The user spent June in a quiet cottage in Tyrol",
        "The user rents a quiet cabin each October",
    )
    profile = told(
        ("You work as a nurse in Linz and have a cat called Miau.", [NURSE, cat]),
        ("You live in Vienna.", [NURSE]),
        ("You are a nurse in Linz.", []),
        ("You like to travel the world.", [cat]),
        ("You are a nurse.", ["unknown"]),
        insights=[
            ("The user prefers a quiet cottage or cabin", [cottage, cabin]),
            ("The user rents a quiet cabin each October", [cottage, cabin]),
            ("The user prefers quiet places", [cabin]),
            ("The user is a lonely person", [cottage, cabin]),
        ],
    )
    async with open_house(Model({}, profile).llm) as house:
        facts = await remember(house, NURSE, cat, cottage, cabin)
        done = await reflect(house)
        assert [(one.text, one.facts) for one in done.profile] == [
            ("You work as a nurse in Linz and have a cat called Miau.", (facts[0].id, facts[1].id))
        ]
        assert (done.refused.sentences, done.refused.insights) == (4, 2)
        assert await contents(house, "suggested") == ["The user prefers a quiet cottage or cabin"]
        assert await house.app.recall.search(house.me, "cottage or cabin", kinds={"fact"}, k=1) != []
        (id,) = done.insights
        (insight,) = await house.app.memory.get(house.me, [id])
        assert insight is not None
        assert insight.depends_on == (facts[2].id, facts[3].id)
        accepted = await house.app.memory.accept(house.me, id)
        assert accepted.fact.state == "active"


async def test_a_sentence_goes_with_its_fact_and_forgotten_words_are_nowhere() -> None:
    cat = "The user has a cat called Miau"
    profile = told(("You work as a nurse in Linz.", [NURSE]), ("Your cat is called Miau.", [cat]))
    model = Model({}, profile)
    async with open_house(model.llm) as house:
        facts = await remember(house, NURSE, cat, TEA)
        await reflect(house)
        await house.app.memory.edit(
            house.me, facts[0].id, NewFact("The user works as a baker in Graz"), wrong=True
        )
        found = await service(house).profile(house.me)
        assert found is not None
        assert ([one.text for one in found.sentences], found.lost) == (["Your cat is called Miau."], 1)
        await house.app.forgetting.forget(house.me, [facts[1].id])
        kept = [one async for one in records_of(house.app.ports.store, house.me.owner, Scan(REFLECTIONS))]
        assert "Miau" not in str(kept)
        # Written again by itself, by day too: its source is gone.
        model.profile = told(("You work as a baker in Graz.", ["The user works as a baker in Graz"]))
        await remember(house, "The user sings in a choir")
        house.clock.advance(3600)
        await house.app.reflection.do_due()
        again = await service(house).profile(house.me)
    assert again is not None
    assert [one.text for one in again.sentences] == ["You work as a baker in Graz."]


async def test_what_is_forgotten_while_the_model_writes_is_not_kept() -> None:
    cat = "The user has a cat called Miau"
    async with open_house(Model({}, told(("Your cat is called Miau.", [cat]))).llm) as house:
        _, fact, _ = await remember(house, NURSE, cat, TEA)
        view = await service(house).view(house.me)
        await house.app.forgetting.forget(house.me, [fact.id])
        plan = ReflectionPlan(
            view, profile=[ProfileSentence(text="Your cat is called Miau.", facts=(fact.id,))]
        )
        plan.read = {fact.id}
        with pytest.raises(Conflict):
            await service(house).keep(plan)
        assert (await service(house).list(house.me)).items == ()


async def test_what_was_changed_since_it_was_looked_at_is_left_alone() -> None:
    async with open_house(Model({}).llm) as house:
        facts = await remember(house, NURSE, PARAPHRASED, TEA)
        view = await service(house).view(house.me)
        plan = ReflectionPlan(view, profile=[ProfileSentence(text="A nurse.", facts=(facts[0].id,))])
        plan.read = {facts[0].id}
        plan.judged(view.pairs.open[0], "same")
        await house.app.memory.edit(house.me, facts[0].id, NewFact("The user works as a nurse in Wels"))
        done = await service(house).keep(plan)
    assert (done.merges, done.profile) == ((), ())


async def test_without_a_model_the_part_that_needs_none_is_done() -> None:
    async with open_house(None) as house:
        old = _fact("The user's favourite colour is blue", 1)
        same = _fact("The user's favorite color is blue.", 2)
        await house.app.memory.restore_many(house.me, [old, same], source="x")
        done = await reflect(house)
        assert len(done.merges) == 1
        assert done.model == ""
        assert "No model" in done.note
        assert len(await contents(house)) == 1


async def test_what_nobody_needed_for_long_fades_and_comes_back() -> None:
    async with open_house(None) as house:
        facts = await remember(house, TEA, NURSE)
        await house.app.memory.edit_many(house.me, [facts[1].id], BatchEdit(pinned=True))
        house.clock.advance(200 * DAY_S)
        done = await reflect(house)
        assert done.faded == {facts[0].id: 1.0}
        assert await house.app.memory.fading.of(house.me.owner) == {facts[0].id: 0.5}
        (kind,) = [one for one in house.app.recall.kinds.values() if one.name == "fact"][:1]
        (shown,) = await kind.resolve(house.me, [facts[0].id])
        assert shown is not None
        assert shown.importance == facts[0].importance / 2
        assert await contents(house) == sorted((TEA, NURSE))
        await service(house).undo(house.me, done.id)
        assert await house.app.memory.fading.of(house.me.owner) == {}


async def test_a_proposal_waits_for_its_owner() -> None:
    async with open_house(Model().llm, reflection="suggest") as house:
        await remember(house, NURSE, PARAPHRASED, TEA)
        done = await reflect(house)
        assert done.status == "proposed"
        assert len(await contents(house)) == 3
        applied = await service(house).apply(house.me, done.id)
        assert (applied.status, len(applied.merges)) == ("done", 1)
        assert len(await contents(house)) == 2
        with pytest.raises(UnknownId):
            await service(house).apply(house.me, done.id)
        await house.app.memory.undo(house.me, done.undo or "")
        assert len(await contents(house)) == 3
        assert [one.record.status for one in (await service(house).list(house.me)).items] == ["undone"]


async def test_it_is_done_once_a_night_if_something_changed() -> None:
    model = Model()
    async with open_house(model.llm, reflection_hour=3) as house:
        at_three = 27 * 3600 - house.clock.now_us() // 1_000_000 % 86_400
        house.clock.advance(at_three - 7200)
        await remember(house, NURSE, PARAPHRASED, TEA)
        await house.app.reflection.do_due()
        assert (await service(house).list(house.me)).items == ()
        house.clock.advance(7260)
        await house.app.reflection.do_due()
        await house.app.reflection.do_due()
        assert len((await service(house).list(house.me)).items) == 1
        house.clock.advance(DAY_S)
        await house.app.reflection.do_due()
        assert len((await service(house).list(house.me)).items) == 1
        await remember(house, "The user plays chess")
        await house.app.reflection.do_due()
        assert len((await service(house).list(house.me)).items) == 2


async def test_off_does_nothing_at_night() -> None:
    async with open_house(Model().llm, reflection="off") as house:
        await remember(house, NURSE, PARAPHRASED)
        house.clock.advance(3 * DAY_S)
        await house.app.reflection.do_due()
        assert (await service(house).list(house.me)).items == ()


async def test_the_tokens_of_one_time_are_bounded() -> None:
    model = Model()
    async with open_house(model.llm, reflection_tokens=500) as house:
        await remember(house, NURSE, PARAPHRASED, TEA)
        done = await reflect(house)
    assert model.asked == []
    assert (done.tokens, done.waiting) == (0, 1)
    assert "used up" in done.note


async def test_a_model_that_does_not_answer_keeps_the_rest_from_nothing() -> None:
    def failing(request: LlmRequest) -> Answer:
        if request.system.startswith("You compare"):
            raise LlmError("It is away.")
        return "I see."

    async with open_house(ScriptedLlm(failing)) as house:
        await remember(house, NURSE, PARAPHRASED, TEA)
        done = await reflect(house)
    assert done.note == "The model did not answer: It is away."


async def test_it_stops_while_its_owner_is_answered_and_goes_on_behind_that() -> None:
    reached, model = anyio.Event(), Model()
    judged, count = model.llm, 0

    class Hanging:
        """The first request hangs until it is cancelled."""

        def __getattr__(self, name: str) -> object:
            return getattr(judged, name)

        async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
            nonlocal count
            if request.system.startswith("You compare"):
                count += 1
                reached.set()
                if count == 1:
                    await anyio.sleep_forever()
            async for delta in judged.stream(request):
                yield delta

    async with open_house(Hanging()) as house, anyio.create_task_group() as tasks:  # pyright: ignore[reportArgumentType] - the rest is the model's
        await remember(house, NURSE, PARAPHRASED, TEA)
        tasks.start_soon(reflect, house)
        await reached.wait()
        await house.say("Hello")
        while house.app.reflection.running:
            await anyio.lowlevel.checkpoint()
        assert len(await contents(house, "merged")) == 1
    assert count == 3


async def test_nobody_elses_facts_are_looked_at() -> None:
    model = Model()
    async with open_house(model.llm) as house:
        other = replace(house.me, owner="other")
        await house.app.memory.add(other, NewFact(NURSE))
        await house.app.memory.add(other, NewFact(PARAPHRASED))
        await remember(house, TEA)
        done = await reflect(house)
        assert done.facts == 1
        assert model.asked == []
        assert await house.app.memory.count(other, {"state": "active"}) == 2


async def test_receipts_and_profile_are_exported_and_come_back() -> None:
    model = Model(profile=told(("You work as a nurse in Linz.", [NURSE])))
    async with open_house(model.llm) as house:
        await remember(house, NURSE, PARAPHRASED, TEA, "The user plays chess")
        done = await reflect(house)
        form = house.app.features.documents["reflection"]
        (lines,) = [page async for page in form.export(house.me.owner)]
    async with open_house(None) as house:
        (parsed,) = [
            form.parse({name: value for name, value in line.items() if name != "kind"}) for line in lines
        ]
        form = house.app.features.documents["reflection"]
        assert await form.restore(house.me.owner, [parsed], False) == ["said"]
        assert await form.restore(house.me.owner, [parsed], False) == ["known"]
        (back,) = [one.record for one in (await service(house).list(house.me)).items]
    assert [one.text for one in back.profile] == [one.text for one in done.profile]
    assert done.profile != ()
    assert back.undo is None
