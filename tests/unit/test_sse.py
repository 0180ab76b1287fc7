"""Server-sent events from bytes cut anywhere."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.errors import InvalidResponse
from bethink.llm.openai_answer import SseParser


def events_of(stream: bytes, cuts: list[int]) -> list[bytes]:
    """The events of a stream that arrives cut at these places."""
    parser = SseParser()
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(places)]
    return [event for piece in pieces for event in parser.feed(piece)]


def reference(stream: bytes) -> list[bytes]:
    """The standard's algorithm, word for word, on the whole stream."""
    lines = re.split(rb"\r\n|\n|\r", stream.removeprefix(b"\xef\xbb\xbf"))[:-1]
    events: list[bytes] = []
    data = b""
    for line in lines:
        field, colon, value = line.partition(b":")
        if not line:
            if data:
                events.append(data[:-1])
            data = b""
        elif field == b"data":
            data += (value.removeprefix(b" ") if colon else b"") + b"\n"
    return events


fragments = st.sampled_from(
    [
        *(b"data: ", b"data:", b"data", b"event: x", b"id", b": comment", b"\r", b"\n", b"\r\n", b"\n\n"),
        *(b"\r\r", b'{"a":1}', "né🙂".encode(), b" ", b":", b"\xef\xbb\xbf", b"\x00", b"[DONE]"),
    ]
)


@settings(deadline=None)
@given(st.lists(fragments, max_size=30).map(b"".join), st.lists(st.integers(0, 500), max_size=12))
def test_any_stream_cut_anywhere_reads_as_the_standard_says(stream: bytes, cuts: list[int]) -> None:
    assert events_of(stream, cuts) == reference(stream)


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))))
def test_every_byte_alone_gives_back_what_was_sent(texts: list[str]) -> None:
    stream = b"".join(b"data: %s\r\n\r\n" % text.encode() for text in texts)
    assert events_of(stream, list(range(len(stream)))) == [text.encode() for text in texts]


def test_lines_of_one_event_are_joined() -> None:
    assert SseParser().feed(b"data: a\ndata: b\n\n") == [b"a\nb"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_is_understood(end: bytes) -> None:
    assert SseParser().feed(b"data: a" + end + end + b"data: b" + end + end) == [b"a", b"b"]


def test_comments_and_other_fields_are_passed_over() -> None:
    assert SseParser().feed(b": ping\nevent: message\nid: 7\nretry: 5\ndata: a\n\n: ping\n\n") == [b"a"]


def test_an_unfinished_event_is_held_back() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\n") == []
    assert parser.feed(b"\n") == [b"a"]


@pytest.mark.parametrize("piece", [b"x" * 60, b"data: " + b"x" * 60 + b"\n"])
def test_an_event_without_end_is_refused_before_it_fills_the_memory(piece: bytes) -> None:
    parser = SseParser(max_event_bytes=100)
    parser.feed(piece)
    with pytest.raises(InvalidResponse, match="100 bytes"):
        parser.feed(piece)


def test_many_small_events_are_no_large_one() -> None:
    parser = SseParser(max_event_bytes=100)
    assert len(parser.feed(b"data: abc\n\n" * 1000)) == 1000
