"""Ruled tables of PDF files, however programs draw them."""

from __future__ import annotations

import pytest

from tests.papers import drawn
from tests.read_files import extracted

TABLE = "| Year | Profit |\n| --- | --- |\n| 2024 | 7 |\n| 2025 | 9 |"
_ROWS = (("Year", "Profit"), ("2024", "7"), ("2025", "9"))
_LEFT, _TOP, _WIDTH, _HEIGHT = 50, 300, 100, 20


def _text(content: bytes) -> str:
    return extracted(content, "a.pdf").pages[1]


def _said(matrix: str = "1 0 0 1 {x} {y}") -> str:
    shown = [
        f"{matrix.format(x=_LEFT + 5 + _WIDTH * c, y=_TOP - 14 - _HEIGHT * r)} Tm ({text}) Tj"
        for r, row in enumerate(_ROWS)
        for c, text in enumerate(row)
    ]
    return f"BT /F1 10 Tf {' '.join(shown)} ET"


def _boxes(mark: str = "S") -> str:
    """Each cell as a rectangle of its own."""
    return "\n".join(
        f"{_LEFT + _WIDTH * c} {_TOP - _HEIGHT * (r + 1)} {_WIDTH} {_HEIGHT} re {mark}"
        for r in range(3)
        for c in range(2)
    )


def _bars() -> str:
    """Lines as thin filled rectangles, as word processors draw them."""
    across = [f"{_LEFT} {_TOP - _HEIGHT * r} {2 * _WIDTH} 0.5 re f" for r in range(4)]
    down = [f"{_LEFT + _WIDTH * c} {_TOP - 3 * _HEIGHT} 0.5 {3 * _HEIGHT} re f" for c in range(3)]
    return "\n".join([*across, *down])


@pytest.mark.parametrize("lines", [_boxes(), _bars(), f"q 0.5 0 0 0.5 0 0 cm 2 0 0 2 0 0 cm {_boxes()} Q"])
def test_cells_may_be_boxes_bars_or_scaled(lines: str) -> None:
    assert _text(drawn(f"{lines}\n{_said()}")) == TABLE


def test_a_table_on_a_page_that_is_shown_turned_is_read_by_its_rows() -> None:
    # A point of the page as it is shown lies at (400 - y, x) of a page that is turned by 90 degrees.
    turned = drawn(f"q 0 1 -1 0 400 0 cm {_boxes()} {_said()} Q", rotated=90)
    assert _text(turned) == TABLE


def test_a_cell_over_two_columns_stands_in_the_first() -> None:
    lines = f"{_LEFT} {_TOP} {2 * _WIDTH} {_HEIGHT} re S\n{_boxes()}"
    lines += f"\nBT /F1 10 Tf 1 0 0 1 {_LEFT + 70} {_TOP + 6} Tm (All of the company) Tj ET"
    text = _text(drawn(f"{lines}\n{_said()}"))
    assert text.startswith("| All of the company |  |\n")
    assert "| 2024 | 7 |" in text


@pytest.mark.parametrize(
    "lines",
    [
        "50 200 200 120 re S",  # a frame
        "\n".join(f"50 {y} m 250 {y} l S" for y in range(200, 321, 20)),  # lines that part nothing
        "\n".join(f"{300 + x % 90} {x} 4 4 re S" for x in range(8, 390, 6)),  # small marks
        "1 0 0 1 0 0 cm " + "50 50 m 60 60 l S\n" * 6_000,  # a drawing
    ],
)
def test_what_is_drawn_otherwise_is_no_table(lines: str) -> None:
    text = _text(drawn(f"{lines}\n{_said()}"))
    assert "|" not in text
    assert "Profit" in text
