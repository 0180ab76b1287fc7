"""Signing in to the page of a Bethink that has users, and out again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests import warm
from tests.ui.acts import faults
from tests.ui.running import bethink

pytestmark = pytest.mark.timeout(120)


def command(data: Path, *words: str) -> str:
    """What `bethink` prints, beside the server that runs."""
    program = warm.program(warm.BETHINK)
    return subprocess.run(
        [*program, "--data", data, *words], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.requirement("U7")
def test_who_has_a_key_signs_in_where_they_wanted_to_go_and_out_again(page: Page, tmp_path: Path) -> None:
    with bethink(tmp_path, None) as served:
        served.post("/memories", {"content": "Plays the viola"})
        command(tmp_path, "users", "add", "ann")
        key = command(tmp_path, "users", "key", "add", "ann").strip()
        page.goto(f"{served.url}/memory")
        expect(page.get_by_role("heading", name="Sign in to Bethink")).to_be_visible()
        assert faults(page) == []
        field = page.get_by_label("Key", exact=True).bounding_box()
        assert field is not None
        assert field["width"] < 480
        assert field["x"] + field["width"] / 2 == pytest.approx(680, abs=8)
        page.get_by_label("Key", exact=True).fill("bk_wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("Sign-in failed")
        page.get_by_label("Key", exact=True).fill(key)
        page.keyboard.press("Enter")
        expect(page.get_by_role("article", name="Plays the viola")).to_be_visible()
        expect(page.get_by_role("main")).to_be_focused()
        page.goto(f"{served.url}/settings/you")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in to Bethink")).to_be_visible()


@pytest.mark.requirement("U7")
def test_signing_out_says_what_failed_and_is_no_error_for_who_is_out_already(
    page: Page, tmp_path: Path
) -> None:
    with bethink(tmp_path, None) as served:
        command(tmp_path, "users", "add", "ann")
        key = command(tmp_path, "users", "key", "add", "ann").strip()
        leave = page.get_by_role("button", name="Sign out")
        full = '{"title": "The disk is full", "detail": "Make room."}'
        answers = [(503, full), (401, '{"title": "Not signed in"}')]

        def answer(route: Route) -> None:
            if route.request.method != "DELETE":
                route.continue_()
                return
            status, body = answers.pop(0)
            route.fulfill(status=status, content_type="application/problem+json", body=body)

        page.route("**/session", answer)
        page.goto(f"{served.url}/settings/you")
        page.get_by_label("Key", exact=True).fill(key)
        page.keyboard.press("Enter")
        leave.click()
        expect(page.get_by_text("Make room.")).to_be_visible()
        with page.expect_navigation(url=f"{served.url}/"):
            leave.click()
