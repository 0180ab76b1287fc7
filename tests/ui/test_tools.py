"""Tools in the pages: what they ask, make and did, and the files that are given along."""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.ui.acts import answered, chosen, composer, done, faults, say
from tests.ui.conftest import NewPage, emptied
from tests.ui.desk_tools import GATE, TOOLS
from tests.ui.running import PICTURES, Served, bethink

pytestmark = pytest.mark.timeout(90)

HERE = Path(__file__).parent
NOTES: FilePayload = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"the ferry leaves at nine"}
RULE = "/tools/send_letter/rule"


@pytest.fixture(scope="module")
def tools_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory's folder with somebody's own tools."""
    folder = tmp_path_factory.mktemp("data") / "tools"
    folder.mkdir()
    shutil.copy(HERE / "desk_tools.py", folder)
    return folder


@pytest.fixture(scope="module")
def with_tools(tools_folder: Path) -> Generator[Served]:
    """A Bethink that loads them, and a model that calls them."""
    with (
        scripted_process(["--script", str(HERE / "tools_script.json")]) as model,
        bethink(tools_folder.parent, model.base_url, BETHINK_USER_TOOLS="true") as served,
    ):
        yield served


@pytest.fixture
def desk(with_tools: Served) -> Served:
    """The same, with nothing said, remembered or decided about its tools."""
    emptied(with_tools)
    with_tools.ask("PUT", RULE, {"rule": None})
    return with_tools


def _picture(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.screenshot(path=PICTURES / name)


def _ask_to_write(page: Page, url: str) -> None:
    """A conversation in which something from outside stands, and a letter is to be sent."""
    page.goto(url)
    say(page, "When does the ferry leave?")
    expect(page.get_by_text("It leaves at nine.", exact=True)).to_be_visible()
    say(page, "Write to Mara")


@pytest.mark.requirement("R185")
def test_a_call_approved_for_always_does_not_ask_again(desk: Served, page: Page) -> None:
    _ask_to_write(page, desk.url)
    card = page.get_by_role("region", name=re.compile("Send “The ferry”"))
    expect(card.get_by_text("This conversation contains content from outside")).to_be_visible()
    expect(card.get_by_role("definition").filter(has_text="mara@example.org")).to_be_visible()
    exactly = card.get_by_text('"copies": 2')
    expect(exactly).to_be_hidden()
    card.get_by_text("As JSON").click()
    expect(exactly).to_be_visible()
    assert faults(page) == []
    card.get_by_text("As JSON").click()
    _picture(page, "approval-always.png")
    card.get_by_role("button", name="Always allow this tool").click()
    expect(page.get_by_text("send_letter runs without asking from now on")).to_be_visible()
    expect(done(page).get_by_text("approved; this tool always runs without asking")).to_be_visible()
    expect(page.get_by_text("That is settled.")).to_be_visible()
    say(page, "Write to Mara once more")
    expect(page.get_by_text("That is settled.")).to_have_count(2)
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    page.goto(f"{desk.url}/settings/tools")
    expect(page.get_by_role("combobox", name="Rule for send_letter")).to_have_text("Always allow")


def test_a_question_is_answered_by_keyboard_and_never_is_kept(desk: Served, page: Page) -> None:
    _ask_to_write(page, desk.url)
    page.get_by_role("button", name="Never allow this tool").focus()
    page.keyboard.press("Enter")
    expect(done(page).get_by_text("rejected; this tool is never used again")).to_be_visible()
    expect(page.locator("summary", has_text="never used again")).to_be_focused()
    say(page, "Write to Mara once more")
    expect(done(page).locator("[data-tool=failed]")).to_have_count(1)
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    with page.expect_response("**/rule"):
        page.get_by_role("button", name="Undo").click()
    say(page, "Write to Mara, please")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    assert _rule(desk) is None
    page.get_by_role("button", name="Reject").click()
    page.reload()
    expect(done(page).get_by_text("rejected", exact=True).last).to_be_visible()


def _rule(desk: Served) -> str | None:
    """What holds for the tool that writes."""
    return next(tool["rule"] for tool in desk.get("/tools")["items"] if tool["name"] == "send_letter")


def test_what_was_decided_for_always_is_taken_back_to_what_held_before(desk: Served, page: Page) -> None:
    desk.ask("PUT", RULE, {"rule": "ask"})
    _ask_to_write(page, desk.url)
    page.get_by_role("button", name="Always allow this tool").click()
    expect(page.get_by_text("That is settled.")).to_be_visible()
    assert _rule(desk) == "auto"
    with page.expect_response("**/rule"):
        page.get_by_role("button", name="Undo").click()
    assert _rule(desk) == "ask"


def test_a_call_is_changed_argument_by_argument(desk: Served, page: Page) -> None:
    _ask_to_write(page, desk.url)
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("copies").fill("two")
    page.get_by_role("button", name="Approve with changes").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid JSON")
    page.get_by_label("copies").fill("[]")
    page.get_by_role("button", name="Approve with changes").click()
    expect(page.get_by_role("alert")).to_contain_text("copies")
    page.get_by_label("copies").fill("3")
    page.get_by_role("textbox", name="to", exact=True).fill("june@example.org")
    page.get_by_role("button", name="Approve with changes").click()
    expect(done(page).get_by_text("approved with your changes")).to_be_visible()
    line = page.locator("[data-tool]").last
    line.locator("summary").first.click()
    expect(line.locator("[data-result]")).to_have_text("3 sent to june@example.org.")


def test_what_cannot_be_undone_offers_no_always(desk: Served, page: Page) -> None:
    desk.post("/memories", {"content": "Has a red bicycle"})
    page.goto(desk.url)
    say(page, "Forget everything")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(page.get_by_role("button", name="Always allow this tool")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(page.get_by_role("button", name="Never allow this tool")).to_have_count(0)
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("All right.")).to_be_visible()


def test_a_picture_and_a_table_of_a_tool_are_shown_also_after_a_reload(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    say(page, "Draw my walks")
    expect(page.get_by_text("Here is the chart.")).to_be_visible()
    table = page.get_by_role("region", name="Table walks.html")
    for _ in range(2):
        picture = page.get_by_role("img", name="chart.png")
        expect(picture).to_be_visible()
        expect(picture).to_have_attribute("aria-busy", "false")
        assert picture.evaluate("picture => picture.width") == 480
        expect(table.get_by_role("columnheader", name="walks")).to_be_visible()
        expect(table.get_by_role("row")).to_have_count(13)
        expect(page.get_by_role("link", name=re.compile(r"walks\.csv"))).to_contain_text("4 kB")
        page.reload()
    page.get_by_role("button", name="Show all 41 rows").click()
    expect(table.get_by_role("row")).to_have_count(42)
    expect(table.get_by_text("last")).to_be_visible()
    assert page.title() == "Draw my walks · Bethink"
    expect(table.locator("img, script, style")).to_have_count(0)
    page.get_by_role("button", name="Show fewer rows").click()
    page.get_by_role("button", name=re.compile("chart.png")).click()
    full = page.get_by_role("dialog", name="chart.png")
    with page.expect_download() as fetched:
        full.get_by_role("link", name="Download").click()
    assert fetched.value.suggested_filename == "chart.png"
    assert faults(page) == []
    _picture(page, "picture.png")


@pytest.mark.requirement("R82")
def test_a_chart_that_code_plots_stands_in_the_answer(desk: Served, page: Page) -> None:
    if desk.get("/health")["parts"]["sandbox"]["status"] not in {"ok", "loading"}:
        pytest.skip("no sandbox for code on this machine")
    page.goto(desk.url)
    say(page, "Chart the sales")
    expect(page.get_by_text("69 kg in all.")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("img", name="figure-1.png")).to_be_visible()
    table = page.get_by_role("region", name=re.compile("Table table"))
    expect(table.get_by_role("cell", name="39")).to_be_visible()
    line = page.locator("[data-tool]")
    line.locator("summary").first.click()
    expect(line.locator("figure")).to_contain_text("sales.plot.bar")
    expect(line.locator("[data-result]")).to_contain_text("total 69")
    expect(line.get_by_text("from a program")).to_be_visible()
    assert faults(page) == []


@pytest.mark.parametrize("way", ["dark", "phone"])
def test_files_and_questions_in_the_dark_and_on_a_phone(desk: Served, new_page: NewPage, way: str) -> None:
    page = (
        new_page(color_scheme="dark")
        if way == "dark"
        else new_page(width=390, height=844, has_touch=True, is_mobile=True)
    )
    page.goto(desk.url)
    say(page, "Draw my walks")
    expect(page.get_by_text("Here is the chart.")).to_be_visible()
    expect(page.get_by_role("region", name="Table walks.html")).to_be_visible()
    _picture(page, f"files-{way}.png")
    assert faults(page) == []
    say(page, "When does the ferry leave?")
    expect(page.get_by_text("It leaves at nine.", exact=True)).to_be_visible()
    say(page, "Write to Mara")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.get_by_role("button", name="Approve").scroll_into_view_if_needed()
    _picture(page, f"approval-{way}.png")
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_files_are_uploaded_taken_back_sent_and_seen(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    second: FilePayload = {"name": "second.txt", "mimeType": "text/plain", "buffer": b"x"}
    chooser.value.set_files([NOTES, second])
    files = page.get_by_role("list", name="Files to send")
    expect(files.get_by_text("24 B")).to_be_visible()
    expect(page).to_have_url(re.compile("/c/"))
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    files.get_by_role("button", name="Remove: second.txt").click()
    expect(files.get_by_role("listitem")).to_have_count(1)
    composer(page).fill("What do you see?")
    assert faults(page) == []
    _picture(page, "upload.png")
    page.keyboard.press("Enter")
    expect(page.get_by_text("I see what you sent.")).to_be_visible()
    expect(files).to_have_count(0)
    for _ in range(2):
        sent = page.get_by_role("article", name="You").get_by_role("link", name=re.compile(r"notes\.txt"))
        expect(sent).to_contain_text("24 B")
        page.reload()
    line = page.locator("[data-tool]").filter(has_text="Look through the files")
    line.locator("summary").first.click()
    expect(line.locator("[data-result]")).to_contain_text("notes.txt (24 bytes)")


def test_what_is_asked_again_takes_its_files_along(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    page.get_by_label("Files to attach").set_input_files(NOTES)
    expect(page.get_by_role("button", name="Remove: notes.txt")).to_be_visible()
    say(page, "Break down over this")
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_text("Not this time.")).to_be_visible()
    again = page.get_by_role("article", name="You").last
    expect(again.get_by_role("link", name=re.compile(r"notes\.txt"))).to_be_visible()
    page.reload()
    expect(again.get_by_role("link", name=re.compile(r"notes\.txt"))).to_be_visible()


def test_files_are_dropped_and_pasted(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    give = """([kind, name]) => {
        const data = new DataTransfer();
        data.items.add(new File(["abc"], name, { type: "text/plain" }));
        const field = document.querySelector("textarea");
        const init = { bubbles: true, cancelable: true };
        if (kind === "paste") {
            field.dispatchEvent(new ClipboardEvent("paste", { ...init, clipboardData: data }));
            return;
        }
        field.dispatchEvent(new DragEvent("dragenter", { ...init, dataTransfer: data }));
        if (kind === "drop") field.dispatchEvent(new DragEvent("drop", { ...init, dataTransfer: data }));
    }"""
    page.evaluate(give, ["hover", "hovering.txt"])
    expect(page.get_by_text("Drop files here to attach them")).to_be_visible()
    _picture(page, "drop.png")
    page.evaluate(give, ["drop", "dropped.txt"])
    expect(page.get_by_text("Drop files here to attach them")).to_be_hidden()
    page.evaluate(give, ["paste", "pasted.txt"])
    files = page.get_by_role("list", name="Files to send")
    expect(files.get_by_role("button", name="Remove: dropped.txt")).to_be_visible()
    expect(files.get_by_role("button", name="Remove: pasted.txt")).to_be_visible()


def test_a_file_that_is_refused_says_why_and_is_tried_again(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    refusal = (
        '{"type": "urn:bethink:error:too_large", "title": "Too large", "detail": "Send a smaller file."}'
    )
    page.route("**/files", lambda route: route.fulfill(status=413, body=refusal), times=1)
    page.get_by_label("Files to attach").set_input_files(NOTES)
    expect(page.get_by_role("alert")).to_contain_text("Send a smaller file.")
    _picture(page, "upload-refused.png")
    page.get_by_role("button", name="Try again: notes.txt").click()
    expect(page.get_by_role("button", name="Remove: notes.txt")).to_be_visible()


def test_progress_outside_words_and_code_are_told(desk: Served, tools_folder: Path, page: Page) -> None:
    page.goto(desk.url)
    say(page, "Weigh it all")
    expect(done(page).get_by_text("40 of 100 weighed")).to_be_visible()
    # In the middle of it, whatever the clock says.
    page.reload()
    expect(done(page).get_by_text("40 of 100 weighed")).to_be_visible()
    expect(page.get_by_role("progressbar", name=re.compile("Weigh everything"))).to_be_visible()
    _picture(page, "progress.png")
    assert faults(page) == []
    (tools_folder / GATE).touch()
    expect(page.get_by_text("It is heavy.")).to_be_visible()
    say(page, "When does the ferry leave?")
    expect(done(page).get_by_text("from outside")).to_be_visible()
    say(page, "Run it")
    expect(page.get_by_text("The total is 42.")).to_be_visible()
    line = page.locator("[data-tool]").filter(has_text="Run a program")
    line.locator("summary").first.click()
    expect(line.get_by_role("button", name="Copy the code")).to_be_visible()
    expect(line.locator("[data-result]")).to_contain_text("ran 4 lines")
    outside = page.locator("[data-tool]").filter(has_text="from outside")
    outside.locator("summary").first.click()
    expect(outside.get_by_text("Content from outside")).to_be_visible()
    assert faults(page) == []
    _picture(page, "tool-lines.png")
    page.reload()
    expect(done(page).get_by_text("from outside")).to_be_visible()


def test_rules_are_chosen_and_calls_are_looked_up(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    say(page, "When does the ferry leave?")
    expect(answered(page)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("tools")
    page.get_by_role("option", name=re.compile("Tools and rules")).click()
    chosen(page, "Rule for send_letter", "Never allow")
    expect(page.get_by_role("heading", name=re.compile("Bethink’s own"))).to_be_visible()
    for tool in TOOLS:
        expect(page.get_by_role("combobox", name=f"Rule for {tool.name}")).to_be_visible()
    assert faults(page) == []
    _picture(page, "tools.png")
    page.reload()
    expect(page.get_by_role("combobox", name="Rule for send_letter")).to_have_text("Never allow")
    page.get_by_role("combobox", name="Rule for delete_all_memories").click()
    expect(page.get_by_role("option", name="Never allow")).to_be_visible()
    expect(page.get_by_role("option", name="Always allow")).to_have_count(0)
    page.keyboard.press("Escape")

    page.get_by_role("link", name="Recent calls").click()
    chosen(page, "Calls of", "read_page")
    rows = page.get_by_role("list", name="Calls").get_by_role("listitem")
    expect(rows.first).to_contain_text("allowed by rule")
    expect(rows.filter(has_not_text="read_page")).to_have_count(0)
    rows.first.locator("summary").click()
    expect(rows.first.get_by_text("ferries.example/times")).to_be_visible()
    assert faults(page) == []
    _picture(page, "calls.png")
    rows.first.get_by_role("link", name="Open the conversation").click()
    expect(page.get_by_text("It leaves at nine.", exact=True)).to_be_visible()


def test_without_a_server_the_page_says_how_to_have_one(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    expect(composer(page)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("servers")
    page.get_by_role("option", name=re.compile("Tool servers")).click()
    expect(page.get_by_role("heading", name="No tool server is set up")).to_be_visible()
    expect(page.get_by_role("button", name="Add a server")).to_be_visible()
    assert faults(page) == []
    _picture(page, "no-servers.png")
