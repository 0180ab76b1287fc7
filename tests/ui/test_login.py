"""Signing in to the page of a Bethink that has users, and out again."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests import warm
from tests.postgres_server import database_of
from tests.ui.acts import faults
from tests.ui.running import PICTURES, bethink

pytestmark = pytest.mark.timeout(120)


def command(data: Path, *words: str, typed: str = "") -> str:
    """What `bethink` prints, beside the server that runs."""
    return subprocess.run(
        [*warm.program(warm.BETHINK), "--data", data, *words],
        check=True,
        capture_output=True,
        text=True,
        input=typed,
        env={**os.environ, **database_of(data)},
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


def test_who_has_the_set_up_key_becomes_the_first_user_and_goes_on(page: Page, tmp_path: Path) -> None:
    public = {"BETHINK_PUBLIC_URLS": "https://bethink.example"}
    with bethink(tmp_path, None, **public) as served:
        page.goto(served.url)
        expect(page.get_by_role("heading", name="Set up Bethink")).to_be_visible()
        expect(page.get_by_label("Set-up key")).to_be_focused()
        assert faults(page) == []
        page.get_by_label("Set-up key").fill("a key that nobody has printed")
        page.get_by_label("Your name").fill("ann")
        page.get_by_label("Password").fill("correct horse battery")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).not_to_be_empty()
        page.get_by_label("Set-up key").fill((tmp_path / "setup.key").read_text(encoding="utf-8").strip())
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Choose a model")).to_be_visible()
        page.goto(f"{served.url}/settings/keys")
        expect(page.get_by_role("list", name="Users")).to_contain_text("administrator")


def test_the_first_user_of_this_machine_is_made_in_settings(page: Page, tmp_path: Path) -> None:
    with bethink(tmp_path, None) as served:
        served.post("/memories", {"content": "Plays the viola"})
        page.goto(f"{served.url}/settings/keys")
        page.get_by_role("button", name="Add the first user").click()
        page.get_by_label("Name").fill("ann")
        page.get_by_label(re.compile("Password")).fill("correct horse battery")
        page.keyboard.press("Enter")
        expect(page.get_by_role("list", name="Users")).to_contain_text("ann")
        page.goto(f"{served.url}/memory")
        expect(page.get_by_text("Plays the viola").first).to_be_visible()


@pytest.mark.requirement("U7")
def test_the_first_user_who_lost_the_password_and_the_key_gets_in_again(page: Page, tmp_path: Path) -> None:
    with bethink(tmp_path, None) as served:
        command(tmp_path, "users", "add", "ann")
        command(tmp_path, "users", "password", "ann", typed="the one that is lost\n")
        old_key = command(tmp_path, "users", "key", "add", "ann").strip()
        page.goto(f"{served.url}/settings/keys")
        page.get_by_role("button", name="Use a name and a password").click()
        page.get_by_text("No key, or a lost password?").click()
        told = page.get_by_role("group")
        for line in ("bethink users list", "bethink users password NAME", "bethink users key add NAME"):
            expect(told.get_by_text(line, exact=True)).to_be_visible()
        assert faults(page) == []
        page.screenshot(path=PICTURES / "login-lost.png")
        assert "ann" in command(tmp_path, "users", "list")
        command(tmp_path, "users", "password", "ann", typed="a new one to remember\n")
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password").fill("the one that is lost")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("Sign-in failed")
        page.get_by_label("Password").fill("a new one to remember")
        page.keyboard.press("Enter")
        expect(page.get_by_role("list", name="Users")).to_contain_text("administrator")
        lost = json.loads(command(tmp_path, "users", "key", "list", "ann", "--json"))
        command(tmp_path, "users", "key", "revoke", lost["id"])
        key = command(tmp_path, "users", "key", "add", "ann", "--label", "laptop").strip()
        assert key != old_key
        page.goto(f"{served.url}/settings/you")
        page.get_by_role("button", name="Sign out").click()
        for one, fault in ((old_key, "Sign-in failed"), (key, "")):
            page.get_by_label("Key", exact=True).fill(one)
            page.keyboard.press("Enter")
            if fault:
                expect(page.get_by_role("alert")).to_contain_text(fault)
        expect(page.get_by_role("navigation", name="Rooms")).to_be_visible()


def test_who_is_no_administrator_sees_their_own_settings_and_no_others(page: Page, tmp_path: Path) -> None:
    with bethink(tmp_path, None) as served:
        command(tmp_path, "users", "add", "ann")
        command(tmp_path, "users", "add", "bob")
        key = command(tmp_path, "users", "key", "add", "bob").strip()
        page.goto(f"{served.url}/settings/you")
        page.get_by_label("Key", exact=True).fill(key)
        page.keyboard.press("Enter")
        expect(page.get_by_label("Your instructions")).to_be_visible()
        for place in ("model", "assistants", "web", "advanced"):
            page.goto(f"{served.url}/settings/{place}")
            expect(page.get_by_text("Only administrators see and change these settings.")).to_be_visible()
            assert faults(page) == []
        page.goto(f"{served.url}/settings/about")
        expect(page.get_by_text("Only administrators see what was changed.")).to_be_visible()
        page.goto(f"{served.url}/setup/model")
        expect(page.get_by_text("Ask an administrator to choose a model.")).to_be_visible()
