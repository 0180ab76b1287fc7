"""`bethink vault …`, through `main`, on a database and a folder of its own."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from tests.command_line import CommandLine, masked

# Each command opens all of Bethink.
pytestmark = pytest.mark.timeout(60)


def test_a_vault_is_made_and_listed(plain: CommandLine) -> None:
    assert "doctor" not in plain("doctor").err
    assert plain("vault", "list").err == snapshot(
        "There are no pages here yet: `bethink vault init` makes the first one.\n"
    )
    made = plain("vault", "init")
    assert made.out == f"The vault is at {plain.data / 'vault'}\n"
    assert plain("vault", "init").out.endswith("already, with 1 page\n")
    assert masked(plain("vault", "list").out) == snapshot("<date>         11  user.md\n")
    assert plain("vault", "show", "user.md").out == "# About me\n"


def test_a_page_is_changed_looked_at_and_brought_back(plain: CommandLine) -> None:
    path = "entities/jane_doe.md"
    created = plain("vault", "edit", path, "--stdin", "--note", "met her", piped="- employer: Initech\r\n")
    assert masked(created.out + created.err) == snapshot("""\
Created: entities/jane_doe.md
undo: bethink vault undo page:<1>
""")
    (plain.data / "vault" / path).write_bytes(b"- employer: Globex\r\n")
    history = plain("vault", "history", path)
    assert masked(history.out) == snapshot("""\
<1>  <date>  written by another program
<2>  <date>  created by you  met her
""")
    assert masked(plain("vault", "diff", path).out).splitlines()[2:] == snapshot(
        ["@@ -1 +1 @@", "-- employer: Initech", "+- employer: Globex"]
    )
    first = history.out.splitlines()[1].split()[0]
    assert (
        plain("vault", "show", path, "--version", first, "--json").documents[0]["text"]
        == "- employer: Initech\r\n"
    )
    assert plain("vault", "restore", path, first).out == "Written: entities/jane_doe.md\n"
    assert (plain.data / "vault" / path).read_bytes() == b"- employer: Initech\r\n"
    moved = plain("vault", "move", path, "people/jane.md")
    assert moved.out == "Moved: entities/jane_doe.md is people/jane.md now\n"
    assert plain("vault", "undo", moved.err.split()[-1]).code == 0
    deleted = plain("vault", "delete", path)
    assert deleted.out == "Deleted: entities/jane_doe.md\n"
    assert plain("vault", "show", path).code == 2
    plain("vault", "undo", deleted.err.split()[-1])
    assert plain("vault", "show", path).out == "- employer: Initech\r\n"


def test_files_are_taken_in_and_found(plain: CommandLine) -> None:
    plain("vault", "init")
    folder = plain.data / "vault"
    (folder / "trip.md").write_text("# Trip\n- hotel: Zembrovia\n")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    assert "2 changed files" in plain("doctor").out
    synced = plain("vault", "sync")
    assert synced.out == snapshot("2 pages: 1 read again, 0 moved, 0 removed\n")
    assert synced.err == snapshot("not read: latin.md: it is not UTF-8 text\n")
    assert "- hotel: Zembrovia" in plain("memory", "search", "Zembrovia", "hotel").out
    assert "latin.md is not read: it is not UTF-8 text" in plain("doctor").out
    assert plain("vault", "sync", "--rebuild", "--json").documents[0]["taken"] == 2
