"""A chain of models: what is asked again, what is told, and what is never said twice."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bethink.errors import (
    ContextTooLong,
    InvalidResponse,
    LlmError,
    RateLimited,
    Refused,
    Unreachable,
)
from bethink.events import TextDelta, Warned
from bethink.llm import Delta, Finish, LlmRequest, ToolCallDelta
from bethink.llm.models import SHORT_CHARACTERS, FallbackLlm, Retries
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

pytestmark = pytest.mark.anyio

HELLO = LlmRequest("sys", (UserMessage("hello"),))


@dataclass
class Pauses:
    """A sleep that returns at once and remembers."""

    seconds: list[float] = field(default_factory=list[float])

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def chain(*models: ScriptedLlm, pauses: Pauses | None = None) -> FallbackLlm:
    retries = Retries(sleep=pauses or Pauses(), draw=lambda: 1.0)
    return FallbackLlm(models, retries=retries)


async def read(llm: FallbackLlm, into: list[Delta], request: LlmRequest = HELLO) -> None:
    async for delta in llm.stream(request):
        into.append(delta)  # noqa: PERF401 what came before an error is kept


def texts(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def warnings(deltas: list[Delta]) -> list[str]:
    return [delta.message for delta in deltas if isinstance(delta, Warned)]


async def test_a_model_that_answers_is_passed_through_unchanged() -> None:
    model = ScriptedLlm([["Hello", ScriptedCall("t", {"a": 1}), ScriptedCall("u")]], name="scripted:a")
    plain = [
        delta
        async for delta in ScriptedLlm(
            [["Hello", ScriptedCall("t", {"a": 1}), ScriptedCall("u")]], name="scripted:a"
        ).stream(HELLO)
    ]
    deltas: list[Delta] = []
    await read(chain(model), deltas)
    assert deltas == plain


async def test_calls_without_text_arrive_whole_and_in_order() -> None:
    deltas: list[Delta] = []
    await read(chain(ScriptedLlm([[ScriptedCall("t", {"a": 1}), ScriptedCall("u")]])), deltas)
    kinds = [type(delta) for delta in deltas]
    assert kinds == [ToolCallDelta, ToolCallDelta, ToolCallDelta, ToolCallDelta, Finish]
    assert [delta.index for delta in deltas if isinstance(delta, ToolCallDelta)] == [0, 0, 1, 1]


@pytest.mark.requirement("R161")
@pytest.mark.parametrize("error", [RateLimited("slow down"), Unreachable("gone"), Unreachable("500")])
async def test_a_passing_failure_is_asked_again_with_growing_pauses(error: LlmError) -> None:
    pauses = Pauses()
    deltas: list[Delta] = []
    await read(chain(ScriptedLlm([error, error, "ok"]), pauses=pauses), deltas)
    assert texts(deltas) == "ok"
    assert pauses.seconds == [0.5, 1.0]
    assert [str(error) in warning and "again" in warning for warning in warnings(deltas)] == [True, True]


@pytest.mark.requirement("R161")
async def test_the_wait_that_the_provider_asks_for_is_kept() -> None:
    pauses = Pauses()
    deltas: list[Delta] = []
    await read(chain(ScriptedLlm([RateLimited(retry_after_s=7), "ok"]), pauses=pauses), deltas)
    assert pauses.seconds == [7.5]
    assert texts(deltas) == "ok"


async def test_a_wait_that_is_too_long_goes_to_the_next_model() -> None:
    pauses = Pauses()
    deltas: list[Delta] = []
    first = ScriptedLlm([RateLimited(retry_after_s=3600)])
    await read(chain(first, ScriptedLlm(["ok"], name="scripted:b"), pauses=pauses), deltas)
    assert sum(pauses.seconds) == 0
    assert texts(deltas) == "ok"
    assert "scripted:b" in warnings(deltas)[0]
    with pytest.raises(RateLimited):
        await read(chain(ScriptedLlm([RateLimited(retry_after_s=3600)])), [])


async def test_attempts_are_bounded_and_the_last_error_is_raised() -> None:
    model = ScriptedLlm([Unreachable(str(number)) for number in range(9)])
    with pytest.raises(Unreachable, match=r"^2$"):
        await read(chain(model), [])
    assert len(model.requests) == 3


@pytest.mark.parametrize("error", [Refused("no"), Unreachable("gone")])
async def test_the_next_model_answers_and_the_finish_names_it(error: LlmError) -> None:
    deltas: list[Delta] = []
    first = ScriptedLlm([error] * 3, name="scripted:a")
    await read(chain(first, ScriptedLlm(["ok"], name="scripted:b")), deltas)
    assert texts(deltas) == "ok"
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].model == "scripted:b"
    assert warnings(deltas)[-1] == f"{error} Asking scripted:b instead."


async def test_a_refusal_is_not_asked_again() -> None:
    model = ScriptedLlm([Refused("no key"), "never"])
    with pytest.raises(Refused, match="no key"):
        await read(chain(model), [])
    assert len(model.requests) == 1


async def test_a_conversation_that_is_too_long_is_the_callers_to_trim() -> None:
    other = ScriptedLlm(["never"])
    with pytest.raises(ContextTooLong):
        await read(chain(ScriptedLlm([ContextTooLong()]), other), [])
    assert other.requests == []


LONG_TURN = LlmRequest(
    "sys",
    (
        UserMessage("old question"),
        AssistantMessage("old answer"),
        UserMessage("new question"),
        AssistantMessage("", (ToolCall("c", "search", "{}"),)),
        ToolMessage("c", "search", "x" * 50_000),
    ),
)


@pytest.mark.requirement("R161")
async def test_an_invalid_answer_is_asked_for_once_more_with_less_around_it() -> None:
    model = ScriptedLlm([InvalidResponse("garbled"), "ok"])
    deltas: list[Delta] = []
    await read(chain(model), deltas, LONG_TURN)
    assert texts(deltas) == "ok"
    assert "shortened" in warnings(deltas)[0]
    whole, short = model.requests
    assert whole == LONG_TURN
    assert short.system == "sys"
    question, asked, result = short.messages
    assert question == UserMessage("new question")
    assert isinstance(asked, AssistantMessage)
    assert isinstance(result, ToolMessage)
    assert result.call == asked.tool_calls[0].id
    assert SHORT_CHARACTERS <= len(result.content) < SHORT_CHARACTERS + 50


@pytest.mark.requirement("R161")
async def test_a_second_invalid_answer_goes_to_the_next_model_with_everything() -> None:
    first, second = ScriptedLlm([InvalidResponse("a"), InvalidResponse("b")]), ScriptedLlm(["ok"])
    deltas: list[Delta] = []
    await read(chain(first, second), deltas, LONG_TURN)
    assert texts(deltas) == "ok"
    assert second.requests == [LONG_TURN]
    with pytest.raises(InvalidResponse, match="b"):
        await read(chain(ScriptedLlm([InvalidResponse("a"), InvalidResponse("b")])), [])


async def test_half_a_tool_call_is_taken_back_and_asked_for_again() -> None:
    half = [ScriptedCall("store", '{"cont', id="half"), InvalidResponse("broke off")]
    deltas: list[Delta] = []
    await read(chain(ScriptedLlm([half, ScriptedCall("store", "{}", id="whole")])), deltas)
    assert [delta.id for delta in deltas if isinstance(delta, ToolCallDelta) and delta.id] == ["whole"]


@pytest.mark.parametrize("error", [InvalidResponse("broke"), Unreachable("gone"), RateLimited("slow")])
async def test_after_a_word_was_said_nothing_is_repeated(error: LlmError) -> None:
    first, second = ScriptedLlm([["Hal", error], "never"]), ScriptedLlm(["never"])
    deltas: list[Delta] = []
    with pytest.raises(type(error)):
        await read(chain(first, second), deltas)
    assert texts(deltas) == "Hal"
    assert (len(first.requests), len(second.requests)) == (1, 0)


async def test_a_chain_is_known_by_its_first_model_and_reached_through_any() -> None:
    down = ScriptedLlm([], name="scripted:a", context_tokens=100, unreachable="a is down.")
    up = ScriptedLlm([], name="scripted:b")
    both = chain(down, up)
    assert (both.name, both.context_tokens) == ("scripted:a", 100)
    assert await both.probe() is None
    assert await chain(down, down).probe() == "a is down. a is down."
    await both.close()
    assert down.closed
    assert up.closed


def test_a_chain_without_models_is_none() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FallbackLlm([])
