"""What is found in a page's text. `lines` finds it; `format` hands it on.

Places are offsets into the text, by characters; lines count from 1.
"""

from __future__ import annotations

import msgspec

Span = tuple[int, int]
"""Start and end of a part of a text, in characters."""


class Heading(msgspec.Struct, frozen=True, gc=False):
    """A heading: `level` 1 to 6, `line` from 1, `span` its line or lines without the last ending."""

    level: int
    title: str
    line: int
    span: Span


class FactLine(msgspec.Struct, frozen=True, gc=False):
    """An item `- name: value`, with the `id` of its `^id` where it has one.

    `span` is the line without its ending; `value_span` the value alone, without
    the `^id` and the white space around it, empty where there is none yet.
    `indent` counts the characters before the item's mark; `line` is from 1.
    """

    name: str
    value: str
    id: str | None
    line: int
    span: Span
    name_span: Span
    value_span: Span
    indent: int


class Table(msgspec.Struct, frozen=True, gc=False):
    """A table: the names of its columns, the line of its header from 1, and the places of its rows' cells.

    Cells are without the white space around them; a row may have fewer or more than there are columns.
    """

    columns: tuple[str, ...]
    line: int
    span: Span
    rows: tuple[tuple[Span, ...], ...]


class Lines(msgspec.Struct, frozen=True, gc=False):
    """What `scan` found.

    `plain` is as long as `text`; comments are blank in it, and every line ends
    in one line feed. `starts` are the offsets of the lines; `body` is where the
    text behind the front matter begins, `front` the front matter without its
    fences. `chunks` are the parts that hold running text, `code` those that are
    blocks of code; both in order.
    """

    text: str
    plain: str
    starts: list[int]
    body: int
    front: Span | None
    headings: list[Heading]
    facts: list[FactLine]
    tables: list[Table]
    chunks: list[Span]
    code: list[Span]
