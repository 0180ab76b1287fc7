"""The editor of the vault: live preview, completion, boxes, properties, line ends, undo, the phone's bar."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES
from tests.ui.vaulted import Vaulted, editor, holds, reading, row, saved, write_at_end

pytestmark = pytest.mark.timeout(90)
_PAGE = """---
title: Lisbon
tags: [trip, summer]
deep: {a: 1}
---
# Lisbon

Some **bold** words with a [[user|link to me]] and [[nobody]]. #trip

- [ ] Book the train
- [x] Ask Jane ^a1b2

> [!warning] Mind the heat
> Bring water.
"""


def _save(page: Page) -> None:
    page.keyboard.press("Control+s")
    expect(saved(page)).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_written_as_it_reads_and_its_marks_show_at_the_caret(
    vault: Vaulted, new_page: NewPage, scheme: str
) -> None:
    vault.file("lisbon.md", _PAGE)
    page = new_page(color_scheme=scheme)
    vault.open(page, "lisbon.md", mode="write")
    text = editor(page)
    expect(text).to_contain_text("Some bold words with a link to me and nobody. #trip")
    expect(text).not_to_contain_text("**")
    expect(text).not_to_contain_text("a1b2")
    assert faults(page) == []
    page.screenshot(path=PICTURES / f"vault-editor-{scheme}.png")
    text.focus()
    page.keyboard.press("Control+Home")
    expect(text).to_contain_text("# Lisbon")
    for key in ("ArrowDown", "ArrowDown", *["ArrowRight"] * 6):
        page.keyboard.press(key)
    expect(text).to_contain_text("Some **bold** words with a link to me")
    page.keyboard.press("Control+End")
    text.get_by_text("link to me").click()
    expect(page.get_by_role("heading", level=1, name="user")).to_be_visible()
    holds(page, "# About me\n")


def test_a_box_writes_the_file_in_the_editor_and_in_the_preview(vault: Vaulted, page: Page) -> None:
    vault.file("lisbon.md", _PAGE)
    vault.open(page, "lisbon.md")
    boxes = page.get_by_role("checkbox", name="Book the train")
    boxes.click()
    _save(page)
    assert "- [x] Book the train\n" in vault.text("lisbon.md")
    done = reading(page).get_by_role("checkbox", name="Done")
    expect(done).to_have_count(2)
    done.last.click()
    expect(saved(page)).to_be_visible()
    expect(reading(page).get_by_role("checkbox", name="To do")).to_have_count(1)
    assert vault.text("lisbon.md") == _PAGE.replace("[ ] Book", "[x] Book").replace("[x] Ask", "[ ] Ask")


def test_lists_go_on_by_themselves_and_a_pasted_address_makes_a_link(vault: Vaulted, page: Page) -> None:
    vault.open(page, "user.md", mode="write")
    editor(page).focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("- one\ntwo\n")
    page.keyboard.press("Tab")
    page.keyboard.type("three")
    holds(page, "# About me\n- one\n- two\n  - three")
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.setData("text/plain", "https://example.org/");
            const how = { clipboardData: data, bubbles: true, cancelable: true };
            document.querySelector(".cm-content").dispatchEvent(new ClipboardEvent("paste", how));
        }"""
    )
    holds(page, "# About me\n- one\n- two\n  - [three](https://example.org/)")
    _save(page)
    assert vault.text("user.md").endswith("  - [three](https://example.org/)")


def test_headings_tags_and_new_pages_are_completed(vault: Vaulted, page: Page) -> None:
    vault.file("entities/jane_doe.md", "---\ntags: [friend]\n---\n# Jane\n\n## Her work\n")
    vault.open(page, "user.md", mode="write")
    expect(row(page, "entities")).to_be_visible()
    write_at_end(page, "[[jane_doe#wo")
    expect(page.get_by_role("option", name="Her work")).to_be_visible()
    page.keyboard.press("Enter")
    holds(page, "# About me\n[[jane_doe#Her work]]")
    page.keyboard.type(" #fr")
    expect(page.get_by_role("option", name="#friend")).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.type(" [[plans/porto")
    page.get_by_role("option", name="Create “plans/porto”").click()
    holds(page, "# About me\n[[jane_doe#Her work]] #friend [[plans/porto]]")
    expect(page.get_by_text("porto is made")).to_be_visible()
    assert vault.text("plans/porto.md") == "# porto\n\n"
    expect(page.get_by_role("heading", level=1, name="user")).to_be_visible()


def test_the_list_of_suggestions_stays_in_the_window(vault: Vaulted, new_page: NewPage) -> None:
    for n in range(20):
        vault.file(f"a page with quite a long name, of which there are many {n}.md", "x\n")
    page = new_page(width=390, height=500, has_touch=True, is_mobile=True)
    vault.file("user.md", "line\n\n" * 40)
    vault.open(page, "user.md", mode="write")
    expect(editor(page)).to_be_visible()
    write_at_end(page, "words and words and more words [[a page")
    popup = page.get_by_role("listbox", name="Suggestions")
    expect(popup).to_be_visible()
    box = popup.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 500


