"""From right to left: the page as it stands in Arabic or Hebrew, and their words in an English page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.acts import composer, faults
from tests.ui.conftest import NewPage
from tests.ui.running import Served, imported

pytestmark = pytest.mark.timeout(90)

_HEBREW = "שלום, אני גר בתל אביב."
_ANSWER = f"""\
{_HEBREW}

- אחד
- שניים

In English.

```python
print('שלום', 1)
```

| שם | ערך |
| --- | --- |
| א | 1 |
"""


def _ends(place: Locator) -> tuple[float, float]:
    """Where it begins at the left and ends at the right."""
    box = place.bounding_box()
    assert box is not None
    return box["x"], box["x"] + box["width"]


def _words(place: Locator) -> tuple[float, float]:
    """The same of what is written in it."""
    lines = "part => { const all = document.createRange(); all.selectNodeContents(part);"
    left, right = place.evaluate(
        f"{lines} const box = all.getBoundingClientRect(); return [box.left, box.right]; }}"
    )
    return left, right


def _talk(served: Served, page: Page, query: str) -> str:
    talk = imported(served, "Hebrew", [_HEBREW, _ANSWER])
    page.goto(f"{served.url}/c/{talk}{query}")
    expect(page.get_by_text("In English.")).to_be_visible()
    return talk


def test_hebrew_reads_from_the_right_in_an_english_page(served: Served, page: Page) -> None:
    talk = _talk(served, page, "")
    served.patch(f"/conversations/{talk}", {"title": _HEBREW})
    page.reload()
    stream = page.get_by_role("region", name="Messages")
    hebrew, english = stream.locator("[data-markdown] > p").first, stream.get_by_text("In English.")
    expect(english).to_be_visible()
    assert _words(hebrew)[1] == pytest.approx(_ends(hebrew)[1], abs=2)
    assert _words(english)[0] == pytest.approx(_ends(english)[0], abs=2)
    assert stream.locator("li").first.evaluate("e => getComputedStyle(e).direction") == "rtl"
    first, second = stream.get_by_role("columnheader").all()
    assert _ends(first)[0] > _ends(second)[0]
    # A title in a row begins where all of them do.
    row = page.get_by_role("link", name=_HEBREW).last.locator("span")
    assert _words(row)[0] == pytest.approx(_ends(row)[0], abs=2)
    composer(page).fill(_HEBREW)
    assert composer(page).evaluate("e => getComputedStyle(e).direction") == "rtl"
    composer(page).fill("Hello")
    assert composer(page).evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_the_page_stands_the_other_way_round(served: Served, page: Page) -> None:
    _talk(served, page, "?dir=rtl")
    rail, field = page.get_by_role("navigation").first, composer(page)
    send = page.get_by_role("button", name="Send", exact=True)
    assert _ends(rail)[1] == pytest.approx(1360, abs=2)
    assert 1360 / 2 < _ends(page.get_by_text("New chat").first)[0] < _ends(rail)[0]
    assert _ends(send)[1] < sum(_ends(field)) / 2
    code = page.locator("pre code")
    assert code.evaluate("e => getComputedStyle(e).direction") == "ltr"
    assert code.inner_text().startswith("print(")
    assert _words(code)[0] < _ends(page.locator("figure").first)[0] + 40
    assert faults(page) == []


def test_edges_and_arrows_go_where_they_point(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/memory?dir=rtl")
    edge = page.get_by_role("separator").first
    before = int(edge.get_attribute("aria-valuenow") or 0)
    edge.focus()
    page.keyboard.press("ArrowLeft")
    expect(edge).to_have_attribute("aria-valuenow", str(before + 24))
    x, y = _ends(edge)[0], 400
    page.mouse.move(x + 1, y)
    page.mouse.down()
    page.mouse.move(x - 39, y)
    page.mouse.up()
    assert int(edge.get_attribute("aria-valuenow") or 0) == pytest.approx(before + 64, abs=2)
    page.goto(f"{served.url}/calendar?dir=rtl")
    days = page.locator("[data-day]")
    expect(days.first).to_be_visible()
    assert _ends(days.nth(0))[0] > _ends(days.nth(1))[0]
    back = page.get_by_role("button", name="Earlier").locator("svg")
    assert back.evaluate("e => getComputedStyle(e).scale") == "-1 1"


@pytest.mark.parametrize("size", [(1280, 800), (820, 1180), (390, 844)])
def test_nothing_leaves_the_window(served: Served, new_page: NewPage, size: tuple[int, int]) -> None:
    page = new_page(width=size[0], height=size[1])
    for path in ("/", "/today", "/memory", "/vault", "/documents", "/tasks", "/calendar", "/settings/tools"):
        page.goto(f"{served.url}{path}?dir=rtl")
        expect(page.get_by_role("heading", level=1).first).to_be_attached()
        wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1], path
