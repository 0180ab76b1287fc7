"""Conversations among others: in two browsers, in projects, several at once, shared, printed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import answered, chat_head, composer, faults, say
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served, imported

pytestmark = pytest.mark.timeout(120)


def made(served: Served, *titles: str) -> list[str]:
    return [served.post("/conversations", {"title": title})["id"] for title in titles]


def test_what_is_said_in_one_browser_streams_in_another(served: Served, new_page: NewPage) -> None:
    here, there = new_page(own=True), new_page(own=True)
    (conversation,) = made(served, "Counting")
    for page in (here, there):
        page.goto(f"{served.url}/c/{conversation}")
        expect(page.get_by_role("heading", name="Counting")).to_be_visible()
    say(here, "Count without end")
    expect(there.get_by_role("article", name="You")).to_contain_text("Count without end")
    expect(there.get_by_text("One, two, three")).to_be_visible()
    expect(there).to_have_title("● Answering · Counting · Bethink")
    say(there, "Hello there")
    expect(there.get_by_role("list", name="Sent when this answer ends")).to_contain_text("Hello there")
    here.keyboard.press("Control+.")
    expect(here.get_by_text("You stopped this answer")).to_be_visible()
    there.get_by_role("button", name="Send now").click()
    expect(here.get_by_role("article", name="You").nth(1)).to_contain_text("Hello there")


def test_a_message_that_comes_second_waits_instead_of_failing(served: Served, new_page: NewPage) -> None:
    here, there = new_page(own=True), new_page(own=True)
    # This one hears nothing of what others do.
    there.route("**/conversations/events", lambda route: route.abort())
    (conversation,) = made(served, "Counting")
    for page in (here, there):
        page.goto(f"{served.url}/c/{conversation}")
        expect(page.get_by_role("heading", name="Counting")).to_be_visible()
    say(here, "Count without end")
    expect(here.get_by_text("One, two, three")).to_be_visible()
    say(there, "Hello there")
    expect(there.get_by_role("list", name="Sent when this answer ends")).to_contain_text("Hello there")
    expect(there.get_by_text("One, two, three")).to_be_visible()
    expect(there.get_by_text("Your message was not sent")).to_have_count(0)


def test_what_waits_outlives_a_reload_and_can_be_taken_back(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Count without end")
    expect(page.get_by_text("One, two, three")).to_be_visible()
    say(page, "First of two")
    say(page, "Second of two")
    waiting = page.get_by_role("list", name="Sent when this answer ends").get_by_role("listitem")
    expect(waiting).to_have_count(2)
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(waiting).to_have_count(2)
    expect(waiting.first).to_contain_text("First of two")
    page.get_by_role("button", name="Remove from the queue: First of two").click()
    expect(waiting).to_have_count(1)
    page.keyboard.press("Control+.")
    page.get_by_role("button", name="Send now").click()
    expect(page.get_by_role("article", name="You").nth(1)).to_contain_text("Second of two")


def test_a_stopped_answer_can_go_on(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Count without end")
    expect(page.get_by_text("One, two, three")).to_be_visible()
    page.keyboard.press("Control+.")
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.get_by_role("article", name="You").nth(1)).to_contain_text("Continue where you stopped.")


def test_what_needs_somebody_has_its_own_mark_and_destroys_in_its_own_colour(
    served: Served, page: Page
) -> None:
    served.post("/memories", {"content": "Prefers trains to planes"})
    made(served, "Something else")
    page.goto(served.url)
    say(page, "Forget everything")
    card = page.locator("[data-approval]")
    expect(card.get_by_role("heading", name="Delete all memories")).to_be_visible()
    expect(card).to_contain_text("This cannot be undone.")
    expect(card).to_contain_text("Prefers trains to planes")
    expect(card.get_by_role("button", name="Approve")).to_have_class(re.compile("danger"))
    expect(page).to_have_title(re.compile(r"^\? Needs you · "))
    expect(page.locator("[data-row]").filter(has_text="needs you")).to_have_count(1)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "needs-you.png")
    page.get_by_role("button", name="1 needs you").click()
    expect(page.locator("[data-row] > a")).to_have_text(["Forget everything"])
    page.get_by_role("button", name="1 needs you").click()
    card.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("button", name="1 needs you")).to_have_count(0)
    expect(answered(page)).to_be_visible()


def test_an_answer_that_ended_elsewhere_is_new_until_it_is_opened(served: Served, page: Page) -> None:
    conversation, other = made(served, "Greeting", "Another")
    page.goto(f"{served.url}/c/{other}")
    expect(page.get_by_role("link", name="Greeting")).to_be_visible()
    body = {"message": {"role": "user", "content": "Note that down"}, "stream": False}
    served.post(f"/conversations/{conversation}/chat", body)
    row = page.locator("[data-row]").filter(has_text="Greeting")
    expect(row).to_contain_text("new answer")
    row.get_by_role("link").click()
    expect(row.get_by_text("new answer")).to_have_count(0)
    page.get_by_role("link", name="Another").click()
    expect(row.get_by_text("new answer")).to_have_count(0)
    assert not served.get(f"/conversations/{conversation}")["unread"]


def test_projects_take_conversations_by_menu_and_by_dragging(served: Served, page: Page) -> None:
    made(served, "Boat names", "Tax letter")
    page.goto(served.url)
    page.get_by_role("button", name="New project").click()
    dialog = page.get_by_role("dialog", name="New project")
    dialog.get_by_label("Name").fill("The boat")
    dialog.get_by_label("Instructions").fill("Answer briefly.")
    dialog.get_by_text("This project only").click()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "project.png")
    dialog.get_by_role("button", name="Save").click()
    project = page.get_by_role("button", name="The boat", exact=True)
    project.click()
    page.get_by_role("link", name="Boat names").drag_to(project)
    expect(page.get_by_text("Moved to The boat")).to_be_visible()
    expect(page.locator("[data-row] > a")).to_have_text(["Boat names", "Tax letter"])
    page.get_by_role("button", name="More for Tax letter").click()
    page.get_by_role("menuitem", name="Move to a project").hover()
    page.get_by_role("menuitemcheckbox", name="The boat").click()
    expect(page.get_by_text("Moved to The boat")).to_have_count(2)
    project.click()
    expect(page.locator("[data-row]")).to_have_count(0)
    (kept,) = served.get("/projects")["items"]
    assert (kept["instructions"], kept["memory"]) == ("Answer briefly.", "own")
    page.get_by_role("button", name="More for project The boat").click()
    page.get_by_role("menuitem", name="New chat in this project").click()
    expect(chat_head(page)).to_contain_text("The boat")
    say(page, "Note that down")
    expect(page).to_have_url(re.compile("/c/"))
    assert {item["project"] for item in served.get("/conversations")["items"]} == {"The boat"}
    served.delete("/projects/The%20boat")


def test_a_project_without_collections_says_how_to_make_one(served: Served, page: Page) -> None:
    page.goto(served.url)
    page.get_by_role("button", name="New project").press("Enter")
    dialog = page.get_by_role("dialog", name="New project")
    expect(dialog.get_by_text("You have no collections yet.")).to_be_visible()
    expect(dialog.get_by_role("link", name="Go to Documents")).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "project-no-collections.png")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def collections(served: Served) -> list[str]:
    """The ids of two collections, in each of which a document says who repairs a roof."""
    bases = [served.post("/documents/collections", {"name": name})["id"] for name in ("Flat", "Boat")]
    for name, keeper in (("Flat", "landlord"), ("Boat", "harbour")):
        said = f"The {keeper} keeps the roof and the outer walls in repair."
        kept = served.post("/documents/text", {"name": f"{name}.md", "text": said, "collection": name})
        while kept["stage"] != "ready":
            kept = served.get(f"/documents/{kept['id']}")
    return bases


def test_the_collections_of_a_project_are_chosen_by_keyboard(served: Served, page: Page) -> None:
    bases = collections(served)
    page.goto(served.url)
    dialog = page.get_by_role("dialog", name="New project")
    page.get_by_role("button", name="New project").press("Enter")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.type("The boat")
    field = dialog.get_by_role("combobox", name="Documents")
    for _ in range(8):
        page.keyboard.press("Tab")
        if field.evaluate("field => field === document.activeElement"):
            break
    page.keyboard.press("ArrowDown")
    options = page.get_by_role("option")
    expect(options).to_contain_text(["Flat", "Boat"])
    assert faults(page) == []
    page.keyboard.press("Enter")
    page.keyboard.type("boa")
    expect(options).to_contain_text(["Boat"])
    page.keyboard.press("Enter")
    chips = dialog.get_by_role("button", name=re.compile("^Remove: "))
    expect(chips).to_have_count(2)
    # Escape closes the list, takes nothing away, and leaves the dialog open.
    page.keyboard.press("ArrowDown")
    expect(options).to_have_count(2)
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(chips).to_have_count(2)
    page.screenshot(path=PICTURES / "project-collections.png")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")
    expect(chips).to_have_count(1)
    assert faults(page) == []
    dialog.get_by_role("button", name="Save").press("Enter")
    expect(dialog).to_have_count(0)
    (kept,) = served.get("/projects")["items"]
    assert [one["id"] for one in kept["collections"]] == bases[1:]
    served.delete("/projects/The%20boat")
    for base in bases:
        served.delete(f"/documents/collections/{base}?documents=true")


def test_a_project_with_a_collection_searches_it_alone_and_shows_it(served: Served, page: Page) -> None:
    bases = collections(served)
    served.post("/projects", {"name": "The boat", "collections": bases[1:]})
    page.goto(served.url)
    page.get_by_role("button", name="The boat", exact=True).click()
    expect(page.get_by_role("button", name="The boat Documents: Boat")).to_be_visible()
    page.get_by_role("button", name="More for project The boat").click()
    page.get_by_role("menuitem", name="New chat in this project").click()
    say(page, "Who repairs the roof?")
    expect(answered(page)).to_be_visible()
    (item,) = served.get("/conversations")["items"]
    messages = served.get(f"/conversations/{item['id']}")["messages"]
    told = next(one["content"] for one in messages if one["role"] == "tool")
    assert ("Boat.md" in told, "Flat.md" in told) == (True, False)
    page.reload()
    mark = chat_head(page).get_by_role("button", name="Project: The boat Documents: Boat")
    expect(mark).to_be_visible()
    assert faults(page) == []
    served.delete(f"/documents/collections/{bases[1]}?documents=true")
    mark.click()
    edit = page.get_by_role("dialog", name="Edit project")
    expect(edit.get_by_text("Without any, answers look in all your documents.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(edit).to_have_count(0)
    served.delete("/projects/The%20boat")
    served.delete(f"/documents/collections/{bases[0]}?documents=true")


def test_what_is_put_away_says_so_and_comes_back_and_the_trash_is_emptied(served: Served, page: Page) -> None:
    trashed, archived, other = made(served, "Old tax letter", "Boat names", "Night trains")
    for conversation in (trashed, other):
        served.patch(f"/conversations/{conversation}", {"trashed": True})
    served.patch(f"/conversations/{archived}", {"archived": True})
    page.goto(f"{served.url}/c/{archived}")
    expect(page.get_by_text("Archived.", exact=True)).to_be_visible()
    page.goto(f"{served.url}/c/{trashed}")
    note = page.get_by_text(re.compile("In the trash. It is deleted for good on "))
    expect(note).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "in-the-trash.png")
    page.get_by_role("button", name="Restore").press("Enter")
    expect(note).to_have_count(0)
    expect(page.get_by_role("link", name="Old tax letter")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="Old tax letter")).to_have_count(0)
    page.get_by_role("button", name="Trash", exact=True).click()
    page.get_by_role("button", name="Empty the trash").click()
    asked = page.get_by_role("dialog", name="Delete 2 conversations for good?")
    expect(asked.get_by_role("button", name="Keep")).to_be_focused()
    assert faults(page) == []
    asked.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("The trash is empty.")).to_be_visible()
    expect(page.get_by_role("button", name="Empty the trash")).to_have_count(0)
    assert served.get("/conversations?trashed=true")["items"] == []
    assert len(served.get("/conversations?archived=true")["items"]) == 1


def test_several_are_chosen_and_moved_together(served: Served, page: Page) -> None:
    made(served, "One", "Two", "Three", "Four")
    page.goto(served.url)
    page.get_by_role("link", name="Four").click(modifiers=["Control"])
    page.get_by_role("link", name="Two").click(modifiers=["Shift"])
    bar = page.get_by_role("toolbar", name="Selected conversations")
    expect(bar).to_contain_text("3 selected")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "selected.png")
    bar.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    expect(page.locator("[data-row] > a")).to_have_text(["Four", "Three", "Two", "One"])
    expect(page.get_by_role("img", name="pinned")).to_have_count(3)
    page.get_by_role("link", name="One", exact=True).focus()
    page.keyboard.press("s")
    expect(bar).to_contain_text("1 selected")
    bar.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="One", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="One", exact=True)).to_be_visible()


def test_many_conversations_are_few_nodes(served: Served, page: Page) -> None:
    made(served, *(f"Talk {number}" for number in range(120)))
    page.goto(served.url)
    expect(page.get_by_role("link", name="Talk 119")).to_be_visible()
    box = page.get_by_role("navigation", name="Conversations").locator(".scroll")
    expect(box.get_by_role("link", name="Talk 119")).to_be_visible()
    first = page.get_by_role("link", name="Talk 0", exact=True)
    for _ in range(400):
        if first.count():
            break
        box.evaluate("box => box.scrollTo(0, box.scrollHeight)")
        page.wait_for_timeout(50)
    expect(first).to_be_visible()
    assert page.locator("[data-row]").count() < 60
    assert page.evaluate("document.querySelectorAll('*').length") < 1_500


def test_a_long_conversation_goes_to_its_start_at_once(served: Served, page: Page) -> None:
    said = [f"Message number {number}" for number in range(600)]
    conversation = imported(served, "Long", said)
    page.goto(f"{served.url}/c/{conversation}")
    expect(page.get_by_text("Message number 599")).to_be_visible()
    start = page.get_by_role("button", name="Go to the start")
    expect(start).to_have_count(0)
    page.get_by_role("region", name="Messages").hover()
    page.mouse.wheel(0, -2_000)
    place = start.bounding_box()
    page.mouse.wheel(0, -2_000)
    expect(page.get_by_text("Message number 520", exact=True)).to_be_attached()
    assert start.bounding_box() == place
    start.click()
    expect(page.get_by_text("Message number 0", exact=True)).to_be_in_viewport()
    expect(page.get_by_role("button", name="Go to the start")).to_have_count(0)
    page.get_by_role("button", name="Go to the end").click()
    expect(page.get_by_text("Message number 599")).to_be_in_viewport()


def test_all_messages_are_printed(served: Served, new_page: NewPage) -> None:
    page = new_page(own=True)
    page.add_init_script("window.print = () => { window.printed = (window.printed ?? 0) + 1 }")
    conversation = imported(served, "Long", [f"Message number {number}" for number in range(450)])
    page.goto(f"{served.url}/c/{conversation}")
    chat_head(page).get_by_role("button", name=re.compile("More for")).click()
    page.get_by_role("menuitem", name="Print or save as PDF").click()
    view = page.get_by_role("dialog", name="Print or save as PDF")
    expect(view.get_by_role("article")).to_have_count(450)
    page.wait_for_function("() => window.printed === 1")
    assert faults(page) == []
    page.emulate_media(media="print")
    expect(page.locator("#root")).to_be_hidden()
    expect(view.get_by_role("button", name="Close")).to_be_hidden()
    page.emulate_media(media="screen")
    page.keyboard.press("Escape")
    expect(view).to_have_count(0)


def test_a_link_shows_a_conversation_to_whoever_has_it_until_it_is_revoked(
    served: Served, new_page: NewPage
) -> None:
    page, stranger = new_page(), new_page(own=True)
    conversation = imported(served, "Night trains", ["Which train is **best**?", "The *night* train."])
    page.goto(f"{served.url}/c/{conversation}")
    row = page.get_by_role("navigation", name="Conversations")
    row.get_by_role("button", name=re.compile("More for")).click()
    page.get_by_role("menuitem", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share this conversation")
    expect(dialog.get_by_role("button", name="Make a link")).to_be_visible()
    # It looks as it does elsewhere, not as a row of the list from which it was opened.
    expect(dialog.get_by_role("button", name="Close")).to_have_css("opacity", "1")
    expect(dialog.get_by_role("heading").first).to_have_css("font-size", "16px")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "share.png")
    dialog.get_by_role("button", name="Make a link").click()
    link = dialog.get_by_label("Link", exact=True).input_value()
    answer = stranger.goto(link)
    assert answer is not None
    assert answer.headers["x-robots-tag"] == "noindex, nofollow"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    expect(stranger.get_by_role("heading", name="Night trains")).to_be_visible()
    expect(stranger.get_by_text("The night train.")).to_be_visible()
    expect(stranger.get_by_role("navigation")).to_have_count(0)
    assert faults(stranger) == []
    stranger.screenshot(path=PICTURES / "shared.png")
    dialog.get_by_role("button", name="Revoke").click()
    expect(dialog.get_by_role("button", name="Revoke")).to_have_count(0)
    stranger.reload()
    expect(stranger.get_by_text("This link shows nothing")).to_be_visible()
    assert faults(stranger) == []


def test_all_links_are_listed_in_settings_and_revoked_there(served: Served, new_page: NewPage) -> None:
    page, stranger = new_page(), new_page(own=True)
    for title in ("Night trains", "Boat names"):
        conversation = imported(served, title, ["Which?", "This one."])
        link = served.post(f"/conversations/{conversation}/shares", {"days": 7 if title[0] == "N" else None})
    stranger.goto(served.url + link["path"])
    expect(stranger.get_by_role("heading", name="Boat names")).to_be_visible()
    page.goto(f"{served.url}/settings/privacy")
    links = page.get_by_role("list", name="Shared links").get_by_role("listitem")
    expect(links).to_have_count(2)
    expect(links.nth(0)).to_contain_text("Boat names")
    expect(links.nth(0)).to_contain_text(re.compile("until it is revoked · opened once, last on "))
    expect(links.nth(1)).to_contain_text("never opened")
    assert faults(page) == []
    page.get_by_role("heading", name="Shared links").scroll_into_view_if_needed()
    page.screenshot(path=PICTURES / "shared-links.png")
    links.nth(0).get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog", name="Revoke this link?").get_by_role("button", name="Revoke").click()
    expect(links).to_have_count(1)
    stranger.reload()
    expect(stranger.get_by_text("This link shows nothing")).to_be_visible()
    links.get_by_role("link", name="Night trains").click()
    expect(page).to_have_url(re.compile("/c/imported-night-trains$"))


def test_artifacts_are_found_again_renamed_downloaded_and_deleted_with_undo(
    served: Served, page: Page
) -> None:
    tea = imported(served, "Tea", ["Which tea?", "Green."])
    boats = imported(served, "Boats", ["Which boat?", "A small one."])
    for conversation, title in ((tea, "Cups"), (tea, "Kettles"), (boats, "Sails")):
        draft = {"title": title, "format": "markdown", "content": f"# {title}", "conversation": conversation}
        served.post("/artifacts", draft)
    page.goto(f"{served.url}/c/{tea}")
    chat_head(page).get_by_role("button", name=re.compile("More for")).click()
    page.get_by_role("menuitem", name="Artifacts").click()
    pane = page.get_by_role("complementary", name="Artifacts")
    rows = pane.get_by_role("list", name="Artifacts").get_by_role("listitem")
    expect(rows).to_contain_text(["Kettles", "Cups"])
    assert faults(page) == []
    page.screenshot(path=PICTURES / "artifacts.png")
    pane.get_by_role("button", name="More for Cups").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_role("dialog").get_by_label("Title").fill("Small cups")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(rows.first).to_contain_text("Small cups")
    pane.get_by_role("button", name="More for Small cups").click()
    with page.expect_download() as kept:
        page.get_by_role("menuitem", name="Download").click()
    assert kept.value.suggested_filename == "Small cups.md"
    pane.get_by_role("button", name="More for Small cups").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(rows).to_contain_text(["Kettles"])
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(2)
    pane.get_by_text("All", exact=True).click()
    expect(rows).to_have_count(3)
    rows.filter(has_text="Sails").get_by_role("button", name=re.compile("^Sails")).click()
    expect(page).to_have_url(re.compile(f"/c/{boats}$"))
    opened = page.get_by_role("complementary", name="Sails")
    expect(opened.get_by_role("heading", name="Sails", level=1)).to_be_visible()
    opened.get_by_role("button", name="All artifacts").click()
    expect(rows).to_have_count(1)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("kettle")
    page.get_by_role("option", name=re.compile("Kettles")).click()
    expect(page).to_have_url(re.compile(f"/c/{tea}$"))
    expect(page.get_by_role("complementary", name="Kettles")).to_be_visible()


def test_a_memory_that_is_wrong_is_mended_beside_the_answer(served: Served, page: Page) -> None:
    served.post("/memories", {"content": "Sleeps best by day", "importance": 0.9})
    page.goto(served.url)
    say(page, "Note that down")
    expect(answered(page)).to_be_visible()
    panel = page.get_by_role("complementary", name="This answer")
    panel.get_by_role("button", name="Wrong? Sleeps best by day").click()
    page.get_by_role("menuitem", name="Correct it").click()
    panel.get_by_label("What is right").fill("Sleeps best by night")
    panel.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Corrected. The earlier version is kept as history")).to_be_visible()
    assert [fact["content"] for fact in served.get("/memories")["items"]] == ["Sleeps best by night"]
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(panel.get_by_text("Sleeps best by day")).to_be_visible()
    assert [fact["content"] for fact in served.get("/memories")["items"]] == ["Sleeps best by day"]


def test_a_draft_is_written_while_the_list_moves(served: Served, page: Page) -> None:
    (conversation,) = made(served, "Quiet")
    page.goto(f"{served.url}/c/{conversation}")
    composer(page).fill("Half a sentence")
    made(served, "Newer")
    expect(page.get_by_role("link", name="Newer")).to_be_visible()
    expect(composer(page)).to_have_value("Half a sentence")
    expect(composer(page)).to_be_focused()


_HIDDEN = """hidden => {
  Object.defineProperty(document, "visibilityState", {
    configurable: true, get: () => (hidden ? "hidden" : "visible"),
  });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
"""Another tab is looked at, or this one again."""

_SYSTEM = """permission => {
  window.shown = [];
  window.asked = 0;
  class Note {
    static permission = permission;
    static requestPermission() {
      window.asked += 1;
      Note.permission = "granted";
      return Promise.resolve("granted");
    }
    constructor(title, { body }) {
      window.shown.push(`${title}: ${body}`);
    }
    close() {}
  }
  window.Notification = Note;
}"""
"""The system's part of notifications, which no browser without a window has."""


def notified(page: Page, permission: str) -> None:
    page.add_init_script(f"({_SYSTEM})({permission!r})")


def test_what_needs_somebody_is_counted_on_the_rail_in_the_title_and_told_by_the_system(
    served: Served, new_page: NewPage
) -> None:
    page = new_page(own=True)
    notified(page, "granted")
    served.post("/memories", {"content": "Prefers trains to planes"})
    conversation, _ = made(served, "Clean up", "Another")
    page.goto(f"{served.url}/memory")
    rail = page.get_by_role("navigation", name="Rooms")
    expect(rail.get_by_role("link", name="Chat", exact=True)).to_be_visible()
    page.evaluate(_HIDDEN, True)
    body = {"message": {"role": "user", "content": "Forget everything"}, "stream": False}
    served.post(f"/conversations/{conversation}/chat", body)
    chat = rail.get_by_role("link", name="Chat 1 needs you")
    expect(chat).to_be_visible()
    expect(page).to_have_title("(1) Memory · Bethink")
    page.wait_for_function("() => shown.length === 1")
    assert page.evaluate("shown") == ["Clean up: Waiting for your decision."]
    page.evaluate(_HIDDEN, False)
    chat.click()
    page.get_by_role("link", name="Clean up").click()
    expect(page).to_have_title("? Needs you · Clean up · Bethink")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "needs-you-rail.png")
    page.locator("[data-approval]").get_by_role("button", name="Reject").click()
    expect(rail.get_by_role("link", name="Chat", exact=True)).to_be_visible()
    expect(page).to_have_title("Clean up · Bethink")


