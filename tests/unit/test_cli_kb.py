"""`bethink kb`: a base is built from files, brought up to date, searched, exported, imported and deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bethink import cli as program
from tests.command_line import CommandLine, Ended
from tests.library import UNREADABLE, plain_reading

assert plain_reading
pytestmark = pytest.mark.usefixtures("plain_reading")

CONFIG = """\
path: ./kb.tar.gz
writable: true
embeddings:
  path: sentence-transformers/all-MiniLM-L6-v2
  speed: high
textractor:
  paragraphs: true
colour: green
"""


@pytest.fixture
def docs(bethink: CommandLine) -> Path:
    """A folder beside the data directory, where commands are run."""
    folder = bethink.data.parent / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "acme.md").write_text("# Acme\n\nThe Acme contract ends on the 4th of May.\n")
    (folder / "deep" / "zebra.txt").write_text("A zebra has stripes.\fIt sleeps while standing.\n")
    (folder / "junk.bin").write_bytes(bytes(range(256)))
    (folder / ".hidden.md").write_text("Nobody reads this.")
    return folder


def report(ended: Ended) -> dict[str, object]:
    assert ended.code == 0, ended.err
    return {name: value for name, value in ended.documents[0].items() if value not in (0, [], "")}


def found(bethink: CommandLine, *words: str) -> list[str]:
    return [hit["document"] for hit in bethink("kb", "search", *words, "--json").documents]


@pytest.mark.requirement("R157", "U13")
def test_the_documented_command_builds_and_exports_a_base(bethink: CommandLine, docs: Path) -> None:
    (docs.parent / "config.yml").write_text(CONFIG)
    words = ("--input", "./docs", "--config", "config.yml", "--export", "kb.tar.gz")
    ended = bethink("kb", "build", *words)
    assert (ended.code, ended.out.splitlines()) == (
        0,
        [
            "docs: 2 documents, 3 pages, 3 passages (2 added, 1 left)",
            "kb.tar.gz: 2 documents, 3 passages, 0.0 MB",
        ],
    )
    assert "config.yml: unknown keys: embeddings.speed, colour" in ended.err
    assert "config.yml: no effect here: embeddings, textractor" in ended.err
    assert found(bethink, "kb.tar.gz", "zebra stripes") == ["zebra.txt"]
    again = bethink("kb", "build", *words, "--update", "--json")
    assert [again.code, again.documents[0]["unchanged"], again.documents[1]["counts"]["documents"]] == [
        0,
        2,
        2,
    ]
    (docs.parent / "kb.tar.gz").write_bytes(b"mine")
    refused = bethink("kb", "build", *words)
    assert (refused.code, (docs.parent / "kb.tar.gz").read_bytes()) == (2, b"mine")
    assert "is no knowledge base" in refused.err


@pytest.mark.requirement("U13")
@pytest.mark.parametrize(
    ("command", "words"), [("kb_build", ["--input", "docs"]), ("kb_search", ["docs", "stripes"])]
)
def test_the_old_commands_are_the_new_ones(
    monkeypatch: pytest.MonkeyPatch, command: str, words: list[str]
) -> None:
    told: list[list[str]] = []
    monkeypatch.setattr(program, "main", lambda words: told.append(words) or 0)
    monkeypatch.setattr("sys.argv", [command.replace("_", "-"), *words])
    assert getattr(program, command)() == 0
    assert told == [["kb", command.removeprefix("kb_"), *words]]


def test_an_update_reads_what_changed_and_removes_what_is_gone(bethink: CommandLine, docs: Path) -> None:
    build = ("kb", "build", "--input", "docs", "--name", "handbook", "--extensions", "md,txt")
    build += ("--update", "--json")
    first = report(bethink(*build))
    assert (first["name"], first["added"]) == ("handbook", 2)
    (docs / "acme.md").write_text("# Acme\n\nThe Acme contract was renewed.\n")
    (docs / "deep" / "zebra.txt").unlink()
    (docs / "horse.txt").write_text("A horse has hooves.")
    (docs / "broken.txt").write_bytes(UNREADABLE)
    after = report(bethink(*build))
    assert (after["added"], after["changed"], after["removed"]) == (2, 1, 1)
    assert [one["name"] for one in after["failed"]] == ["broken.txt"]  # pyright: ignore[reportGeneralTypeIssues] - JSON
    assert found(bethink, "handbook", "zebra stripes") == []
    assert found(bethink, "handbook", "Acme renewed") == ["acme.md"]
    assert {one["name"]: one["stage"] for one in bethink("kb", "show", "handbook", "--json").documents} == {
        "acme.md": "ready",
        "broken.txt": "failed",
        "horse.txt": "ready",
    }


def test_only_files_with_the_named_endings_are_taken(bethink: CommandLine, docs: Path) -> None:
    del docs
    built = report(bethink("kb", "build", "--input", "docs", "--extensions", "MD,.pdf", "--json"))
    assert (built["added"], "left" in built) == (1, False)


def test_a_json_file_of_texts_is_a_source(bethink: CommandLine) -> None:
    texts = bethink.data.parent / "texts.json"
    texts.write_text(
        json.dumps([{"id": "one", "text": "A zebra has stripes.", "tags": 7}, {"text": "Hooves."}])
    )
    build = ("kb", "build", "--json_input", "texts.json", "--update", "--json")
    assert report(bethink(*build))["added"] == 2
    assert found(bethink, "texts", "zebra stripes") == ["one"]
    texts.write_text(json.dumps({"documents": [{"id": "one", "text": "A zebra has black stripes."}]}))
    after = report(bethink(*build))
    assert (after["changed"], after["removed"]) == (1, 1)


def test_a_base_travels_by_its_archive(bethink: CommandLine, docs: Path) -> None:
    del docs
    bethink("kb", "build", "--input", "docs")
    assert bethink("kb", "export", "docs", "--with-originals", "--json").documents[0]["file"] == "docs.tar.gz"
    assert bethink("kb", "import", "docs.tar.gz").code == 2
    assert bethink("kb", "import", "docs.tar.gz", "--name", "copy").out == "copy: 2 documents, 3 passages\n"
    assert [one["name"] for one in bethink("kb", "list", "--json").documents] == ["docs", "copy"]
    assert bethink("kb", "delete", "docs").code == 2
    assert bethink("kb", "delete", "docs", "--yes").out == "Deleted docs: 2 documents.\n"
    assert found(bethink, "copy", "zebra stripes") == ["zebra.txt"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("build",), "Say what to build from"),
        (("build", "--input", "nowhere"), "nowhere is not there"),
        (("build", "--input", "docs", "--extensions", ".pdf"), "nothing to read"),
        (("build", "--json_input", "docs/acme.md"), "is not a list of documents"),
        (("build", "--json_input", "docs/absent.json"), "cannot be read"),
        (("build", "--input", "docs", "--config", "docs/junk.bin"), "not valid YAML"),
        (("build", "--input", "docs", "--config", "docs/acme.md"), "is not a configuration"),
        (("search", "nowhere", "x"), "Collection not found"),
        (("search", "docs/junk.bin", "x"), "damaged"),
        (("search", "docs", "x", "--min_similarity", "7"), "from 0 to 1"),
        (("search", "docs", "x", "--limit", "0"), "from 1"),
        (("show", "nowhere"), "Collection not found"),
        (("export", "nowhere", "kb.tar.gz"), "Collection not found"),
        (("import", "docs/absent.tar.gz"), "cannot be read"),
    ],
)
def test_what_is_not_valid_says_why_and_leaves_nothing(
    bethink: CommandLine, docs: Path, words: tuple[str, ...], why: str
) -> None:
    ended = bethink("kb", *words)
    assert ended.code == 2
    assert why in ended.err
    assert bethink("kb", "list", "--json").documents == []
    assert not (docs.parent / "kb.tar.gz").exists()
