"""What OpenAI-compatible servers send, read as deltas: no network."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.errors import ContextTooLong, InvalidResponse, LlmError, RateLimited
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Delta, Finish, ToolCallDelta
from bethink.llm.openai_answer import Answer, Failures
from bethink.messages import ModelOrigin

FAILURES = Failures("test:model", "http://127.0.0.1:1/v1", "TEST_KEY")


def new_answer(*, max_event_bytes: int = 10_000, max_bytes: int = 100_000) -> Answer:
    numbers = itertools.count(1)
    return Answer(
        "test:model",
        origin=ModelOrigin(model="test:model 127.0.0.1:1"),
        new_id=lambda: f"made_{next(numbers)}",
        error=FAILURES.of_error_object,
        max_event_bytes=max_event_bytes,
        max_bytes=max_bytes,
    )


def event(value: object) -> bytes:
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


def chunk(finish: str | None = None, **delta: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


DONE = event(b"[DONE]")


def read(*pieces: bytes) -> list[Delta]:
    answer = new_answer()
    deltas = [delta for piece in pieces for delta in answer.feed(piece)]
    return [*deltas, *answer.end()]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def calls_of(deltas: list[Delta]) -> list[tuple[str, str, str]]:
    """(id, name, arguments) of every call, checked against the port's contract."""
    calls: dict[int, tuple[str, str, str]] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            id_, name, arguments = calls.get(delta.index, ("", "", ""))
            assert bool(delta.id) == bool(delta.name) == (delta.index not in calls)
            calls[delta.index] = (id_ or delta.id, name or delta.name, arguments + delta.arguments)
    assert list(calls) == list(range(len(calls)))
    return list(calls.values())


def origin(reasoning: str = "") -> ModelOrigin:
    return ModelOrigin(model="test:model 127.0.0.1:1", reasoning=reasoning)


def finish_of(deltas: list[Delta]) -> Finish:
    assert isinstance(deltas[-1], Finish)
    return deltas[-1]


def test_text_reasoning_usage_and_cost_are_read() -> None:
    usage = {"prompt_tokens": 7.0, "completion_tokens": 2, "total_tokens": 9, "cost": 0.25}
    extra = {"custom_content": {"state": 1}}
    came = ModelOrigin(model="test:model 127.0.0.1:1", reasoning="reasoning_content", extra=extra)
    deltas = read(
        chunk(role="assistant", content=""),
        chunk(reasoning_content="hm"),
        chunk(reasoning_content=" so"),
        chunk(content="Hel", custom_content={"state": 1}),
        chunk(content="lo"),
        chunk("stop"),
        event({"choices": [], "usage": usage}),
        DONE,
    )
    assert [delta.text for delta in deltas if isinstance(delta, ReasoningDelta)] == ["hm", " so"]
    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["Hel", "lo"]
    assert finish_of(deltas) == Finish("stop", "test:model", 7, 2, 0.25, came)


def test_without_usage_nothing_is_invented() -> None:
    finish = finish_of(read(chunk(content="a"), chunk("stop"), DONE))
    assert (finish.input_tokens, finish.output_tokens, finish.cost_usd) == (None, None, None)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("eos", "stop"),
        ("function_call", "stop"),
    ],
)
def test_finish_reasons_of_all_providers_become_ours(said: str, reason: str) -> None:
    assert finish_of(read(chunk(content="a"), chunk(said), DONE)).reason == reason


def piece(index: int | None, call: tuple[str | None, ...]) -> dict[str, object]:
    """A piece of a call: (id, name, arguments), shorter or with None for what is left out."""
    id_, name, arguments = (*call, None, None)[:3]
    function = {"name": name, "arguments": arguments}
    whole = {"index": index, "id": id_, "function": {k: v for k, v in function.items() if v is not None}}
    return {key: value for key, value in whole.items() if value is not None}


A, B = ("a", "store", '{"x": 1}'), ("b", "search", '{"y": [2]}')


