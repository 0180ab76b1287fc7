"""Ruled tables of a page of a PDF, by the lines that PDFium draws. `pdf` asks.

Lines that cross make a table: each of them parts rows or columns. What no line parts is one cell, whose text
stands in the first of its places.
"""

from __future__ import annotations

import ctypes
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from bethink.documents.reading.tables import as_markdown

Box = tuple[float, float, float, float]
"""Left, bottom, right and top in points, counted from the page's lower left."""
_Point = tuple[float, float]

_FEWEST_PATHS, _MOST_PATHS = 3, 5_000
"""A ruled table has a few lines; what has thousands is a drawing."""
_MOST_SEGMENTS: Final = 40
"""Of a path; more are a picture, too."""
_MOST_RULES: Final = 2_000
_MOST_TABLES: Final = 20
_MOST_CELLS: Final = 20_000
_FEWEST: Final = 2
"""Rows and columns of a table: less is a frame."""
_NEAR: Final = 3.0
"""Points: lines so near to each other are one, and lines that end so near to another touch it."""
_STRAIGHT: Final = 1.0
_INSET: Final = 1.5
"""Letters reach over the lines of their own cell; so far inside, only its own do."""
_BROKEN_WORD: Final = re.compile("[\x02\ufffe]\r?\n")


class _Rule(NamedTuple):
    """A line along an axis: where it lies on the other one, and from where to where it goes."""

    at: float
    begin: float
    end: float


def ruled_tables(page: Any, textpage: Any) -> list[tuple[Box, str]]:  # noqa: ANN401 - they have no types
    """The tables of a page as Markdown, and where they stand."""
    turn = page.get_rotation() // 90
    across, down = _rules(page, turn)
    if len(across) + len(down) > _MOST_RULES:
        return []

    def text_in(*box: float) -> str:
        left, bottom, right, top = _turned_back(box, turn)
        inset = min(_INSET, (right - left) / 4, (top - bottom) / 4)
        text = textpage.get_text_bounded(left + inset, bottom + inset, right - inset, top - inset)
        return _BROKEN_WORD.sub("", text).replace("\r\n", "\n").strip()

    found: list[tuple[Box, str]] = []
    for rows, columns in _grids(across, down):
        ys = sorted({rule.at for rule in rows}, reverse=True)
        xs = sorted({rule.at for rule in columns})
        if min(len(ys), len(xs)) <= _FEWEST or len(ys) * len(xs) > _MOST_CELLS:
            continue
        cells = _cells(ys, xs, rows=rows, columns=columns, text_in=text_in)
        if any(cell for row in cells for cell in row):
            found.append((_turned_back((xs[0], ys[-1], xs[-1], ys[0]), turn), as_markdown(cells)))
        if len(found) == _MOST_TABLES:
            break
    return found


# --- lines


def _rules(page: Any, turn: int) -> tuple[list[_Rule], list[_Rule]]:  # noqa: ANN401 - it has no types
    """Lines across and down the page as it is shown, each once."""
    from pypdfium2 import raw

    paths = [*islice(page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH]), _MOST_PATHS + 1)]
    if not _FEWEST_PATHS <= len(paths) <= _MOST_PATHS:
        return [], []
    across: list[_Rule] = []
    down: list[_Rule] = []
    for path in paths:
        for one, other in _lines(path, raw):
            (x, y), (x2, y2) = sorted((_turned(one, turn), _turned(other, turn)))
            if abs(y2 - y) <= _STRAIGHT and x2 - x >= _NEAR:
                across.append(_Rule((y + y2) / 2, x, x2))
            elif x2 - x <= _STRAIGHT and abs(y2 - y) >= _NEAR:
                down.append(_Rule((x + x2) / 2, min(y, y2), max(y, y2)))
        if len(across) + len(down) > 4 * _MOST_RULES:  # of a table, most are drawn twice
            return [], []
    return _joined(across), _joined(down)


def _lines(path: Any, raw: Any) -> Iterator[tuple[_Point, _Point]]:  # noqa: ANN401 - the same
    """The straight lines of a path, on the page."""
    count = raw.FPDFPath_CountSegments(path.raw)
    if count > _MOST_SEGMENTS:
        return
    x, y = ctypes.c_float(), ctypes.c_float()
    begin = last = (0.0, 0.0)
    for number in range(count):
        segment = raw.FPDFPath_GetPathSegment(path.raw, number)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        here = _placed((x.value, y.value), path)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            begin = here
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield last, here
        last = here
        if raw.FPDFPathSegment_GetClose(segment):
            yield here, begin
            last = begin


