"""`bethink vault facts` and what `vault check` says of memories' lines."""

from __future__ import annotations

from tests.command_line import CommandLine


def test_vanished_lines_are_told_and_answered_for(plain: CommandLine) -> None:
    plain("vault", "init")
    plain("memory", "add", "Likes tea")
    page = plain.data / "vault" / "memories" / "general.md"
    assert "- Likes tea ^fact-" in page.read_text()
    assert plain("vault", "facts").out == "1 memory is a line of a page\n"
    page.unlink()
    asked = plain("vault", "facts")
    assert "disappeared" in asked.out
    assert "--restore" in asked.err
    assert "disappeared" in plain("vault", "check").out
    assert "Likes tea" in plain("memory", "list").out
    assert "1 vanished lines: written again" in plain("vault", "facts", "--restore").err
    assert "- Likes tea ^fact-" in page.read_text()
    assert plain("vault", "facts", "--json").documents[0]["problems"] == []


def test_a_folder_that_is_gone_is_told_and_brought_back(plain: CommandLine) -> None:
    plain("vault", "init")
    plain("memory", "add", "Likes tea")
    folder = plain.data / "vault"
    folder.rename(plain.data / "elsewhere")
    told = plain("vault", "facts")
    assert told.out == "0 memories are lines of pages\n"
    assert "folder is missing" in told.err
    checked = plain("vault", "check")
    assert "folder is missing" in checked.err
    assert "No problems found" not in checked.err
    listed = plain("vault", "list")
    assert "folder is missing" in listed.err
    assert "no pages" not in listed.err
    told = {one["part"]: (one["state"], one["message"]) for one in plain("doctor", "--json").documents}
    assert told["vault"][0] == "broken"
    assert "folder is missing" in told["vault"][1]
    plain("vault", "init")
    assert "disappeared" in plain("vault", "facts").out
    assert "1 vanished lines: written again" in plain("vault", "facts", "--restore").err
    assert "Likes tea" in (folder / "memories" / "general.md").read_text()
