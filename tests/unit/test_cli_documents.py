"""`bethink documents`: add, look, search, change, remove."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.library import UNREADABLE, plain_reading

assert plain_reading
pytestmark = pytest.mark.usefixtures("plain_reading")
LEASE = "# Lease\n\nThe rent is due on the third of each month.\f# Notice\n\nThree months' notice is needed."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "papers/old").mkdir(parents=True)
    (tmp_path / "papers/lease.md").write_text(LEASE)
    (tmp_path / "papers/old/ferries.txt").write_text("Boats leave at nine.")
    (tmp_path / "papers/.hidden.txt").write_text("not this")
    return tmp_path / "papers"


def test_a_folder_is_added_searched_and_shown(plain: CommandLine, folder: Path) -> None:
    added = plain("documents", "add", str(folder), "--collection", "Papers", "--tags", "a,b", "--wait")
    assert (added.code, "lease.md" in added.out, "ferries.txt" in added.out) == (0, True, True)
    assert "hidden" not in added.out
    (hit, *_) = plain("documents", "search", "when", "is", "rent", "due", "--json").documents
    assert (hit["name"], hit["page"]) == ("lease.md", 1)
    assert "0." in plain("documents", "search", "notice").out.splitlines()[0]
    assert "lease.md, page 2 › Notice" in plain("documents", "search", "months' notice").out
    assert "Nothing in your documents answers this." in plain("documents", "search", "glacier").err
    assert plain("documents", "show", "lease.md", "--page", "2").out.startswith("# Notice")
    refused = plain("documents", "show", "lease.md", "--page", "3")
    assert (refused.code, "lease.md has 2 pages: there is no page 3." in refused.err) == (2, True)
    assert "ready" in plain("documents", "show", "LEASE.md").out
    assert "2 documents" in plain("documents", "collections", "list").out
    assert [one["name"] for one in plain("documents", "list", "--query", "ferr", "--json").documents] == [
        "ferries.txt"
    ]
    status = plain("documents", "status", "--json").documents[0]
    assert (status["ready"], status["passages"]) == (2, 3)


def test_a_file_that_changed_is_a_newer_version_of_its_document(plain: CommandLine, folder: Path) -> None:
    path = folder / "lease.md"
    (first,) = plain("documents", "add", str(path), "--wait", "--json").documents
    (same,) = plain("documents", "add", str(path), "--wait", "--json").documents
    path.write_text("The rent is due on the fifth.")
    (newer,) = plain("documents", "add", str(path), "--wait", "--json").documents
    assert first["id"] == same["id"] == newer["id"]
    versions = plain("documents", "versions", "lease.md", "--json").documents
    assert [one["current"] for one in versions] == [False, True]
    old = plain("documents", "show", "lease.md", "--page", "1", "--version", versions[0]["content"])
    assert "third" in old.out
    out = folder / "out.md"
    assert plain("documents", "export", "lease.md", str(out), "--version", versions[0]["content"]).code == 0
    assert out.read_text() == LEASE
    assert plain("documents", "export", "lease.md", str(out)).code == 2
    assert plain("documents", "replace", "lease.md", str(out), "--wait").code == 0
    assert len(plain("documents", "versions", "lease.md", "--json").documents) == 3


def test_a_folder_is_watched_by_a_path_from_here(
    plain: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    os.utime(folder / "lease.md", (1, 1))  # nobody writes it any more
    watched = plain("documents", "watch", "papers", "--collection", "Papers", "--extensions", "md", "--json")
    (one,) = watched.documents
    assert (one["path"], one["files"]) == (str(folder), 1)
    assert "papers" in plain("documents", "folders", "list").out
    assert plain("documents", "folders", "sync", "papers").code == 0
    assert plain("documents", "folders", "remove", "papers", "--documents").code == 0
    assert "bethink documents watch" in plain("documents", "folders", "list").err
    assert plain("documents", "folders", "sync", "papers").code == 2


def test_what_fails_is_said_and_the_rest_is_added(plain: CommandLine, folder: Path) -> None:
    (folder / "empty.txt").write_text("")
    (folder / "broken.txt").write_bytes(b"x" + UNREADABLE[1:])
    (folder / "broken.txt").write_bytes(UNREADABLE)
    (folder / "photo.raw").write_bytes(b"\0\1\2\3")
    added = plain("documents", "add", str(folder), str(folder / "broken.txt"), "--wait")
    assert added.code == 1
    assert "empty.txt is empty" in added.err
    assert "broken.txt cannot be read: it is damaged." in added.err
    assert "left out" in added.err
    assert "lease.md" in added.out
    assert plain("documents", "add", str(folder / "nowhere")).code == 2
    (failed,) = plain("documents", "list", "--stage", "failed", "--json").documents
    assert failed["name"] == "broken.txt"
    assert plain("documents", "retry", "--wait").code == 1
    assert plain("documents", "cancel", "broken.txt").code == 4


def test_documents_are_renamed_tagged_moved_and_removed(plain: CommandLine, folder: Path) -> None:
    plain("documents", "add", str(folder), "--wait")
    assert plain("documents", "rename", "lease.md", "flat.md").code == 0
    assert "#home" in plain("documents", "tag", "flat.md", "home").out
    assert plain("documents", "collections", "add", "Flat").code == 0
    assert plain("documents", "move", "flat.md", "flat").code == 0
    assert "flat.md" in plain("documents", "list", "--collection", "Flat", "--tag", "home").out
    assert plain("documents", "collections", "rename", "flat", "Home").code == 0
    assert plain("documents", "collections", "remove", "home", "-y").code == 0
    refused = plain("documents", "remove", "flat.md")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert plain("documents", "remove", "flat.md", "ferries.txt", "--yes").code == 0
    assert "bethink documents add" in plain("documents", "list").err
    assert plain("documents", "show", "flat.md").code == 2


def test_of_two_documents_with_one_name_neither_is_taken(plain: CommandLine, folder: Path) -> None:
    (folder / "old/lease.md").write_text("An older lease.")
    ids = [one["id"] for one in plain("documents", "add", str(folder), "--json").documents]
    refused = plain("documents", "remove", "lease.md", "-y")
    assert (refused.code, "There are 2 documents 'lease.md'" in refused.err) == (2, True)
    assert plain("documents", "remove", ids[0], "-y").code == 0
