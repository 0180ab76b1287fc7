"""What deltas add up to, and what a run has spent."""

from __future__ import annotations

from itertools import pairwise
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.agent.completion import ModelAnswer
from bethink.agent.request import RunBounds, Spent
from bethink.errors import InvalidResponse
from bethink.events import ReasoningDelta, TextDelta, Usage, Warned
from bethink.llm import Delta, Finish, ToolCallDelta
from bethink.messages import AssistantMessage, ToolCall, UserMessage

STOP = Finish("stop", "openai:gpt-4o", input_tokens=1_000, output_tokens=200)


def answer_of(*deltas: Delta, prices: dict[str, tuple[float, float]] | None = None) -> ModelAnswer:
    answer = ModelAnswer(job="chat", prices=prices or {})
    for delta in deltas:
        answer.take(delta)
    return answer


@pytest.mark.requirement("R17")
@given(st.data())
def test_pieces_of_several_calls_are_put_together_however_they_are_cut(data: st.DataObject) -> None:
    calls = (
        ToolCall("a", "store_memory", '{"content": "Été"}'),
        ToolCall("b", "search_memory", '{"query": ""}'),
    )
    pieces: list[list[str]] = []
    for call in calls:
        cuts = sorted(data.draw(st.sets(st.integers(1, len(call.arguments) - 1), max_size=6)))
        bounds = [0, *cuts, len(call.arguments)]
        pieces.append([call.arguments[start:end] for start, end in pairwise(bounds)])
    answer = answer_of(*(ToolCallDelta(index, call.id, call.name) for index, call in enumerate(calls)))
    while any(pieces):
        index = data.draw(st.sampled_from([index for index in (0, 1) if pieces[index]]))
        answer.take(ToolCallDelta(index, arguments=pieces[index].pop(0)))
    answer.take(STOP)
    assert answer.message().tool_calls == calls


@pytest.mark.requirement("R17")
def test_text_reasoning_and_calls_become_one_message() -> None:
    answer = answer_of(
        ReasoningDelta(text="Paris? "),
        ReasoningDelta(text="Yes."),
        TextDelta(text="You live "),
        ToolCallDelta(1, "late", "b", "{}"),
        ToolCallDelta(0, "early", "a"),
        TextDelta(text="in Paris."),
        ToolCallDelta(0, arguments='{"x"'),
        ToolCallDelta(0, arguments=": 1}"),
        STOP,
    )
    assert answer.message() == AssistantMessage(
        "You live in Paris.", (ToolCall("early", "a", '{"x": 1}'), ToolCall("late", "b", "{}")), "Paris? Yes."
    )


def test_a_reader_sees_text_reasoning_and_warnings_and_no_pieces_of_calls() -> None:
    answer = ModelAnswer(job="chat", prices={})
    seen = [
        answer.take(delta)
        for delta in (
            TextDelta(text="a"),
            ReasoningDelta(text="b"),
            Warned(part="model", message="c"),
            ToolCallDelta(0, "d", "e"),
            STOP,
        )
    ]
    assert seen == [
        TextDelta(text="a"),
        ReasoningDelta(text="b"),
        Warned(part="model", message="c"),
        None,
        None,
    ]


def test_an_answer_without_its_end_is_no_message() -> None:
    with pytest.raises(InvalidResponse, match="broke off"):
        answer_of(TextDelta(text="You li")).message()


@pytest.mark.parametrize(
    ("delta", "begun"),
    [
        (STOP, False),
        (TextDelta(text="a"), True),
        (ReasoningDelta(text="a"), True),
        (ToolCallDelta(0, "a"), True),
    ],
)
def test_an_answer_has_begun_with_its_first_content(delta: Delta, begun: bool) -> None:  # noqa: FBT001 - a parameter
    assert answer_of(delta).has_begun is begun


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "answered"),
        ("tool_calls", "answered"),
        ("length", "length"),
        ("content_filter", "content_filter"),
    ],
)
def test_the_model_s_own_end_is_told(finish: str, reason: str) -> None:
    answer = answer_of(Finish(finish, "m"))  # pyright: ignore[reportArgumentType] - of the four above
    assert answer.stop_reason == reason


@pytest.mark.requirement("R146")
def test_usage_is_what_the_provider_counted_at_the_owner_s_price() -> None:
    answer = answer_of(STOP, prices={"openai:gpt-4o": (2.5, 10.0)})
    assert answer.usage([]) == Usage(
        job="chat", model="openai:gpt-4o", input_tokens=1_000, output_tokens=200, cost_usd=0.0045
    )
    assert answer_of(STOP).usage([]).cost_usd is None


def test_the_provider_s_own_cost_beats_the_table() -> None:
    finish = Finish("stop", "m", input_tokens=1, output_tokens=1, cost_usd=0.5)
    assert answer_of(finish, prices={"m": (1e6, 1e6)}).usage([]).cost_usd == 0.5


def test_usage_is_estimated_where_the_provider_does_not_count() -> None:
    usage = answer_of(TextDelta(text="a" * 350), Finish("stop", "m")).usage([UserMessage("b" * 700)])
    assert usage.estimated
    assert (usage.input_tokens, usage.output_tokens) == (208, 108)


BOUNDS = RunBounds(steps=3, tool_calls=4, tokens=5_000, cost_usd=0.01, seconds=60, repeated_calls=3)


@pytest.mark.requirement("C8")
@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([answer_of(STOP)] * 2, None),
        ([answer_of(STOP)] * 3, "max_steps"),
        ([answer_of(*(ToolCallDelta(n, str(n), "a", str(n)) for n in range(4)), STOP)], "max_tool_calls"),
        ([answer_of(Finish("stop", "m", input_tokens=4_000, output_tokens=1_000))], "max_tokens"),
        ([answer_of(Finish("stop", "m", input_tokens=1, output_tokens=1, cost_usd=0.01))], "max_cost"),
        ([answer_of(*(ToolCallDelta(n, str(n), "a", "{}") for n in range(3)), STOP)], "repeated_calls"),
        ([answer_of(*(ToolCallDelta(n, str(n), "a", str(n)) for n in range(3)), STOP)], None),
    ],
)
def test_a_run_ends_at_the_first_bound_that_it_reaches(
    answers: list[ModelAnswer], reason: str | None
) -> None:
    spent = Spent(started=monotonic())
    for answer in answers:
        spent.add(answer.calls, answer.usage([]))
    assert spent.exceeded(BOUNDS) == reason


@pytest.mark.requirement("C8")
def test_a_run_ends_when_its_time_is_over() -> None:
    assert Spent(started=monotonic() - 61).exceeded(BOUNDS) == "max_seconds"
