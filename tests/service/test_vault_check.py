"""The check of the vault finds what is wrong, and mends what it can by changes that can be taken back."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from tests.command_line import CommandLine
from tests.sample_vaults import lay_out

pytestmark = pytest.mark.timeout(60)
PAGES = {
    "user.md": "- friend: [[Jane Doe|her]]\r\n- at: [[entities/acme_gmbh.md]] [[entities/acme_gmb]]\r\n"
    "- [[xyz]]",
    "entities/jane_doe.md": "# Jane Doe\n- at: [[acme]]\n",
    "entities/acme_gmbh.md": "# ACME GmbH\n",
    "copy.md": "# ACME GmbH\n",
    "people/j_doe.md": "---\naliases: [Jane Doe]\n---\n",
    "bad.md": "---\na: [1\n---\ntext",
}


def test_what_is_wrong_is_told_with_what_may_be_meant(plain: CommandLine) -> None:
    pages = {**PAGES}
    del pages["people/j_doe.md"]
    lay_out(pages, plain.data / "vault")
    (plain.data / "vault" / "latin.md").write_bytes(b"caf\xe9")
    (plain.data / "vault" / "big.md").write_text("x" * 1_000_001)
    told = plain("vault", "check")
    assert told.out == snapshot("""\
bad.md:1  The front matter cannot be read: line 3: did not find expected ',' or ']'.
big.md  It was skipped: it is larger than a page may be.
copy.md  It has the same name as entities/acme_gmbh.md: are they the same thing?
entities/acme_gmbh.md  It says exactly what copy.md says.
entities/jane_doe.md:2  [[acme]] leads to no page.  Perhaps copy.md, entities/acme_gmbh.md?
latin.md  It was skipped: it is not UTF-8 text.
user.md:1  [[Jane Doe]] leads to no page.  Perhaps entities/jane_doe.md?
user.md:2  [[entities/acme_gmb]] leads to no page.  Perhaps copy.md, entities/acme_gmbh.md?
user.md:3  [[xyz]] leads to no page.
""")
    assert told.err == snapshot("8 of these can be repaired: --repair shows how, and asks.\n")
    kinds = [one["kind"] for one in plain("vault", "check", "--json").documents]
    assert {*kinds} == {"broken_link", "same_content", "same_name", "front_matter", "unread"}


def test_repairs_change_nothing_else_and_can_be_taken_back(plain: CommandLine) -> None:
    lay_out(
        {name: PAGES[name] for name in ("user.md", "entities/jane_doe.md", "entities/acme_gmbh.md")},
        plain.data / "vault",
    )
    page = plain.data / "vault" / "user.md"
    before = page.read_bytes()
    assert "There is no terminal" in plain("vault", "check", "--repair").err
    assert page.read_bytes() == before
    made = plain("vault", "check", "--repair", "--yes")
    assert page.read_bytes().decode() == (
        "- friend: [[jane_doe|her]]\r\n- at: [[entities/acme_gmbh.md]] [[entities/acme_gmbh]]\r\n- [[xyz]]"
    )
    assert "+- friend: [[jane_doe|her]]" in made.out
    tokens = [line.split()[-1] for line in made.err.splitlines() if line.startswith("undo: ")]
    assert made.err.endswith("2 more have alternatives: --repair without --yes asks.\n")
    plain("vault", "undo", *reversed(tokens))
    assert page.read_bytes() == before


def test_at_a_terminal_each_is_asked_for_shown_and_then_made(plain: CommandLine) -> None:
    lay_out({"user.md": "[[xyz|this]] [[xyz]]\n", "Odd: Name.md": "# Odd\n"}, plain.data / "vault")
    with plain.terminal("vault", "check", "--repair") as terminal:
        assert "1  Rename it to odd_name.md, and update the links to it" in terminal.until("Which? [1-1;")
        terminal.type("\n")
        assert "2  Remove the link [[xyz]], and keep its text" in terminal.until("Which? [1-2;")
        terminal.type("2\n")
        assert "+this xyz" in terminal.until("Make this change? [y/N]")
        terminal.type("y\n")
        terminal.until("Mended: user.md")
        assert terminal.leave() == 0
    assert (plain.data / "vault" / "user.md").read_text() == "this xyz\n"
    assert (plain.data / "vault" / "Odd: Name.md").exists()


def test_a_vault_without_faults_says_so(plain: CommandLine) -> None:
    plain("vault", "init")
    assert plain("vault", "check").err == "No problems found.\n"


def test_links_follow_a_page_that_moves(plain: CommandLine) -> None:
    pages = {
        "user.md": "[[jane_doe]] [[entities/jane_doe.md|her]] [[Jane]]\r\n",
        "entities/jane_doe.md": "---\naliases: [Jane]\n---\n[at](acme.md) [[user]]\n",
        "entities/acme.md": "`[[jane_doe]]` [[nobody]]",
    }
    folder = plain.data / "vault"
    lay_out(pages, folder)
    moved = plain("vault", "move", "entities/jane_doe.md", "people/jane_roe.md", "--links")
    assert moved.code == 0
    assert (folder / "user.md").read_bytes() == b"[[jane_roe]] [[people/jane_roe.md|her]] [[Jane]]\r\n"
    assert (folder / "people" / "jane_roe.md").read_text().endswith("[at](../entities/acme.md) [[user]]\n")
    assert (folder / "entities" / "acme.md").read_text() == pages["entities/acme.md"]
    assert [one["kind"] for one in plain("vault", "check", "--json").documents] == ["broken_link"]