def test_properties_are_a_form_that_rewrites_only_what_was_changed(vault: Vaulted, page: Page) -> None:
    vault.file("lisbon.md", _PAGE)
    vault.open(page, "lisbon.md", mode="write")
    form = page.get_by_role("region", name="Properties")
    expect(form.get_by_text("deep: {a: 1}")).to_be_visible()
    form.get_by_role("textbox", name="tags").fill("trip, autumn: late")
    page.keyboard.press("Enter")
    holds(page, _PAGE.replace("[trip, summer]", '[trip, "autumn: late"]'))
    form.get_by_role("button", name="Add property").click()
    form.get_by_role("textbox", name="Name of the property").fill("city")
    page.keyboard.press("Enter")
    form.get_by_role("textbox", name="city").fill("Porto")
    page.keyboard.press("Enter")
    editor(page).focus()
    _save(page)
    wanted = _PAGE.replace("[trip, summer]", '[trip, "autumn: late"]').replace(
        "deep: {a: 1}\n", "deep: {a: 1}\ncity: Porto\n"
    )
    assert vault.text("lisbon.md") == wanted
    assert faults(page) == []
    # What the form hides cannot be hit by the keys.
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    holds(page, re.compile(r"^---\n[\s\S]*city: Porto\n---\n$"))
    form.get_by_role("button", name="Edit as text").click()
    expect(editor(page)).to_contain_text("deep: {a: 1}")


@pytest.mark.parametrize(
    "body",
    [b"\xef\xbb\xbf# A\r\n\r\nb\r\n", b"# A\nb", b"# A\r\nb\nc\rd\n", b"", b"---\r\na: 1\r\n---\r\nb\r\n"],
)
def test_a_page_that_is_opened_and_left_keeps_its_bytes(vault: Vaulted, page: Page, body: bytes) -> None:
    vault.file("odd.md", body)
    vault.open(page, "odd.md", mode="write")
    expect(editor(page)).to_be_visible()
    editor(page).focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("x")
    page.keyboard.press("Backspace")
    _save(page)
    assert (vault.folder / "odd.md").read_bytes() == body
    page.keyboard.type("x")
    _save(page)
    assert (vault.folder / "odd.md").read_bytes() == body + b"x"


def test_undo_goes_on_after_another_page_was_looked_at(vault: Vaulted, page: Page) -> None:
    vault.file("other.md", "# Other\n")
    vault.open(page, "user.md", mode="write")
    write_at_end(page, "typed here")
    _save(page)
    row(page, "other").click()
    holds(page, "# Other\n")
    row(page, "user").click()
    holds(page, "# About me\ntyped here")
    editor(page).focus()
    page.keyboard.press("Control+z")
    holds(page, "# About me\n")
    page.keyboard.press("Control+Shift+z")
    holds(page, "# About me\ntyped here")


def test_words_are_found_and_replaced(vault: Vaulted, page: Page) -> None:
    vault.file("user.md", "# About me\nred and red\n")
    vault.open(page, "user.md", mode="write")
    editor(page).focus()
    page.keyboard.press("Control+f")
    page.get_by_role("textbox", name="Find").fill("red")
    page.get_by_role("textbox", name="Replace").fill("blue")
    assert faults(page) == []
    page.get_by_role("button", name="Replace all").click()
    holds(page, "# About me\nblue and blue\n")


def test_a_phone_has_a_bar_of_tools_that_keeps_the_keyboard(vault: Vaulted, new_page: NewPage) -> None:
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    vault.open(page, "user.md", mode="write")
    bar = page.get_by_role("toolbar", name="Format")
    expect(bar).to_be_visible()
    write_at_end(page, "milk")
    bar.get_by_role("button", name="Checkbox").tap()
    holds(page, "# About me\n- [ ] milk")
    bar.get_by_role("button", name="Bold").tap()
    holds(page, "# About me\n- [ ] **milk**")
    bar.get_by_role("button", name="Undo", exact=True).tap()
    holds(page, "# About me\n- [ ] milk")
    expect(editor(page)).to_be_focused()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "vault-editor-phone.png")


def test_pictures_of_the_vault_are_shown_in_the_editor_and_in_the_preview(vault: Vaulted, page: Page) -> None:
    dot = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360000002000005000169dd30b60000000049454e44ae426082"
    )
    vault.file("trips/pics/dot.png", dot)
    vault.file("trips/lisbon.md", "![a dot](pics/dot.png)\n\n![[trips/pics/dot.png]]\n\nwords\n")
    with page.expect_response(re.compile("/vault/pictures")) as answer:
        vault.open(page, "trips/lisbon.md")
    assert (answer.value.status, answer.value.headers["content-type"]) == (200, "image/png")
    expect(editor(page).get_by_role("img", name="a dot")).to_be_visible()
    expect(reading(page).get_by_role("img")).to_have_count(2)
