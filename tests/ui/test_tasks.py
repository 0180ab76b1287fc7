"""The room of tasks: as a list by day and as a board, by mouse and by keys alone."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.ui.acts import chosen, faults, kept
from tests.ui.conftest import NewPage
from tests.ui.running import PICTURES, Served, today

pytestmark = [pytest.mark.timeout(90), pytest.mark.requirement("R154")]

_SMALL = """() => [...document.querySelectorAll("main :is(button, a, summary, input, label:has(> input))")]
    .filter((one) => one.checkVisibility() && !one.closest("label:has(> input) > *, fieldset[aria-label] *"))
    .map((one) => [one.ariaLabel ?? one.textContent, one.getBoundingClientRect()])
    .filter(([, box]) => box.width && (box.width < 24 || box.height < 24))
    .map(([name]) => name)"""


def _task(served: Served, title: str, **fields: object) -> str:
    """Keep a task; its id."""
    return served.post("/tasks", {"title": title, **fields})["id"]


def _in(days: int) -> str:
    return (today() + timedelta(days=days)).isoformat()


def _row(page: Page, title: str) -> Locator:
    return page.locator("[data-row]").filter(has=page.get_by_role("link", name=title, exact=True))


def _column(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def _carry(page: Page, what: Locator, to: Locator) -> None:
    """By the mouse, in steps, as a hand does."""
    start, end = what.bounding_box(), to.bounding_box()
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + 12)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] - 8, steps=6)
    page.mouse.up()


def test_tasks_stand_by_the_day_they_are_due_and_are_ticked_off(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/tasks")
    expect(page.get_by_role("heading", name="Nothing to do")).to_be_visible()
    assert faults(page) == []
    _task(served, "Pay the rent", due_date=_in(-3), priority="urgent", tags=["home"])
    _task(served, "Water the plants", due_date=_in(0))
    _task(served, "Book the night train", due_date=_in(4), project="Lisbon")
    _task(served, "Learn the second movement")
    page.reload()
    for group, title in (
        ("Overdue", "Pay the rent"),
        ("Today", "Water the plants"),
        ("Next 7 days", "Book the night train"),
        ("Without a date", "Learn the second movement"),
    ):
        expect(page.locator(f"[data-group='{group}']").get_by_role("link", name=title)).to_be_visible()
    expect(_row(page, "Pay the rent")).to_contain_text("Overdue:")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "tasks.png")

    page.get_by_role("button", name="Done: Water the plants").click()
    expect(page.get_by_text("“Water the plants”: done")).to_be_visible()
    expect(_row(page, "Water the plants")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(_row(page, "Water the plants")).to_be_visible()

    page.get_by_role("button", name="Filters").click()
    form = page.get_by_role("dialog", name="Filters and order")
    assert faults(page) == []
    chosen(form, "Due", "Overdue")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?due=overdue$"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Filters (1)")).to_be_focused()
    page.get_by_role("button", name="Show all").click()
    page.get_by_label("Search tasks").fill("night train")
    expect(page.locator("[data-group='Best first'] [data-row]").first).to_contain_text("Book the night train")


def test_a_task_is_written_in_words_and_what_is_understood_shows(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/tasks")
    expect(page.get_by_role("heading", name="Nothing to do")).to_be_visible()
    page.keyboard.press("n")
    field = page.get_by_label("New task in words")
    expect(field).to_be_focused()
    page.keyboard.type("Call Bruna tomorrow at 5 #family !high")
    understood = page.get_by_role("list", name="Understood")
    for words in ("Call Bruna", "17:00", "High priority", "#family"):
        expect(understood).to_contain_text(words)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "tasks-quick-add.png")
    page.keyboard.press("Enter")
    expect(_row(page, "Call Bruna")).to_contain_text("Tomorrow, 17:00")
    expect(field).to_have_value("")

    page.keyboard.type("Water the plants at 6 tomorrow")
    expect(page.get_by_text("Which one is meant?")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Which one is meant?")).to_have_count(0)
    expect(understood).to_contain_text("Water the plants")


def test_what_is_typed_while_a_task_is_being_added_is_the_next_one(served: Served, page: Page) -> None:
    page.goto(f"{served.url}/tasks")
    field = page.get_by_label("New task in words")
    held: list[Route] = []
    page.route(
        re.compile("/tasks$"),
        lambda route: held.append(route) if route.request.method == "POST" else route.continue_(),
    )
    field.fill("Buy seeds")
    field.press("Enter")
    adding = kept(page, held)
    field.fill("Water the plants")
    adding.continue_()
    expect(_row(page, "Buy seeds")).to_be_visible()
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_enabled()
    expect(field).to_have_value("Water the plants")
    page.unroute_all()
    field.press("Enter")
    expect(_row(page, "Water the plants")).to_be_visible()
    expect(field).to_have_value("")


def test_what_is_being_typed_in_a_task_stays_while_it_is_changed_elsewhere(
    served: Served, page: Page
) -> None:
    task = _task(served, "Call Bruna", description="About the roof")
    page.goto(f"{served.url}/tasks/{task}")
    notes, title = page.get_by_label("Notes"), page.get_by_label("Title")
    expect(notes).to_have_value("About the roof")
    notes.fill("About the roof, and the garden")
    served.patch(f"/tasks/{task}", {"title": "Ring Bruna", "description": "About the lift"})
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    # What was not being typed is as it is elsewhere.
    expect(title).to_have_value("Ring Bruna")
    expect(notes).to_have_value("About the roof, and the garden")
    notes.blur()
    expect(page.get_by_text("“Ring Bruna” was changed")).to_be_visible()
    assert served.get(f"/tasks/{task}")["description"] == "About the roof, and the garden"


def test_several_tasks_are_done_and_brought_back_at_once(served: Served, page: Page) -> None:
    for title in ("Sow the beans", "Rake the leaves", "Mend the fence"):
        _task(served, title)
    page.goto(f"{served.url}/tasks")
    page.get_by_label("Select Sow the beans").check()
    page.get_by_label("Select Mend the fence").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("button", name="Done", exact=True).click()
    expect(page.locator("[data-row]")).to_have_count(1)
    page.keyboard.press("u")
    expect(page.locator("[data-row]")).to_have_count(3)


def test_the_list_is_worked_by_keys_alone(served: Served, page: Page) -> None:
    _task(served, "First", due_date=_in(1))
    _task(served, "Second", due_date=_in(2))
    page.goto(f"{served.url}/tasks")
    expect(_row(page, "Second")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(_row(page, "Second")).to_have_count(0)
    page.keyboard.press("u")
    expect(_row(page, "Second")).to_be_visible()
    _row(page, "First").get_by_role("link").focus()
    page.keyboard.press("a")
    expect(_row(page, "First")).to_have_count(0)
    page.keyboard.press("u")
    expect(_row(page, "First")).to_be_visible()
    _row(page, "First").get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Task")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/tasks/[\w-]{20,}$"))


def test_a_task_is_changed_field_by_field_and_has_parts(served: Served, page: Page) -> None:
    first = _task(served, "Ask for the keys")
    task = _task(served, "Move house")
    page.goto(f"{served.url}/tasks/{task}")
    pane = page.get_by_role("complementary", name="Task")
    title = pane.get_by_label("Title")
    title.fill("Move into the new house")
    title.press("Enter")
    expect(_row(page, "Move into the new house")).to_be_visible()
    chosen(pane, "State", "In progress")
    pane.get_by_label("Due").fill(_in(2))
    pane.get_by_label("Due").press("Enter")
    expect(_row(page, "Move into the new house").locator("[data-facts]")).to_contain_text(re.compile(r"\d"))
    pane.get_by_label("Another task that comes first").fill("ask for")
    page.get_by_role("option", name="Ask for the keys").click()
    expect(pane.get_by_role("button", name="Ask for the keys", exact=True)).to_be_visible()
    assert faults(page) == []
    page.screenshot(path=PICTURES / "task.png")
    kept = served.get(f"/tasks/{task}")
    assert (kept["title"], kept["status"], kept["due_date"]) == (
        "Move into the new house",
        "in_progress",
        _in(2),
    )
    assert [need["id"] for need in kept["depends_on"]] == [first]
    pane.get_by_role("button", name="Delete").click()
    expect(pane).to_have_count(0)
    page.get_by_role("button", name="Undo").last.click()
    expect(_row(page, "Move into the new house")).to_be_visible()


def test_of_a_long_list_only_what_is_in_view_exists(served: Served, page: Page) -> None:
    for number in range(230):
        _task(served, f"Task number {number}", due_date=_in(1 + number))
    page.goto(f"{served.url}/tasks")
    expect(_row(page, "Task number 0")).to_be_visible()
    _row(page, "Task number 0").get_by_role("link").focus()
    for _ in range(30):
        page.keyboard.press("j")
    expect(_row(page, "Task number 30").get_by_role("link")).to_be_focused()
    assert page.locator("[data-row]").count() < 60
    # The next page is read on the way.
    page.wait_for_function(
        """() => {
            document.querySelector("[data-group]").closest(".scroll").scrollTop = 1e6;
            return [...document.querySelectorAll("[data-row] > a")].at(-1)?.textContent === "Task number 229";
        }"""
    )
    assert page.locator("[data-row]").count() < 60


def test_on_the_board_tasks_are_carried_by_mouse_and_by_keys(served: Served, page: Page) -> None:
    for title in ("One", "Two", "Three"):
        _task(served, title)
    page.goto(f"{served.url}/tasks/board")
    todo, doing = _column(page, "To do"), _column(page, "In progress")
    expect(todo.locator("[data-row]")).to_have_count(3)
    assert faults(page) == []
    page.screenshot(path=PICTURES / "board.png")
    _carry(page, _row(page, "Two"), doing)
    expect(doing.get_by_role("link", name="Two")).to_be_visible()
    expect(page.get_by_text("“Two” is in In progress")).to_be_visible()

    _row(page, "Three").get_by_role("link").focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(todo.locator("[data-row]").first).to_contain_text("Three")
    expect(_row(page, "Three").get_by_role("link")).to_be_focused()
    page.keyboard.press("Alt+ArrowRight")
    expect(doing.locator("[data-row]").first).to_contain_text("Three")
    expect(todo.get_by_role("link", name="Three")).to_have_count(0)
    expect(_row(page, "Three").get_by_role("link")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(_row(page, "Two").get_by_role("link")).to_be_focused()
    expect(page.get_by_text("“Three” is in In progress")).to_be_visible()
    page.reload()
    expect(doing.locator("[data-row]").first).to_contain_text("Three")


def test_within_a_column_the_mouse_puts_a_card_above_another_and_it_stays_there(
    served: Served, page: Page
) -> None:
    for title in ("One", "Two", "Three"):
        _task(served, title)
    page.goto(f"{served.url}/tasks/board")
    cards = _column(page, "To do").locator("[data-row]")
    expect(cards).to_have_count(3)
    titles = cards.all_inner_texts()
    last, first = cards.last.bounding_box(), cards.first.bounding_box()
    assert last is not None
    assert first is not None
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + 12)
    page.mouse.down()
    page.mouse.move(first["x"] + first["width"] / 2, first["y"] + 4, steps=6)
    page.mouse.up()
    expect(page.get_by_text("is in To do")).to_be_visible()
    page.reload()
    expect(cards).to_have_count(3)
    assert cards.all_inner_texts() == [titles[2], titles[0], titles[1]]


def test_a_card_that_keys_carry_twice_at_once_is_in_one_column_alone_all_the_time(
    served: Served, page: Page
) -> None:
    _task(served, "Carried")
    page.goto(f"{served.url}/tasks/board")
    expect(_row(page, "Carried")).to_have_count(1)
    page.evaluate(
        """() => {
            globalThis.most = 0;
            const look = () => {
                const cards = document.querySelectorAll("[data-status] [data-row]").length;
                globalThis.most = Math.max(globalThis.most, cards);
            };
            new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
        }"""
    )
    _row(page, "Carried").get_by_role("link").focus()
    page.keyboard.press("Alt+ArrowRight")
    page.keyboard.press("Alt+ArrowRight")
    expect(_column(page, "Blocked").locator("[data-row]")).to_have_count(1)
    expect(_row(page, "Carried").get_by_role("link")).to_be_focused()
    expect(page.get_by_text("“Carried” is in Blocked")).to_be_visible()
    with page.expect_response(
        lambda response: '"blocked"' in (response.request.post_data or ""), timeout=60_000
    ):
        page.keyboard.press("Alt+ArrowLeft")
        page.keyboard.press("Alt+ArrowRight")
    assert page.evaluate("globalThis.most") == 1
    page.reload()
    expect(_column(page, "Blocked").locator("[data-row]")).to_have_count(1)


def test_moves_of_several_cards_are_each_shown_once_and_kept_in_order(served: Served, page: Page) -> None:
    for title in ("One", "Two", "Three"):
        _task(served, title)
    page.goto(f"{served.url}/tasks/board")
    doing = _column(page, "In progress")
    expect(_column(page, "To do").locator("[data-row]")).to_have_count(3)
    page.evaluate(
        """() => {
            globalThis.twice = 0;
            const look = () => {
                const cards = [...document.querySelectorAll("[data-status] [data-row]")];
                globalThis.twice += cards.length - new Set(cards.map((card) => card.dataset.row)).size;
            };
            new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
        }"""
    )
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "PATCH" and not held:
            held.append(route)
        else:
            route.fallback()

    page.route("**/tasks/*", hold)
    for number, title in enumerate(("One", "Two", "Three"), 1):
        _carry(page, _row(page, title), doing)
        expect(doing.locator("[data-row]")).to_have_count(number)
    held[0].fallback()
    for title in ("One", "Two", "Three"):
        expect(page.get_by_text(f"“{title}” is in In progress")).to_be_visible()
    expect(doing.locator("li[class*=draft]")).to_have_count(0)
    order = doing.locator("[data-row]").all_inner_texts()
    assert page.evaluate("globalThis.twice") == 0
    page.reload()
    expect(doing.locator("[data-row]")).to_have_count(3)
    assert doing.locator("[data-row]").all_inner_texts() == order


def test_the_board_of_a_phone_begins_with_the_first_column_that_has_tasks(
    served: Served, new_page: NewPage
) -> None:
    _task(served, "Only this", status="in_progress")
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(f"{served.url}/tasks/board")
    expect(_row(page, "Only this")).to_be_in_viewport()
    expect(_column(page, "Backlog").get_by_role("heading")).not_to_be_in_viewport()


def test_how_a_task_repeats_is_chosen_or_said_in_words(served: Served, page: Page) -> None:
    task = _task(served, "Pay the rent", due_date="2027-03-10", recurrence="FREQ=MONTHLY;BYMONTHDAY=3")
    page.goto(f"{served.url}/tasks/{task}")
    pane = page.get_by_role("complementary", name="Task")
    repeats = pane.get_by_role("combobox", name="Repeats")
    expect(repeats).to_have_text("Every month on the 3rd day")
    chosen(pane, "Repeats", "Every Wednesday")
    expect(repeats).to_have_text("Every Wednesday")
    assert served.get(f"/tasks/{task}")["recurrence"] == "FREQ=WEEKLY;BYDAY=WE"
    chosen(pane, "Repeats", "In my own words")
    pane.get_by_label("How it repeats").fill("jeden 2. Freitag")
    pane.get_by_label("How it repeats").press("Enter")
    expect(pane.get_by_label("How it repeats")).to_have_count(0)
    assert "INTERVAL=2" in served.get(f"/tasks/{task}")["recurrence"]
    chosen(pane, "Repeats", "Does not repeat")
    expect(repeats).to_have_text("Does not repeat")
    assert served.get(f"/tasks/{task}")["recurrence"] is None
    assert faults(page) == []


def test_what_can_be_said_in_the_line_of_a_new_task_shows_while_it_is_used(
    served: Served, page: Page
) -> None:
    page.goto(f"{served.url}/tasks")
    hint, field = page.get_by_text("+project say more"), page.get_by_label("New task in words")
    expect(field).to_be_visible()
    expect(hint).to_be_hidden()
    below = page.locator("main").bounding_box()
    field.focus()
    expect(hint).to_be_visible()
    assert page.locator("main").bounding_box() == below
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(hint).to_be_hidden()


def test_tasks_fit_a_phone(served: Served, new_page: NewPage) -> None:
    _task(served, "Write the letter to the tax office about the workshop", due_date=_in(0), priority="high")
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True, color_scheme="dark")
    page.goto(f"{served.url}/tasks")
    expect(page.locator("[data-row]")).to_have_count(1)
    assert page.evaluate(_SMALL) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "tasks-phone.png")
    # A box to choose by and a circle to tick off stand together only while several are chosen.
    box = page.get_by_role("checkbox", name=re.compile("Select Write"))
    expect(box).to_have_count(0)
    page.get_by_role("button", name="Select several").tap()
    box.tap()
    expect(page.get_by_text("1 selected")).to_be_visible()
    assert page.evaluate(_SMALL) == []
    page.get_by_role("button", name="Select several").tap()
    expect(box).to_have_count(0)
    page.get_by_role("link", name=re.compile("tax office")).click()
    expect(page.get_by_role("dialog", name="Task")).to_be_visible()
    assert faults(page) == []