def _placed(point: _Point, item: Any) -> _Point:  # noqa: ANN401 - the same
    """A point of an object on the page: objects may stand in others."""
    while item is not None:
        point = item.get_matrix().on_point(*point)
        item = item.container
    return point


def _turned(point: _Point, turn: int) -> _Point:
    """Where a point is once the page is turned clockwise, as viewers do; counted from anywhere."""
    x, y = point
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turn]


def _turned_back(box: Sequence[float], turn: int) -> Box:
    one, other = (_turned((box[at], box[at + 1]), -turn % 4) for at in (0, 2))
    return min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1])


def _joined(rules: list[_Rule]) -> list[_Rule]:
    """Lines that lie on one another, or go on from one another, as one."""
    joined: list[_Rule] = []
    for level in _near(sorted(rules)):
        at = sum(rule.at for rule in level) / len(level)
        begin, end = level[0].begin, level[0].end
        for rule in sorted(level, key=lambda rule: rule.begin):
            if rule.begin > end + _NEAR:
                joined.append(_Rule(at, begin, end))
                begin, end = rule.begin, rule.end
            begin, end = min(begin, rule.begin), max(end, rule.end)
        joined.append(_Rule(at, begin, end))
    return joined


def _near(rules: Sequence[_Rule]) -> Iterator[list[_Rule]]:
    level = [*rules[:1]]
    for last, rule in pairwise(rules):
        if rule.at > last.at + _NEAR:
            yield level
            level = []
        level.append(rule)
    if level:
        yield level


# --- tables


def _grids(across: Sequence[_Rule], down: Sequence[_Rule]) -> Iterable[tuple[list[_Rule], list[_Rule]]]:
    """Lines that hang together: those across, and those down."""
    group = {rule: number for number, rule in enumerate((*across, *down))}
    members = {number: [rule] for rule, number in group.items()}
    lying = set(across)
    for row in across:
        for column in down:
            if group[row] == group[column] or not _cross(row, column):
                continue
            moved = members.pop(group[column])
            members[group[row]] += moved
            group |= dict.fromkeys(moved, group[row])
    for rules in members.values():
        if len(rules) > 2 * _FEWEST:
            yield [rule for rule in rules if rule in lying], [rule for rule in rules if rule not in lying]


def _cross(row: _Rule, column: _Rule) -> bool:
    return (
        row.begin - _NEAR <= column.at <= row.end + _NEAR
        and column.begin - _NEAR <= row.at <= column.end + _NEAR
    )


def _cells(
    ys: Sequence[float],
    xs: Sequence[float],
    *,
    rows: Iterable[_Rule],
    columns: Iterable[_Rule],
    text_in: Callable[..., str],
) -> list[list[str]]:
    """Texts by rows, from the top; a cell that takes several places has its text in the first."""
    lines_across, lines_down = _by_place(rows), _by_place(columns)
    first: dict[tuple[int, int], tuple[int, int]] = {}
    last: dict[tuple[int, int], tuple[int, int]] = {}
    for i, (top, bottom) in enumerate(pairwise(ys)):
        for j, (left, right) in enumerate(pairwise(xs)):
            if j and not _parts(lines_down[left], (top + bottom) / 2):
                first[i, j] = first[i, j - 1]
            elif i and not _parts(lines_across[top], (left + right) / 2):
                first[i, j] = first[i - 1, j]
            else:
                first[i, j] = (i, j)
            far = last.get(first[i, j], (i, j))
            last[first[i, j]] = (max(far[0], i), max(far[1], j))
    cells = [[""] * (len(xs) - 1) for _ in ys[1:]]
    for (i, j), (far_i, far_j) in last.items():
        cells[i][j] = text_in(xs[j], ys[far_i + 1], xs[far_j + 1], ys[i])
    return cells


def _by_place(rules: Iterable[_Rule]) -> Mapping[float, list[_Rule]]:
    places: defaultdict[float, list[_Rule]] = defaultdict(list)
    for rule in rules:
        places[rule.at].append(rule)
    return places


def _parts(rules: Iterable[_Rule], at: float) -> bool:
    return any(rule.begin <= at <= rule.end for rule in rules)
