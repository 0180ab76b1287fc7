"""Answers as they are read: formulas, coloured code, diagrams, tables; and what they made beside them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import Served, imported

pytestmark = pytest.mark.timeout(90)

_CODE = "\n".join(f"total_{n} = {n}  # a note" for n in range(60))
_ANSWER = rf"""The mean is $\mu = \frac{{1}}{{n}}$, and it costs $5 or $10. So \(a\,b\):

\[
\int_0^1 x\,dx
\]

A mistake: $\frac{{a$.

```python
{_CODE}
```

```mermaid
flowchart LR
  A[Question] --> B[Answer]
```

```mermaid
flowchart LR
  A --> --> [
```

| City | People |
| --- | --- |
| Paris, FR | 2 |

```html
<!doctype html><h1>Cups</h1><button onclick="this.textContent = 'Poured'">Pour</button>
```
"""


def _shown(served: Served, page: Page) -> None:
    talk = imported(served, "Rendered", ["Show me", _ANSWER])
    page.goto(f"{served.url}/c/{talk}")
    expect(page.locator(".katex").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_answer_shows_formulas_code_diagrams_and_tables(
    served: Served, new_page: NewPage, scheme: str
) -> None:
    page = new_page(own=True, color_scheme=scheme)
    _shown(served, page)
    tex = page.locator("annotation[encoding='application/x-tex']")
    expect(tex).to_have_text([r"\mu = \frac{1}{n}", r"a\,b", r"\int_0^1 x\,dx"])
    answer = page.get_by_role("article", name="Bethink")
    expect(answer.get_by_text("it costs $5 or $10.")).to_be_visible()
    expect(answer.get_by_title(re.compile("This formula has a mistake"))).to_have_text(r"\frac{a")
    code = answer.locator("figure", has_text="total_0")
    note = code.get_by_text("# a note").first
    plain = code.locator("pre").evaluate("(pre) => getComputedStyle(pre).color")
    expect(note).not_to_have_css("color", plain)
    drawn = answer.get_by_role("img", name=re.compile("Diagram of: flowchart"))
    expect(drawn).to_be_visible()
    assert drawn.evaluate("(image) => image.complete && image.naturalWidth > 50")
    expect(answer.get_by_text("This diagram cannot be drawn; this is its text.")).to_be_visible()
    assert faults(page) == []


def test_code_and_tables_are_taken_along(served: Served, new_page: NewPage) -> None:
    page = new_page(own=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _shown(served, page)
    code = page.locator("figure", has_text="total_0")
    code.get_by_role("button", name="Copy the code").click()
    expect(code.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == _CODE
    short = code.locator("pre").evaluate("(pre) => pre.clientHeight")
    code.get_by_role("button", name="Show all 60 lines").click()
    assert code.locator("pre").evaluate("(pre) => pre.clientHeight") > short
    code.get_by_role("button", name="Wrap lines").click()
    expect(code.locator("pre")).to_have_css("white-space", re.compile("pre-wrap|break-spaces"))
    page.get_by_role("button", name="Copy the table as CSV").click()
    expect(page.get_by_text("Table copied as CSV")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").split() == ["City,People", '"Paris,', 'FR",2']
    with page.expect_download() as png:
        page.get_by_role("button", name="Download the diagram").click()
        page.get_by_role("menuitem", name="As PNG").click()
    assert png.value.path().read_bytes().startswith(b"\x89PNG")


def test_a_block_runs_beside_the_chat_is_kept_edited_and_restored(served: Served, page: Page) -> None:
    _shown(served, page)
    page.locator("figure", has_text="Cups").get_by_role("button", name="Open in pane").click()
    pane = page.get_by_role("complementary", name="Cups")
    framed = pane.frame_locator("iframe")
    framed.get_by_role("button", name="Pour").click()
    expect(framed.get_by_role("button", name="Poured")).to_be_visible()
    pane.get_by_role("button", name="Keep and edit").click()
    kept = page.get_by_role("complementary", name="Cups")
    kept.get_by_text("Edit", exact=True).click()
    field = kept.get_by_role("textbox", name="Text of Cups")
    field.fill(field.input_value().replace("Cups", "Pots"))
    kept.get_by_role("button", name="Save as version").click()
    kept.get_by_text("Changes", exact=True).click()
    expect(kept.get_by_text("Pots")).to_be_visible()
    assert faults(page) == []
    kept.get_by_role("combobox", name="Version").click()
    page.get_by_role("option", name=re.compile("Version 1")).click()
    kept.get_by_role("button", name="More for Cups").click()
    page.get_by_role("menuitem", name="Restore version 1").click()
    expect(kept.get_by_role("combobox", name="Version")).to_contain_text("Version 3")
    (made,) = served.get("/artifacts")["items"]
    assert "Cups" in served.get(f"/artifacts/{made['id']}")["content"]
    kept.get_by_role("button", name="Close Cups").click()
    expect(kept).to_have_count(0)