def test_an_answer_that_ended_unseen_is_counted_and_the_offer_to_be_told_comes_once(
    served: Served, new_page: NewPage
) -> None:
    page = new_page(own=True)
    notified(page, "default")
    page.clock.install()
    page.goto(served.url)
    rail = page.get_by_role("navigation", name="Rooms")
    offer = page.get_by_text("Shall this browser tell you when a long answer is complete?")

    def answer_unseen(answers: int) -> None:
        say(page, "Count without end")
        # The title tells of an answer before the server does.
        expect(page.get_by_text("One, two, three")).to_have_count(answers)
        expect(page).to_have_title("● Answering · Count without end · Bethink")
        page.evaluate(_HIDDEN, True)
        page.clock.fast_forward(11_000)
        (running,) = served.get("/conversations?limit=1")["items"]
        served.post(f"/runs/{running['active_run']}/cancel", {})
        expect(page).to_have_title("✓ Answered · Count without end · Bethink")
        expect(rail.get_by_role("link", name="Chat 1 new answer")).to_be_visible()

    answer_unseen(1)
    expect(offer).to_have_count(0)
    page.evaluate(_HIDDEN, False)
    expect(offer).to_be_visible()
    assert page.evaluate("[asked, shown.length]") == [0, 0]
    expect(rail.get_by_role("link", name="Chat", exact=True)).to_be_visible()
    expect(page).to_have_title("Count without end · Bethink")
    page.get_by_role("region", name="Notifications").get_by_role("button", name="Close").click()
    answer_unseen(2)
    page.evaluate(_HIDDEN, False)
    expect(rail.get_by_role("link", name="Chat", exact=True)).to_be_visible()
    expect(offer).to_have_count(0)


def test_notifications_are_allowed_and_switched_off_in_settings(served: Served, new_page: NewPage) -> None:
    page = new_page(own=True)
    notified(page, "default")
    page.goto(f"{served.url}/settings/you")
    part = page.get_by_role("region", name="Browser notifications", exact=True)
    part.get_by_role("button", name="Allow notifications").click()
    switch = part.get_by_role("switch", name=re.compile("look elsewhere"))
    expect(switch).to_be_checked()
    assert page.evaluate("asked") == 1
    switch.uncheck()
    expect(switch).not_to_be_checked()
    assert faults(page) == []
