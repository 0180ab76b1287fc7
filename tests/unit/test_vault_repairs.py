"""What a check of the vault offers is shown, made and taken back, whole, and loses nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bethink.engines.memory import MemoryStore
from bethink.errors import Conflict, StorageError
from bethink.principal import LOCAL_OWNER, Principal
from bethink.vault.checks.check import VaultCheck
from bethink.vault.checks.repair import RepairOption, RepairResult
from bethink.vault.checks.rewrites import (
    DAMAGED,
    as_text,
    contents,
    detected,
    mended,
    merged,
    read_as,
    snake,
    split,
)
from bethink.vault.files.folder import Folder, Stat
from bethink.vault.markdown.format import parse
from bethink.vault.markdown.frontmatter import front_matter
from bethink.vault.markdown.links import Resolver, unlinked
from bethink.vault.search.search import VaultSearch
from bethink.visibility.service import Visibility
from tests.vaults import Kept, kept_in

pytestmark = pytest.mark.timeout(60)
OWN = Principal(LOCAL_OWNER, audience="web")


@dataclass(frozen=True, slots=True)
class Mender:
    kept: Kept
    checking: VaultCheck

    async def choices(self, path: str | None = None) -> list[RepairOption]:
        report = await self.checking.check(LOCAL_OWNER)
        return [one for one in report.choices if path in {None, one.path}]

    async def make(self, way: str, path: str, *, to: str | None = None) -> RepairResult:
        """Make the one choice of this way."""
        (choice,) = [one for one in await self.choices(path) if one.way == way and to in {None, one.to}]
        plan = await self.checking.mending.plan(LOCAL_OWNER, choice)
        assert plan.shown
        return await self.checking.mending.make(OWN, choice, plan.id)

    async def take_back(self, made: RepairResult) -> None:
        for token in made.undo:
            await self.kept.vault.undo(OWN, token)

    def files(self) -> dict[str, bytes]:
        return {
            file.relative_to(self.kept.root).as_posix(): file.read_bytes()
            for file in self.kept.root.rglob("[!.]*")
            if file.is_file()
        }


def mender(
    directory: Path,
    pages: Mapping[str, str | bytes],
    *,
    max_file_bytes: int = 1_000_000,
    store: MemoryStore | None = None,
) -> Mender:
    kept = kept_in(directory, store=store, max_file_bytes=max_file_bytes)
    for path, text in pages.items():
        kept.file(path, text)
    return Mender(kept, VaultCheck(VaultSearch(Visibility.over(kept.vault).views)))


LINKED = {
    "user.md": "- [[Jane Doh|her]] [[xyz]]\r\n- [her](people/new%20one.md)\r\n",
    "entities/jane_doe.md": "# Jane\n",
}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("way", "to", "becomes"),
    [
        ("lead", None, "- [[jane_doe|her]] [[xyz]]\r\n- [her](people/new%20one.md)\r\n"),
        ("unlink", None, "- her [[xyz]]\r\n- [her](people/new%20one.md)\r\n"),
    ],
)
async def test_a_broken_link_leads_elsewhere_or_is_taken_away(
    tmp_path: Path, way: str, to: str | None, becomes: str
) -> None:
    at = mender(tmp_path, LINKED)
    before = at.files()
    choices = [one for one in await at.choices("user.md") if one.target == "Jane Doh" and one.way == way]
    plan = await at.checking.mending.plan(LOCAL_OWNER, choices[0])
    made = await at.checking.mending.make(OWN, choices[0], plan.id)
    assert at.files()["user.md"].decode() == becomes
    del to
    await at.take_back(made)
    assert at.files() == before


@pytest.mark.anyio
async def test_the_page_that_a_link_names_is_made_so_that_the_link_leads_there(tmp_path: Path) -> None:
    at = mender(tmp_path, LINKED)
    made = [await at.make("create", "user.md", to=to) for to in ("entities/jane_doh.md", "people/new one.md")]
    assert at.files()["entities/jane_doh.md"] == b"---\naliases: [Jane Doh]\n---\n# Jane Doh\n"
    left = [one.target for one in await at.choices("user.md") if one.way == "unlink"]
    assert left == ["xyz"]
    for one in reversed(made):
        await at.take_back(one)
    assert set(at.files()) == set(LINKED)


@pytest.mark.anyio
async def test_twins_become_one_page_that_says_all_and_has_the_links(tmp_path: Path) -> None:
    pages = {
        "people/jane_doe.md": "---\naliases: [Jay]\ncity: Oslo\n---\n# Jane\n- age: 64\n\n"
        "## Work\n- at: [[acme]]\n",
        "jane_doe.md": "---\ntags: [friend]\ncity: Bergen\n---\n# Jane Doe\n- age: 64\n- likes: tea\n\n"
        "## Work\n"
        "- at: [[acme]]\n- since: 2020\n\n## Health\n[x](acme.md)\n",
        "acme.md": "[[people/jane_doe]] [[people/jane_doe#Work|w]] [[Jay]] [a](people/jane_doe.md)\n",
    }
    at = mender(tmp_path, pages)
    before = at.files()
    made = await at.make("merge", "people/jane_doe.md", to="jane_doe.md")
    assert at.files() == {
        "jane_doe.md": b"---\ntags: [friend]\ncity: Bergen\naliases: [Jay, Jane]\n---\n# Jane Doe\n"
        b"- age: 64\n- likes: tea\n\n## Work\n- at: [[acme]]\n- since: 2020\n\n## Health\n[x](acme.md)\n\n"
        b"- city: Oslo\n",
        "acme.md": b"[[jane_doe]] [[jane_doe#Work|w]] [[Jay]] [a](jane_doe.md)\n",
    }
    assert not [one for one in await at.choices() if one.way in {"merge", "lead"}]
    await at.take_back(made)
    assert at.files() == before


@pytest.mark.anyio
async def test_a_page_is_renamed_and_its_links_follow(tmp_path: Path) -> None:
    pages = {
        "notes/My Day?: one.md": "[[user]] ![p](pic.png)",
        "user.md": "[[My Day?: one|d]] [[notes/My Day?: one.md]]",
    }
    at = mender(tmp_path, pages)
    before = at.files()
    made = await at.make("rename", "notes/My Day?: one.md")
    assert at.files() == {
        "notes/my_day_one.md": b"[[user]] ![p](pic.png)",
        "user.md": b"[[my_day_one|d]] [[notes/my_day_one.md]]",
    }
    await at.take_back(made)
    assert at.files() == before


@pytest.mark.anyio
async def test_a_link_that_would_lead_to_a_namesake_meanwhile_follows_behind_the_move(tmp_path: Path) -> None:
    pages = {
        "a/my_day.md": "other",
        "notes/My Day?.md": "one",
        "notes/x.md": "[[My Day?]]",
        "y.md": "[[My Day?]]",
    }
    at = mender(tmp_path, pages)
    (choice,) = [one for one in await at.choices() if one.way == "rename"]
    plan = await at.checking.mending.plan(LOCAL_OWNER, choice)
    assert [step.path for step in plan.steps] == ["y.md", "notes/My Day?.md", "notes/x.md"]
    await at.checking.mending.make(OWN, choice, plan.id)
    assert at.files()["notes/x.md"] == b"[[my_day]]"
    assert at.files()["y.md"] == b"[[notes/my_day]]"


@pytest.mark.anyio
async def test_a_repair_whose_asker_leaves_in_its_middle_is_not_half_done(tmp_path: Path) -> None:
    pages = {"notes/My Day?.md": "one", "a.md": "[[notes/My Day?]]", "b.md": "[[notes/My Day?]]"}
    at = mender(tmp_path, pages)
    await at.choices()
    with anyio.CancelScope() as asker:
        at.kept.vault.context.listeners.append(lambda _owner, _changes: asker.cancel())
        await at.make("rename", "notes/My Day?.md")
    assert at.files() == {
        "notes/my_day.md": b"one",
        "a.md": b"[[notes/my_day]]",
        "b.md": b"[[notes/my_day]]",
    }


@pytest.mark.anyio
async def test_a_front_matter_is_mended_or_kept_as_text(tmp_path: Path) -> None:
    at = mender(tmp_path, {"a.md": "---\r\ntitle: one: two\r\n---\r\ntext\r\n"})
    before = at.files()
    made = await at.make("mend", "a.md")
    assert at.files()["a.md"] == b'---\r\ntitle: "one: two"\r\n---\r\ntext\r\n'
    await at.take_back(made)
    made = await at.make("aside", "a.md")
    assert at.files()["a.md"] == b"```yaml\r\ntitle: one: two\r\n```\r\ntext\r\n"
    assert await at.choices() == []
    await at.take_back(made)
    assert at.files() == before


@pytest.mark.anyio
async def test_a_file_in_another_encoding_is_read_and_its_bytes_stay_beside(tmp_path: Path) -> None:
    body = "# Café\nfür [[user]]\n".encode("cp1252")
    at = mender(tmp_path, {"latin.md": body, "user.md": "[[latin]]"})
    assert [one.way for one in await at.choices()] == ["convert", "convert"]
    made = await at.make("convert", "latin.md", to="cp1252")
    assert at.files()["latin.md"].decode() == "# Café\nfür [[user]]\n"
    assert at.files()["latin.md.original"] == body
    assert await at.choices() == []
    await at.take_back(made)
    assert at.files() == {"latin.md": body, "user.md": b"[[latin]]"}
    assert "latin.md" in dict((await at.kept.vault.state(LOCAL_OWNER)).troubles)


@pytest.mark.anyio
async def test_a_page_that_is_too_large_becomes_pages_with_links_to_them(tmp_path: Path) -> None:
    text = f"# Big\nintro\n## One\n{'a' * 700} [[#Two]] [u](user.md) ^x\n## Two\n{'b' * 700}\n## Three\nc\n"
    pages = {"notes/big.md": text, "notes/user.md": "[[big]] [[big#Two]] [[big#^x|block]]"}
    at = mender(tmp_path, pages, max_file_bytes=1_000)
    before = at.files()
    assert [one.way for one in await at.choices()] == ["split"]
    made = await at.make("split", "notes/big.md")
    files = {path: body.decode() for path, body in at.files().items()}
    assert files.pop("notes/big.md.original") == text
    assert files == {
        "notes/big.md": "# Big\nintro\n\n- [[big/one|One]]\n- [[big/two|Two]]\n- [[big/three|Three]]\n",
        "notes/big/one.md": f"## One\n{'a' * 700} [[two#Two]] [u](../user.md) ^x\n",
        "notes/big/two.md": f"## Two\n{'b' * 700}\n",
        "notes/big/three.md": "## Three\nc\n",
        "notes/user.md": "[[big]] [[two#Two]] [[one#^x|block]]",
    }
    assert not [one for one in await at.choices() if one.way != "rename"]
    await at.take_back(made)
    assert at.files() == before


@pytest.mark.anyio
async def test_a_repair_that_was_shown_for_other_pages_is_not_made(tmp_path: Path) -> None:
    pages = {"a/acme.md": "# Acme\none\n", "acme.md": "# Acme\ntwo\n", "user.md": "[[a/acme]]"}
    at = mender(tmp_path, pages)
    (choice,) = [one for one in await at.choices() if one.way == "merge" and one.to == "acme.md"]
    plan = await at.checking.mending.plan(LOCAL_OWNER, choice)
    at.kept.file("user.md", "[[a/acme]] more")
    await at.kept.vault.sync(LOCAL_OWNER)
    before = at.files()
    with pytest.raises(Conflict, match="check again"):
        await at.checking.mending.make(OWN, choice, plan.id)
    assert at.files() == before


@pytest.mark.anyio
@pytest.mark.parametrize("at_last", ["big/two.md", "big.md.original", "big.md"])
async def test_a_repair_that_breaks_off_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_last: str
) -> None:
    text = f"## One\n{'a' * 700}\n## Two\n{'b' * 700}\n"
    at = mender(tmp_path, {"big.md": text}, max_file_bytes=1_000)
    (choice,) = [one for one in await at.choices() if one.way == "split"]
    before = at.files()
    plan = await at.checking.mending.plan(LOCAL_OWNER, choice)
    write = Folder.write

    def broken(self: Folder, path: str, body: bytes, *, before: str | None, flush: bool = True) -> Stat:
        if path == at_last:
            raise StorageError
        return write(self, path, body, before=before, flush=flush)

    monkeypatch.setattr(Folder, "write", broken)
    with pytest.raises(StorageError):
        await at.checking.mending.make(OWN, choice, plan.id)
    assert at.files() == before


@pytest.mark.parametrize(
    ("front", "becomes"),
    [
        ("a: [1\n", "a: [1]\n"),
        ('a: "one\nb: 2\n', 'a: "one"\nb: 2\n'),
        ("a: *one\n", 'a: "*one"\n'),
        ("a:\n\t- one\n", "a:\n  - one\n"),
        ("a: one: two\nb: @x\n", 'a: "one: two"\nb: "@x"\n'),
        ("a:one\nb: 2\n", "a: one\nb: 2\n"),
    ],
)
def test_a_front_matter_gets_the_least_that_makes_it_readable(front: str, becomes: str) -> None:
    assert front_matter(parse(f"---\n{front}---\ntext\n")).fault is not None
    assert mended(f"---\n{front}---\ntext\n") == f"---\n{becomes}---\ntext\n"


def test_a_front_matter_without_its_last_line_is_found_and_closed() -> None:
    text = "---\ntitle: Day\ntags:\n  - one\n\nIt rained.\n"
    assert front_matter(parse(text)).fault == "no line `---` ends it"
    assert mended(text) == "---\ntitle: Day\ntags:\n  - one\n---\n\nIt rained.\n"
    assert as_text(text) == "```yaml\ntitle: Day\ntags:\n  - one\n```\n\nIt rained.\n"
    assert front_matter(parse("---\nIt rained.\n")).fault is None
    assert front_matter(parse("---\n\nNote: this\n")).fault is None


LINES = st.lists(
    st.sampled_from(
        ["# A\n", "## B\n", "text\n", "```\n", "- x: y\n", "\r\n", "## Ünï\n", "z" * 30 + "\n", "- z: 1\n"]
    ),
    max_size=12,
)


@given(LINES)
def test_what_is_split_says_all_that_it_said(lines: list[str]) -> None:
    text = "".join(lines)
    head, pieces = split(text, 60)
    assert head + "".join(piece.text for piece in pieces) == text
    assert all(len(piece.text.encode()) <= 60 for piece in pieces)
    assert len({piece.name for piece in pieces}) == len(pieces)
    assert contents(head, "x", pieces).startswith(head)


@given(LINES, LINES)
def test_what_is_merged_says_all_that_either_said(one: list[str], other: list[str]) -> None:
    text = merged("".join(one), "".join(other), ())
    assert {line.strip() for line in "".join(one + other).splitlines()} - {"# A"} <= {
        line.strip() for line in text.splitlines()
    } | {""}


@given(LINES, LINES)
def test_what_is_merged_already_is_not_merged_again(one: list[str], other: list[str]) -> None:
    assume(not any(lines.count("```\n") % 2 for lines in (one, other)))
    text = merged("".join(one), "".join(other), ("Jane",))
    assert merged(text, "".join(other), ("Jane",)) == text


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "cp1252"])
def test_an_encoding_is_detected_and_gives_the_text_back(name: str) -> None:
    text = "Größe: 4 m, café\n"
    assert read_as(text.encode(name), detected(text.encode(name))[0]) == text


def test_what_is_no_text_is_not_offered_as_one() -> None:
    assert detected(bytes(range(256)) * 4) == []
    assert detected("naïve café, größer".encode() + b"\xff") == [DAMAGED]


def test_names_become_snake_case() -> None:
    assert [snake(name) for name in ("Jane Doe", "v1.2 - Über", "__", "a_b")] == [
        "jane_doe",
        "v1_2_über",
        "",
        "a_b",
    ]


def test_links_become_their_words() -> None:
    text = "[[x]] [[x|her]] ![[x]] [l](x) `[[x]]` [[user]]"
    assert unlinked(text, "user.md", "x", resolver=Resolver(["user.md"])) == "x her x l `[[x]]` [[user]]"
