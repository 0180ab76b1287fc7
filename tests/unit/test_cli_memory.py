"""`bethink memory …`, through `main`, on a database of its own."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from tests.command_line import CommandLine, masked

UNKNOWN = "01a20063-6c15-7000-ba0e-e17b85e88ccf"


def test_a_memory_is_added_and_found(plain: CommandLine) -> None:
    added = plain(
        *("memory", "add", "User lives in Paris.", "--category", "personal_info"),
        *("--importance", "0.9", "--topic", "home", "--topic", "France", "--pin"),
    )
    assert masked(added.out) == snapshot("Remembered: User lives in Paris.  (<1>)\n")
    assert masked(added.err) == snapshot("undo: bethink memory undo added:<1>\n")
    found = plain("memory", "search", "where", "does", "the", "user", "live")
    assert "User lives in Paris." in found.out
    assert "words only" in found.err
    again = plain("memory", "add", "user lives in paris")
    assert masked(again.out) == snapshot("Known already: User lives in Paris.  (<1>)\n")
    assert masked(again.err) == snapshot("undo: bethink memory undo merged:<1>:2\n")


def test_memories_are_listed_newest_first(plain: CommandLine) -> None:
    plain("memory", "add", "--lines", "-", piped="User likes tea.\n\n  User has a dog.  \n")
    plain("memory", "add", "--pin", "--category", "plans", "RequestScope Lisbon")
    listed = plain("memory", "list")
    assert masked(listed.out) == snapshot("""\
<1>  <date>  plans 0.5 pinned  RequestScope Lisbon
<2>  <date>  general 0.5  User has a dog.
<3>  <date>  general 0.5  User likes tea.
""")
    assert not listed.err
    part = plain("memory", "list", "--limit", "2")
    assert [line.split("  ")[-1] for line in part.out.splitlines()] == [
        "RequestScope Lisbon",
        "User has a dog.",
    ]
    assert part.err == snapshot("2 of 3 shown: --limit and --all show more\n")
    assert plain("memory", "list", "--category", "plans").out.count("\n") == 1


def test_a_correction_keeps_the_history(plain: CommandLine) -> None:
    old = plain.added("User lives in Rome.", "--importance", "0.9", "--topic", "home")
    edited = plain("memory", "edit", old, "User lives in Paris.")
    assert masked(edited.out + edited.err) == snapshot("""\
Changed: User lives in Paris.  (<1>)
  replaces: User lives in Rome.  (<2>)
undo: bethink memory undo superseded:<1>
""")
    (new,) = plain("memory", "list", "--json").documents
    assert new["importance"] == 0.9
    assert new["topics"] == ["home"]
    assert masked(plain("memory", "show", new["id"]).out) == snapshot("""\
User lives in Paris.
  id          <1>
  state       active
  category    general
  importance  0.9
  topics      home
  learnt      <date>
  source      person <date>
history:
  <date>  superseded  User lives in Rome.  (<2>)
  <date>  active      User lives in Paris.  (<1>)  <- this one
""")
    assert masked(plain("memory", "list", "--state", "all").out) == snapshot("""\
<1>  <date>  general 0.9  User lives in Paris.
<2>  <date>  general 0.9 superseded  User lives in Rome.
""")


def test_properties_change_without_a_correction(plain: CommandLine) -> None:
    id = plain.added("User likes tea.", "--pin")
    edited = plain("memory", "edit", id, "--no-pin", "--importance", "0.2", "--json")
    (fact,) = plain("memory", "list", "--json").documents
    assert (fact["id"], fact["pinned"], fact["importance"]) == (id, False, 0.2)
    plain("memory", "undo", edited.documents[0]["undo"])
    (fact,) = plain("memory", "list", "--json").documents
    assert (fact["id"], fact["pinned"], fact["importance"]) == (id, True, 0.5)


def test_what_is_retracted_comes_back_by_its_token(plain: CommandLine) -> None:
    id = plain.added("User likes tea.")
    (change,) = plain("memory", "retract", id, "--json").documents
    assert plain.facts() == set()
    assert plain("memory", "undo", change["undo"]).code == 0
    assert plain.facts() == {"User likes tea."}
    assert plain("memory", "undo", change["undo"]).code == 2, "a change is taken back once"


def test_forgetting_needs_an_agreement(plain: CommandLine) -> None:
    id = plain.added("User likes tea.")
    for words in (("forget", id), ("forget", "--query", "tea"), ("forget", "--all")):
        ended = plain("memory", *words)
        assert ended.code == 2
        assert "--yes" in ended.err
    assert plain.facts() == {"User likes tea."}


def test_forgetting_shows_what_goes_and_its_receipt_does_not(plain: CommandLine) -> None:
    plain.added("User likes tea.")
    plain.added("User has a dog.")
    ended = plain("memory", "forget", "--query", "tea", "--yes")
    assert masked(ended.out) == snapshot("Forgotten for good: 1 memory.\n")
    assert masked(ended.err) == snapshot("""\
  User likes tea.  (<1>)
