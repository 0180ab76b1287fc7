"""The room Memory: the story of a fact, what answers, another time, many at once, profile and graph."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.acts import answered, drawn, faults, kept, say
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served, brought_back

pytestmark = pytest.mark.timeout(90)


def _told(served: Served, *contents: str, **more: object) -> list[str]:
    return [served.post("/memories", {"content": one, **more})["memory"]["id"] for one in contents]


def test_from_every_row_leads_a_way_to_the_words_and_the_answers(served: Served, page: Page) -> None:
    page.goto(served.url)
    say(page, "Remember that I collect fountain pens")
    expect(answered(page)).to_be_visible()
    page.goto(f"{served.url}/memory")
    page.get_by_role("list", name="Memories").get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("/memory/.+"))
    source = page.get_by_role("region", name="Where it comes from")
    expect(source).to_contain_text("fountain pens")
    expect(page.get_by_role("region", name="Story")).to_contain_text("Learnt")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "memory-detail.png")
    source.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/c/"))


def test_a_correction_taken_back_in_the_story_leads_to_what_is_true_again(served: Served, page: Page) -> None:
    (first,) = _told(served, "User rows on Sundays")
    page.goto(f"{served.url}/memory/{first}")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Corrected text").fill("User rows on Saturdays")
    page.get_by_role("button", name="Save", exact=True).click()
    receipt = page.get_by_role("region", name="Notifications").get_by_text("The earlier version is kept")
    expect(receipt).to_be_visible()
    # Until its story has been read, the undo there is that of what it corrects.
    corrected = page.get_by_role("region", name="Story").get_by_role("listitem").filter(has_text="Corrected")
    corrected.get_by_role("button", name="Undo").first.click()
    expect(page).to_have_url(re.compile(first))
    expect(page.get_by_role("region", name="This memory")).to_contain_text("Current")
    expect(receipt).to_have_count(0)


def test_what_is_opened_takes_the_place_of_what_was_to_be_added(served: Served, page: Page) -> None:
    _told(served, "User rows on Sundays")
    page.goto(f"{served.url}/memory")
    written = page.get_by_role("form", name="Add a memory")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(written).to_be_visible()
    page.get_by_role("link", name="User rows on Sundays").first.click()
    expect(page.get_by_role("region", name="This memory")).to_contain_text("User rows on Sundays")
    expect(written).to_have_count(0)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(written).to_be_visible()
    page.get_by_role("link", name="Health", exact=True).click()
    expect(page.get_by_role("heading", name="Health", level=2)).to_be_visible()
    expect(written).to_have_count(0)


def test_a_correction_that_is_slow_to_be_saved_offers_no_undo_yet_and_leads_nobody_back(
    served: Served, page: Page
) -> None:
    (first,) = _told(served, "User rows on Sundays")
    page.goto(f"{served.url}/memory/{first}")
    story = page.get_by_role("region", name="Story")
    expect(story.get_by_role("button", name="Undo")).to_be_visible()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Corrected text").fill("User rows on Saturdays")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("/memories"), hold)
    page.get_by_role("button", name="Save", exact=True).click()
    kept(page, held).continue_()
    # It is saved, and what is shown anew is not there yet.
    expect(page.get_by_role("region", name="Notifications")).to_contain_text("The earlier version is kept")
    expect(story).to_be_visible()
    expect(story.get_by_role("button", name="Undo")).to_have_count(0)
    page.get_by_role("link", name="Tasks", exact=True).click()
    expect(page).to_have_url(re.compile("/tasks$"))
    reading = held[1:]
    for each in reading:
        each.continue_()
    for each in reading:
        each.request.response()
    drawn(page)
    expect(page).to_have_url(re.compile("/tasks$"))


def test_a_search_shows_what_answers_and_says_if_nothing_does(served: Served, page: Page) -> None:
    _told(
        served,
        "User drinks coffee without sugar",
        "User's sister Anna lives in Berlin",
        "User plays the cello on Mondays",
    )
    page.goto(f"{served.url}/memory")
    search = page.get_by_role("searchbox", name="Search memory")
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(3)
    search.fill("coffee")
    expect(page.get_by_text("1 memory answers, best first")).to_be_visible()
    expect(rows).to_have_count(1)
    expect(rows.locator("mark")).to_have_text("coffee")
    page.get_by_role("button", name=re.compile("that are near")).click()
    expect(rows).to_have_count(3)
    search.fill("quantum chromodynamics")
    expect(page.get_by_text("Nothing answers that. The nearest are:")).to_be_visible()
    assert faults(page) == []


def test_memory_is_tidied_up_with_a_receipt_and_taken_back(served: Served, page: Page) -> None:
    line = {"type": "fact", "category": "general", "importance": 0.5}
    brought_back(
        served,
        [
            {"content": "The user's favourite colour is blue", **line},
            {"content": "Blue is the user's favourite colour", **line},
        ],
    )
    _told(served, "The user keeps two tortoises")
    page.goto(f"{served.url}/memory/tidying")
    before = len(served.get("/memories")["items"])
    page.get_by_role("button", name="Tidy up now").click()
    receipt = page.get_by_role("list", name="What was done").get_by_role("article").first
    expect(receipt).to_contain_text(f"Looked at {before} memories")
    expect(receipt).to_contain_text("You asked for it")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "memory-tidying.png")
    receipt.get_by_role("button", name="Undo all of it").click()
    expect(receipt).to_contain_text("Undone")
    assert len(served.get("/memories")["items"]) == before


def test_two_names_of_one_person_are_gathered_under_one(served: Served, page: Page) -> None:
    _told(served, "Anna lives in Oslo", "Anna Berg plays chess", "User likes tea")
    page.goto(f"{served.url}/memory/people")
    person = page.get_by_role("region", name="Anna Berg")
    expect(person.get_by_role("listitem")).to_have_count(1)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "memory-people.png")
    person.get_by_role("button", name="Same as…").click()
    page.get_by_role("button", name="Anna", exact=True).click()
    expect(page.get_by_role("region", name="Anna Berg")).to_have_count(0)
    anna = page.get_by_role("region", name="Anna", exact=True)
    expect(anna.get_by_role("listitem")).to_have_count(2)
    expect(anna).to_contain_text("Also called Anna Berg")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "memory-people-one.png")
    anna.get_by_role("button", name="Anna Berg is somebody else").click()
    expect(anna).not_to_contain_text("Also called")
    assert served.get("/memories/aliases")["items"] == []
    page.goto(f"{served.url}/memory/numbers")
    expect(page.get_by_role("row", name=re.compile("3"))).to_be_visible()
    assert faults(page) == []


def test_several_are_selected_and_changed_in_one_step(served: Served, page: Page) -> None:
    _told(served, "Keeps bees", "Lives in Lyon", "Plays the cello", "Owns a tortoise")
    page.goto(f"{served.url}/memory")
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(4)
    page.get_by_role("article", name="Owns a tortoise").focus()
    page.keyboard.press("s")
    page.get_by_role("article", name="Lives in Lyon").click(modifiers=["Shift"])
    bar = page.get_by_role("region", name="What is selected")
    expect(bar).to_contain_text("3 selected")
    assert faults(page) == []
    bar.get_by_role("button", name="Pin these", exact=True).click()
    expect(page.get_by_text("3 memories pinned")).to_be_visible()
    expect(bar).to_have_count(0)
    page.keyboard.press("u")
    expect(page.get_by_role("img", name="pinned")).to_have_count(0)
    page.get_by_role("article", name="Owns a tortoise").focus()
    page.keyboard.press("s")
    page.keyboard.press("j")
    page.keyboard.press("s")
    page.keyboard.press("x")
    expect(rows).to_have_count(2)
    page.keyboard.press("u")
    expect(rows).to_have_count(4)
    page.get_by_role("article", name="Owns a tortoise").focus()
    page.keyboard.press("s")
    page.keyboard.press("j")
    page.keyboard.press("s")
    bar.get_by_role("button", name="Forget these for good").click()
    preview = page.get_by_role("dialog", name="Forget for good")
    expect(preview).to_contain_text("2 memories")
    preview.get_by_role("button", name="Forget", exact=True).click()
    receipt = page.get_by_role("dialog", name="Forgotten")
    expect(receipt).to_contain_text("2 memories are forgotten for good")
    receipt.get_by_role("button", name="Close").last.click()
    expect(rows).to_have_count(2)


def test_the_profile_is_prose_and_each_sentence_leads_to_its_story(served: Served, page: Page) -> None:
    _told(served, "User likes tea", "User's dog is called Pixel", category="preferences")
    _told(served, "User wants to learn Finnish", category="goals")
    page.goto(f"{served.url}/memory")
    expect(page.get_by_text("You like tea.")).to_be_visible()
    expect(page.get_by_role("heading", name="Goals")).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "memory-profile.png")
    page.get_by_role("link", name="Your dog is called Pixel.").click()
    expect(page.get_by_role("region", name="This memory")).to_contain_text("User's dog is called Pixel")


def test_the_graph_leads_to_memories_and_to_what_a_name_finds(served: Served, page: Page) -> None:
    _told(served, "Ines Prata lives in Porto", "User rows with Ines Prata")
    page.goto(f"{served.url}/memory/graph")
    drawing = page.get_by_role("group", name="What memories hang together with")
    name = drawing.get_by_role("link", name=re.compile("^Ines Prata,"))
    expect(name).to_have_accessible_name(re.compile("links to 2"))
    assert faults(page) == []
    page.screenshot(path=PICTURES / "memory-graph.png")
    name.press("Enter")
    expect(page.get_by_role("searchbox", name="Search memory")).to_have_value("Ines Prata")
    drawing.get_by_role("link", name=re.compile("^User rows with")).press("Enter")
    expect(page).to_have_url(re.compile("/memory/(?!graph)"))


def test_likely_duplicates_are_merged_after_a_look(served: Served, page: Page) -> None:
    _told(served, "User drinks coffee without sugar", "User drinks their coffee with no sugar")
    page.goto(f"{served.url}/memory/health")
    found = page.get_by_role("region", name="Likely duplicates (1)")
    found.get_by_role("button", name="Merge").click()
    dialog = page.get_by_role("dialog", name="Merge two memories")
    expect(dialog).to_contain_text("This one stays")
    assert faults(page) == []
    dialog.get_by_role("button", name="Merge", exact=True).click()
    expect(found).to_have_count(0)
    expect(page.locator("[data-row]")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[data-row]")).to_have_count(2)


def test_filters_narrow_with_counts_and_are_cleared(served: Served, page: Page) -> None:
    _told(served, "Keeps bees", category="hobbies")
    _told(served, "Lives in Lyon", pinned=True)
    page.goto(f"{served.url}/memory")
    page.get_by_role("button", name="Filters").click()
    form = page.get_by_role("dialog", name="Filters and order")
    form.get_by_role("combobox", name="Category").click()
    page.get_by_role("option", name="Hobbies (1)").click()
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.get_by_role("button", name="Filters (1)")).to_be_visible()
    assert faults(page) == []
    form.get_by_role("button", name="Clear the filters").click()
    expect(page.locator("[data-row]")).to_have_count(2)
    form.get_by_role("switch", name="Only pinned").click()
    expect(page.get_by_role("article", name="Lives in Lyon")).to_be_visible()
    expect(page.locator("[data-row]")).to_have_count(1)


def test_an_earlier_time_shows_what_was_known_then(served: Served, page: Page) -> None:
    at = "2026-03-05T10:00:00Z"
    old: dict[str, object] = {"kind": "fact", "id": "old", "content": "User lives in Paris", "created_at": at}
    assert brought_back(served, [{"kind": "bethink_memory", "schema": 1}, old])["restored"] == 1
    served.patch("/memories/old", {"content": "User lives in Lyon"})
    page.goto(f"{served.url}/memory")
    expect(page.get_by_role("article", name="User lives in Lyon")).to_be_visible()
    page.get_by_role("button", name="An earlier time").click()
    slider = page.get_by_role("slider", name="Time")
    slider.press("Home")
    expect(page.get_by_text("What was known at the end of March 2026")).to_be_visible()
    expect(page.get_by_role("article", name="User lives in Paris")).to_be_visible()
    expect(page.get_by_role("article", name="User lives in Lyon")).to_have_count(0)
    expect(page.get_by_role("heading", name="Profile at the end of March 2026")).to_be_visible()
    expect(page.get_by_role("link", name="You live in Paris.")).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "memory-time.png")
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_role("article", name="User lives in Lyon")).to_be_visible()


@pytest.mark.parametrize("look", ["light", "dark", "forced"])
def test_each_view_is_accessible_on_a_phone_in_every_light(
    served: Served, new_page: NewPage, look: str
) -> None:
    (first, *_) = _told(served, "User likes spicy food", "User does not like spicy food", "User keeps bees")
    _told(served, "User owns a yacht", suggested=True)
    options = {"forced_colors": "active"} if look == "forced" else {"color_scheme": look}
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True, reduced_motion="reduce", **options)
    for view in ("", "/profile", "/graph", "/review", "/health", f"/{first}"):
        page.goto(f"{served.url}/memory{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("status", name=re.compile("^(Loading|Checking|Drawing)"))).to_have_count(0)
        assert faults(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        page.screenshot(path=PICTURES / f"memory-phone-{look}{view.replace('/', '-')[:9]}.png")
    page.get_by_role("button", name="Memories").click()
    expect(page.get_by_role("list", name="Memories")).to_be_visible()