@pytest.mark.requirement("R17")
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [
                piece(0, ("a", "store", "")),
                piece(0, (None, None, '{"x"')),
                piece(0, (None, None, ": 1}")),
                piece(1, ("b", "search", '{"y": ')),
                piece(1, (None, None, "[2]}")),
            ],
            id="by index",
        ),
        pytest.param(
            [
                piece(0, ("a", "store")),
                piece(1, ("b", "search")),
                piece(1, (None, None, '{"y": [2]}')),
                piece(0, (None, None, '{"x": 1}')),
            ],
            id="interleaved",
        ),
        pytest.param(
            [
                piece(0, ("a", "store", '{"x"')),
                piece(0, ("a", "store", ": 1}")),
                piece(1, ("b", "search", '{"y": ')),
                piece(1, ("b", "search", "[2]}")),
            ],
            id="id and name repeated",
        ),
        pytest.param([piece(0, A), piece(1, B)], id="whole calls"),
        pytest.param([piece(0, A), piece(0, B)], id="whole calls under one index"),
        pytest.param([piece(None, A), piece(None, B)], id="no index"),
        pytest.param(
            [
                piece(None, ("a", "store")),
                piece(None, ("a", None, '{"x": 1}')),
                piece(None, ("b", "search")),
                piece(None, (None, None, '{"y": [2]}')),
            ],
            id="no index, pieces by id or following",
        ),
        pytest.param(
            [
                piece(0, ("a",)),
                piece(0, (None, None, '{"x"')),
                piece(0, (None, "store", ": 1}")),
                piece(1, B),
            ],
            id="name after arguments",
        ),
    ],
)
@pytest.mark.parametrize("reason", ["tool_calls", "stop"])
def test_tool_calls_are_put_together_however_they_are_sent(
    pieces: list[dict[str, object]], reason: str
) -> None:
    deltas = read(*(chunk(tool_calls=[one]) for one in pieces), chunk(reason), DONE)
    assert calls_of(deltas) == [A, B]
    assert finish_of(deltas).reason == "tool_calls"
    assert calls_of(read(chunk(reason, tool_calls=pieces), DONE)) == [A, B]


def test_calls_without_ids_get_one_each() -> None:
    deltas = read(
        chunk(tool_calls=[piece(None, (None, "store", "{}")), piece(None, (None, "search", "{}"))]), DONE
    )
    assert calls_of(deltas) == [("made_1", "store", "{}"), ("made_2", "search", "{}")]


def test_arguments_may_be_an_object() -> None:
    deltas = read(
        chunk(tool_calls=[{"id": "a", "function": {"name": "store", "arguments": {"x": 1}}}]),
        chunk("tool_calls"),
        DONE,
    )
    assert calls_of(deltas) == [("a", "store", '{"x":1}')]


def test_the_deprecated_function_call_is_a_call() -> None:
    deltas = read(chunk(content="a", function_call={"name": "x", "arguments": "{}"}), chunk("stop"), DONE)
    assert [(call[1], call[2]) for call in calls_of(deltas)] == [("x", "{}")]


def test_content_may_be_null_a_list_of_parts_or_a_refusal() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "reference", "ids": [1]}, {"type": "text", "text": "b"}]
    deltas = read(chunk(content=None), chunk(content=parts), chunk(refusal="no"), chunk("stop"), DONE)
    assert text_of(deltas) == "abno"


def test_an_answer_that_is_not_streamed_is_understood() -> None:
    message = {"role": "assistant", "content": "Hi", "reasoning": "hm", "tool_calls": [piece(None, A)]}
    document = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    whole = json.dumps(document, indent=1).encode()
    deltas = read(b"  \n", whole[:10], whole[10:])
    assert text_of(deltas) == "Hi"
    assert calls_of(deltas) == [A]
    assert finish_of(deltas) == Finish("tool_calls", "test:model", 3, 4, origin=origin("reasoning"))


def test_other_choices_are_not_mixed_in() -> None:
    other = event({"choices": [{"index": 1, "delta": {"content": "other"}}]})
    assert text_of(read(chunk(content="a"), other, chunk("stop"), DONE)) == "a"


@pytest.mark.parametrize(
    "spoilt",
    [b'{"choices":[{"delta":{"content":"a\xc3"}}]}', b'{"choices":[{"delta":{"content":"a\\ud83d"}}]}'],
)
def test_a_character_cut_in_two_by_the_server_costs_only_itself(spoilt: bytes) -> None:
    assert text_of(read(event(spoilt), chunk(content=" ok 🙂"), chunk("stop"), DONE)) == "a\ufffd ok 🙂"


def test_the_end_without_a_reason_counts_when_the_server_says_done() -> None:
    assert finish_of(read(chunk(content="a"), DONE)).reason == "stop"