Backups and exports that were made before still contain it.
A model's provider received what was sent to it.
""")
    assert plain.facts() == {"User has a dog."}
    for file in plain.data.rglob("*"):
        assert not file.is_file() or b"likes tea" not in file.read_bytes()


def test_everything_can_be_forgotten(plain: CommandLine) -> None:
    ids = [plain.added(content) for content in ("User likes tea.", "User has a dog.")]
    (receipt,) = plain("memory", "forget", "--all", "--yes", "--json").documents
    assert receipt["forgotten"] == 2
    assert sorted(receipt["ids"]) == sorted(ids)
    assert plain("memory", "forget", "--all", "--yes").err == "There were no memories to forget.\n"


def test_json_is_one_object_a_line(plain: CommandLine) -> None:
    plain.added("User likes tea.")
    (listed,) = plain("memory", "list", "--json").documents
    assert sorted(listed) == snapshot(
        [
            "about",
            "category",
            "content",
            "corrects",
            "created_at",
            "depends_on",
            "doubts",
            "id",
            "importance",
            "merges",
            "pinned",
            "project",
            "sources",
            "state",
            "superseded_by",
            "supersedes",
            "topics",
            "trust",
            "valid_from",
            "valid_until",
        ]
    )
    (shown,) = plain("memory", "show", listed["id"], "--json").documents
    assert listed == {name: value for name, value in shown.items() if name != "history"}
    assert [fact["id"] for fact in shown["history"]] == [listed["id"]]
    assert listed["created_at"].endswith("Z")


def test_a_thousand_lines_are_kept_once_each(plain: CommandLine) -> None:
    lines = [f"User knows the number {number}." for number in range(1_000)]
    ended = plain("memory", "add", "-", "--lines", "--json", piped="\n".join([*lines, lines[0]]))
    assert [document["change"] for document in ended.documents] == ["added"] * 1_000 + ["merged"]
    assert plain.facts() == set(lines)


@pytest.mark.parametrize(
    "words",
    [
        ("add", ""),
        ("add", "x", "--importance", "7"),
        ("add", "x", "--importance", "much"),
        ("add", "x" * 10_000),
        ("add", "-"),
        ("search", "tea", "-k", "0"),
        ("search", "tea", "-k", "many"),
        ("list", "--limit", "0"),
        ("list", "--state", "gone"),
        ("show", UNKNOWN),
        ("show", "\x00"),
        ("edit", UNKNOWN, "x"),
        ("retract", UNKNOWN),
        ("forget", UNKNOWN, "--yes"),
        ("forget", "--yes"),
        ("forget", UNKNOWN, "--all", "--yes"),
        ("undo", "added:"),
        ("undo", "nonsense"),
        ("no-such-command",),
        (),
    ],
)
def test_what_makes_no_sense_is_bad_input_and_changes_nothing(
    plain: CommandLine, words: tuple[str, ...]
) -> None:
    plain.added("User likes tea.")
    ended = plain("memory", *words)
    assert ended.code == 2
    assert ended.err
    assert "Traceback" not in ended.err
    assert plain.facts() == {"User likes tea."}


def test_garbage_from_a_pipe_is_bad_input(plain: CommandLine) -> None:
    assert plain("memory", "add", "-", piped=b"\xff\x00\xfe").code == 2
    assert plain.facts() == set()


def test_one_bad_line_keeps_none(plain: CommandLine) -> None:
    assert plain("memory", "add", "-", "--lines", piped=f"good\n{'x' * 10_000}\n").code == 2
    assert plain.facts() == set()


def test_what_a_new_memory_replaces_and_shakes_is_printed(plain: CommandLine) -> None:
    home = plain.added("User lives in Rome.")
    cafe = plain("memory", "add", "The cafe is near.", "--depends-on", home, "--json").documents[0]
    told = plain("memory", "add", "User lives in Oslo.").out
    assert f"  replaces: User lives in Rome.  ({home})" in told
    plain("memory", "add", "User likes olives.")
    assert "  contradicts: User likes olives." in plain("memory", "add", "User hates olives.").out
    assert plain("memory", "list").out.count(" doubted  User ") == 2
    shown = plain("memory", "show", cafe["memory"]["id"]).out
    assert f"  doubt       depends on {home}, which was changed or is in doubt" in shown
    assert f"  depends on  {home}" in shown
    farther = plain("memory", "edit", cafe["memory"]["id"], "The cafe is far.", "--json").documents[0]
    assert farther["memory"]["depends_on"] == [home]
