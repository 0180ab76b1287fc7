"""Signing in to the page of a Bethink that has users, and out again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.acts import faults
from tests.ui.running import bethink

pytestmark = pytest.mark.timeout(120)


def command(data: Path, *words: str) -> str:
    """What `bethink` prints, beside the server that runs."""
    program = Path(sys.executable).with_name("bethink")
    return subprocess.run(
        [program, "--data", data, *words], check=True, capture_output=True, text=True
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
        page.get_by_label("Key", exact=True).fill("bk_wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("This opens nothing")
        page.get_by_label("Key", exact=True).fill(key)
        page.keyboard.press("Enter")
        expect(page.get_by_role("article", name="Plays the viola")).to_be_visible()
        page.goto(f"{served.url}/settings")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in to Bethink")).to_be_visible()
