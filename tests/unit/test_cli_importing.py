"""`bethink import`: look, take in, list, take back; and what a killed import leaves goes on."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command_line import CommandLine
from tests.exports import asked_and_answered, zipped


def export(tmp_path: Path) -> str:
    talks = [asked_and_answered(f"Talk {n}", f"Question {n}", "Yes") for n in range(3)]
    return str(zipped(tmp_path / "chats.zip", {"conversations.json": [*talks, {"title": "Broken"}]}))


def test_an_export_is_looked_at_taken_in_listed_and_taken_back(plain: CommandLine, tmp_path: Path) -> None:
    path = export(tmp_path)
    looked = plain("import", path, "--preview")
    assert (looked.code, "3  conversations new" in looked.out) == (0, True)
    assert "Broken: It contains no messages." in looked.err
    assert plain("import", "--list").out == ""

    done = json.loads(plain("import", path, "--into", "both", "--topics", "none", "--json").out)
    assert (done["state"], done["report"]["conversations"]["new"], done["report"]["pages"]["new"]) == (
        "done",
        3,
        3,
    )
    assert "3 conversations, 3 pages" in plain("import", "--list").out
    assert json.loads(plain("import", path, "--json").out)["report"]["conversations"]["known"] == 3

    undone = plain("import", "--undo", done["id"])
    assert (undone.code, "3  pages gone" in undone.out) == (0, True)
    assert plain("vault", "list").out == ""


def test_what_is_no_export_ends_with_bad_input(plain: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "cat.jpg").write_bytes(b"\xff")
    refused = plain("import", str(tmp_path / "cat.jpg"))
    assert refused.code == 2
    assert "not a known export" in refused.err
    assert plain("import", str(tmp_path / "nothing.zip")).code == 2
    assert plain("import", "--undo", "nothing").code == 2
    assert plain("import").code == 2