def test_the_reason_counts_when_the_server_never_says_done() -> None:
    assert finish_of(read(chunk(content="a"), chunk("stop"))).reason == "stop"


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        pytest.param([], "without an answer", id="nothing"),
        pytest.param([b"\n\n"], "without an answer", id="white space"),
        pytest.param([DONE], "empty", id="only done"),
        pytest.param([chunk(content=""), chunk("stop"), DONE], "empty", id="empty text"),
        pytest.param([chunk(reasoning="hm"), chunk("stop"), DONE], "empty", id="only reasoning"),
        pytest.param([chunk(content="a")], "broke off", id="closed in the middle"),
        pytest.param([chunk(tool_calls=[piece(0, ("a", "t", '{"x'))])], "broke off", id="half a call"),
        pytest.param(
            [chunk(tool_calls=[piece(0, ("a", "t", '{"x'))]), DONE], "inside the call", id="and done"
        ),
        pytest.param([chunk(tool_calls=[piece(0, ("a",))]), chunk("stop")], "inside the call", id="no name"),
        pytest.param([b"<!doctype html>"], "base URL", id="a page"),
        pytest.param([b'{"choices": ['], "not a chat completion", id="half a document"),
        pytest.param([event(b"{not json")], "not a chat completion", id="garbage"),
        pytest.param([event([1])], "not a chat completion", id="other JSON"),
        pytest.param([event({"choices": 3})], "not a chat completion", id="other shape"),
        pytest.param([b"\x00\xff\xfe garbage\n\n"], "without an answer", id="bytes"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(pieces: list[bytes], words: str) -> None:
    with pytest.raises(InvalidResponse, match=words):
        read(*pieces)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "The server had an error", "type": "server_error"}, InvalidResponse),
        ("overloaded", InvalidResponse),
        ({"message": "slow down", "code": 429}, RateLimited),
        ({"message": "too long", "code": "context_length_exceeded"}, ContextTooLong),
    ],
)
def test_an_error_inside_the_stream_is_raised_after_what_came_before_it(
    error: object, kind: type[LlmError]
) -> None:
    answer = new_answer()
    assert text_of(answer.feed(chunk(content="Hal") + event({"error": error}))) == "Hal"
    assert answer.done
    with pytest.raises(kind):
        answer.end()


def test_an_error_document_with_status_200_is_an_error() -> None:
    with pytest.raises(InvalidResponse, match="out of order"):
        read(b'{"error": {"message": "out of order"}}')


def test_an_answer_without_end_is_refused() -> None:
    answer = new_answer(max_bytes=1_000)
    answer.feed(chunk(content="x" * 500))
    with pytest.raises(InvalidResponse, match="1000 bytes"):
        answer.feed(chunk(content="x" * 500))


@settings(deadline=None)
@given(st.text(), st.lists(st.integers(0, 2_000), max_size=10))
def test_any_text_cut_anywhere_arrives_whole(text: str, cuts: list[int]) -> None:
    stream = b"".join(chunk(content=letter) for letter in text) + chunk("stop", content="!") + DONE
    places = [0, *sorted(cut % len(stream) for cut in cuts), len(stream)]
    deltas = read(*(stream[start:end] for start, end in itertools.pairwise(places)))
    assert text_of(deltas) == text + "!"


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_deltas_or_one_of_our_errors(received: bytes) -> None:
    answer = new_answer()
    try:
        answer.feed(received)
        answer.end()
    except LlmError:
        pass


@pytest.mark.parametrize(
    "state",
    ["x" * 300_000, ["y" * 1_000] * 300, {str(place): place for place in range(50_000)}],
    ids=["long", "wide", "many"],
)
def test_a_field_too_large_to_keep_is_not_kept(state: object) -> None:
    answer = new_answer(max_event_bytes=10_000_000, max_bytes=10_000_000)
    answer.feed(chunk(content="Hi", provider_state=state))
    answer.feed(chunk("stop") + DONE)
    assert finish_of(answer.end()) == Finish("stop", "test:model", origin=origin())


@pytest.mark.parametrize("depth", [40, 900, 100_000])
def test_a_field_too_deep_to_keep_costs_no_more_than_the_answer(depth: int) -> None:
    nested = b"[" * depth + b"]" * depth
    answer = new_answer(max_event_bytes=10_000_000, max_bytes=10_000_000)
    deltas = answer.feed(event(b'{"choices":[{"delta":{"content":"Hi","state":[1,%b]}}]}' % nested))
    answer.feed(chunk("stop") + DONE)
    with suppress(InvalidResponse):
        deltas += answer.end()
        assert finish_of(deltas) == Finish("stop", "test:model", origin=origin())


def test_pieces_of_a_field_are_put_together() -> None:
    first = [{"type": "reasoning.text", "text": "Keep", "index": 0}]
    second = [{"type": "reasoning.text", "text": " it.", "index": 0}, {"type": "sealed", "data": "b"}]
    deltas = read(
        chunk(content="a", reasoning_details=first, seal="ab", mark={"text": "one", "signature": "s"}),
        chunk(reasoning_details=second, seal="cd", mark={"text": " two", "signature": "s"}),
        chunk("stop"),
        DONE,
    )
    came = finish_of(deltas).origin
    assert came is not None
    assert came.extra == {
        "reasoning_details": [
            {"type": "reasoning.text", "text": "Keep it.", "index": 0},
            {"type": "sealed", "data": "b"},
        ],
        "seal": "abcd",
        "mark": {"text": "one two", "signature": "s"},
    }
