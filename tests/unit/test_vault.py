"""Pages are written, moved, deleted and taken back, and whatever stands in the files is the truth."""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path

import pytest

from bethink.errors import BadInput, Conflict, NoSuchPage, NotAllowed, TooLarge, UnknownId
from bethink.principal import LOCAL_OWNER, Principal
from bethink.vault.files.folder import Folder, version_of
from tests.traces import left_of
from tests.vaults import ME, kept_in

pytestmark = pytest.mark.anyio


async def test_nothing_is_made_until_a_page_is_written(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    assert await kept.vault.listed(LOCAL_OWNER) == ()
    with pytest.raises(NoSuchPage):
        await kept.vault.read(LOCAL_OWNER, "user.md")
    assert not kept.root.exists()
    assert await kept.vault.begin(ME)
    assert not await kept.vault.begin(ME)
    assert [entry.path for entry in await kept.vault.listed(LOCAL_OWNER)] == ["user.md"]


@pytest.mark.parametrize("text", ["- a: b\r\n\r\nno end", "\ufeff# Title\n", "", "ü\u0301\t\n\n\n"])
async def test_a_page_is_exactly_what_was_written(tmp_path: Path, text: str) -> None:
    kept = kept_in(tmp_path)
    change = await kept.vault.write(ME, "entities/jane_doe.md", text, if_version="", by="agent")
    assert (kept.root / "entities" / "jane_doe.md").read_bytes() == text.encode()
    page = await kept.vault.read(LOCAL_OWNER, "entities/jane_doe.md")
    assert (page.text, page.version) == (text, version_of(text.encode())) == (text, change.after)


@pytest.mark.requirement("R118")
@pytest.mark.parametrize(
    "path",
    [
        "../out.md",
        "a/../../out.md",
        "/etc/passwd.md",
        "a//b.md",
        "./a.md",
        ".hidden.md",
        ".obsidian/x.md",
        "a/.git/x.md",
        "notes.txt",
        "notes",
        "",
        "a\0b.md",
        "a\nb.md",
        "\ud800.md",
        "x" * 300 + ".md",
        "a/" * 30 + "b.md",
        "con.md",
        "a/NUL.md",
        "a:b.md",
        'say "x".md',
        "back\\slash.md",
        "dots./x.md",
        " lead.md",
        "right\u202eleft.md",
    ],
)
async def test_a_path_that_is_unsafe_or_that_some_system_cannot_keep_is_refused(
    tmp_path: Path, path: str
) -> None:
    kept = kept_in(tmp_path)
    with pytest.raises(BadInput):
        await kept.vault.write(ME, path, "zembrovia", by="agent")
    assert left_of(["zembrovia"], tmp_path) == []


@pytest.mark.requirement("R118")
async def test_links_lead_nowhere(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    kept.root.mkdir()
    (kept.root / "folder").symlink_to(outside)
    (kept.root / "page.md").symlink_to(outside / "secret.md")
    for path in ("folder/secret.md", "page.md"):
        with pytest.raises(BadInput, match="link"):
            await kept.vault.read(LOCAL_OWNER, path)
        with pytest.raises(BadInput, match="link"):
            await kept.vault.write(ME, path, "mine", by="agent")
    await kept.vault.sync(LOCAL_OWNER)
    assert (outside / "secret.md").read_text() == "secret"
    assert {path for path, _ in (await kept.vault.state(LOCAL_OWNER)).troubles} == {"folder", "page.md"}
    assert await kept.vault.pages(LOCAL_OWNER) == {}


async def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.root.mkdir()
    os.mkfifo(kept.root / "pipe.md")
    with pytest.raises(BadInput, match="ordinary"):
        await kept.vault.read(LOCAL_OWNER, "pipe.md")
    await kept.vault.sync(LOCAL_OWNER)
    assert (await kept.vault.state(LOCAL_OWNER)).troubles == (("pipe.md", "It is no ordinary file."),)


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ("entities/Jane.md", "entities/jane.md", "entities/Jane.md"),
        ("Entities/x.md", "entities/y.md", "Entities"),
        ("caf\u00e9.md", "CAFE\u0301.md", "caf\u00e9.md"),
    ],
)
async def test_two_names_that_some_system_takes_for_one_are_refused_with_the_other(
    tmp_path: Path, first: str, second: str, named: str
) -> None:
    kept = kept_in(tmp_path)
    await kept.written(first, "one")
    with pytest.raises(Conflict, match=named):
        await kept.vault.write(ME, second, "two", by="agent")


async def test_the_same_name_in_another_form_is_the_same_page(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("cafe\u0301.md", "one")
    assert (await kept.vault.read(LOCAL_OWNER, "caf\u00e9.md")).text == "one"
    kept.file("na\u0308he.md", "decomposed on the disk")
    await kept.vault.sync(LOCAL_OWNER)
    assert "n\u00e4he.md" in await kept.vault.pages(LOCAL_OWNER)
    assert (await kept.vault.read(LOCAL_OWNER, "n\u00e4he.md")).text == "decomposed on the disk"


async def test_a_page_that_changed_underneath_is_not_overwritten(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("user.md", "one")
    read = await kept.vault.read(LOCAL_OWNER, "user.md")
    kept.file("user.md", "by hand")
    with pytest.raises(Conflict, match="read it again"):
        await kept.vault.write(ME, "user.md", "two", if_version=read.version, by="agent")
    with pytest.raises(Conflict, match="exists already"):
        await kept.vault.write(ME, "user.md", "two", if_version="", by="agent")
    with pytest.raises(Conflict):
        await kept.vault.delete(ME, "user.md", if_version=read.version, by="agent")
    assert (kept.root / "user.md").read_text() == "by hand"


async def test_what_was_written_by_hand_and_never_seen_is_a_version_before_it_is_overwritten(
    tmp_path: Path,
) -> None:
    kept = kept_in(tmp_path)
    await kept.written("user.md", "one")
    kept.file("user.md", "by hand")
    await kept.written("user.md", "two")
    history = await kept.vault.history(LOCAL_OWNER, "user.md")
    assert [(version.by, version.what) for version in history] == [
        ("person", "written"),
        ("outside", "written"),
        ("person", "created"),
    ]
    assert (await kept.vault.version(LOCAL_OWNER, "user.md", history[1].id)).text == "by hand"


async def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.file("user.md", "one").chmod(0o640)
    await kept.written("user.md", "two")
    assert stat.S_IMODE((kept.root / "user.md").stat().st_mode) == 0o640


@pytest.mark.requirement("R118", "U12")
async def test_limits_hold_for_a_page_a_folder_and_the_vault(tmp_path: Path) -> None:
    kept = kept_in(tmp_path, max_file_bytes=1000, max_directory_bytes=2000, max_bytes=3000)
    with pytest.raises(TooLarge, match="a page"):
        await kept.vault.write(ME, "a/1.md", "x" * 1001, by="agent")
    await kept.written("a/1.md", "x" * 1000)
    await kept.written("a/2.md", "x" * 1000)
    with pytest.raises(TooLarge, match="one folder"):
        await kept.vault.write(ME, "a/3.md", "x", by="agent")
    await kept.written("b/1.md", "x" * 1000)
    with pytest.raises(TooLarge, match="all pages"):
        await kept.vault.write(ME, "c/1.md", "x", by="agent")
    await kept.written("a/1.md", "x" * 10)
    await kept.written("c/1.md", "x" * 10)


@pytest.mark.requirement("R118")
async def test_files_from_outside_that_are_too_large_are_told_and_not_searched(tmp_path: Path) -> None:
    kept = kept_in(tmp_path, max_file_bytes=1000, max_directory_bytes=1500, max_bytes=3000)
    await kept.written("a/known.md", "x" * 900)
    kept.file("a/another.md", "y" * 900)
    kept.file("b/large.md", "z" * 1001)
    kept.file("b/latin.md", "caf\xe9".encode("latin-1"))
    synced = await kept.vault.sync(LOCAL_OWNER)
    assert (synced.pages, synced.unread) == (1, 3)
    assert dict((await kept.vault.state(LOCAL_OWNER)).troubles) == {
        "a/another.md": "its folder is larger than a folder may be",
        "b/large.md": "it is larger than a page may be",
        "b/latin.md": "it is not UTF-8 text",
    }
    with pytest.raises(TooLarge):
        await kept.vault.read(LOCAL_OWNER, "b/large.md")
    with pytest.raises(BadInput, match="UTF-8"):
        await kept.vault.read(LOCAL_OWNER, "b/latin.md")
    with pytest.raises(BadInput, match="left alone"):
        await kept.vault.write(ME, "b/latin.md", "text", by="agent")
    assert (kept.root / "b" / "latin.md").read_bytes() == b"caf\xe9"
    kept.file("a/known.md", "x")
    kept.file("b/large.md", "z")
    await kept.vault.sync(LOCAL_OWNER)
    assert {*await kept.vault.pages(LOCAL_OWNER)} == {"a/known.md", "a/another.md", "b/large.md"}


async def test_every_change_is_taken_back_by_its_token(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    created = await kept.written("a.md", "one")
    written = await kept.written("a.md", "two")
    undone = await kept.vault.undo(ME, written)
    assert (kept.root / "a.md").read_text() == "one"
    assert undone.undo is not None
    await kept.vault.undo(ME, undone.undo)
    assert (kept.root / "a.md").read_text() == "two"
    with pytest.raises(Conflict, match="again since"):
        await kept.vault.undo(ME, created)
    moved = await kept.vault.move(ME, "a.md", "b/c.md", by="person")
    assert (moved.moved_from, (kept.root / "b" / "c.md").read_text()) == ("a.md", "two")
    assert moved.undo is not None
    await kept.vault.undo(ME, moved.undo)
    assert (kept.root / "a.md").read_text() == "two"
    deleted = await kept.vault.delete(ME, "a.md", by="agent")
    assert not (kept.root / "a.md").exists()
    assert deleted.undo is not None
    await kept.vault.undo(ME, deleted.undo)
    assert (kept.root / "a.md").read_text() == "two"
    with pytest.raises(BadInput):
        await kept.vault.undo(ME, "added:1")
    with pytest.raises(UnknownId):
        await kept.vault.undo(ME, "page:1")


async def test_the_creation_of_a_page_is_taken_back_by_removing_it(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.vault.undo(ME, await kept.written("a.md", "one"))
    assert not (kept.root / "a.md").exists()
    assert await kept.vault.pages(LOCAL_OWNER) == {}


async def test_history_tells_who_when_and_why_and_a_version_comes_back(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.vault.write(ME, "a.md", "one\n", by="agent", note="first")
    kept.clock.advance(60)
    await kept.vault.write(ME, "a.md", "one\ntwo\n", by="person")
    second, first = await kept.vault.history(LOCAL_OWNER, "a.md")
    assert (first.by, first.note, second.at - first.at) == ("agent", "first", 60_000_000)
    assert "+two" in (await kept.vault.versions.diff(LOCAL_OWNER, "a.md", second.id)).splitlines()
    await kept.vault.delete(ME, "a.md", by="person")
    await kept.vault.restore(ME, "a.md", first.id)
    assert (kept.root / "a.md").read_text() == "one\n"
    assert len(await kept.vault.history(LOCAL_OWNER, "a.md")) == 4


async def test_a_change_of_nothing_is_none(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "one")
    change = await kept.vault.write(ME, "a.md", "one", by="agent")
    assert change.undo is None
    assert len(await kept.vault.history(LOCAL_OWNER, "a.md")) == 1


async def test_old_versions_are_thinned_to_the_last_of_each_day(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    for number in range(4):
        await kept.written("a.md", f"{number}")
        kept.clock.advance(3600)
    kept.clock.advance(40 * 86_400)
    await kept.written("a.md", "now")
    assert await kept.vault.versions.thin(LOCAL_OWNER, 30) == 3
    history = await kept.vault.history(LOCAL_OWNER, "a.md")
    assert [version.what for version in history] == ["written", "written"]
    assert await kept.vault.versions.content(LOCAL_OWNER, version_of(b"0")) is None
    assert await kept.vault.versions.content(LOCAL_OWNER, version_of(b"1")) is None
    assert (await kept.vault.version(LOCAL_OWNER, "a.md", history[1].id)).text == "3"


async def test_what_a_kept_version_changed_can_be_looked_at_and_taken_back_after_others_were_thinned(
    tmp_path: Path,
) -> None:
    kept = kept_in(tmp_path)
    for text in ("one", "two", "three"):
        await kept.written("a.md", text)
        kept.clock.advance(3600)
    kept.clock.advance(40 * 86_400)
    assert await kept.vault.versions.thin(LOCAL_OWNER, 30) == 2
    (last,) = await kept.vault.history(LOCAL_OWNER, "a.md")
    assert "-two" in (await kept.vault.versions.diff(LOCAL_OWNER, "a.md", last.id)).splitlines()
    await kept.vault.undo(ME, f"page:{last.id}")
    assert (kept.root / "a.md").read_text() == "two"


async def test_what_a_version_changed_goes_once_that_version_is_thinned(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.clock.advance(86_400 - kept.clock.now_us() / 1_000_000 % 86_400)
    for text in ("one", "two", "three", "four"):
        await kept.written("a.md", text)
        kept.clock.advance(3600)

    async def there() -> list[str]:
        texts = ("one", "two", "three", "four")
        found = [await kept.vault.versions.content(LOCAL_OWNER, version_of(text.encode())) for text in texts]
        return [text for text, content in zip(texts, found, strict=True) if content is not None]

    # The last of the four is not old enough yet, an hour later it is.
    kept.clock.advance(30 * 86_400 - 5400)
    assert await kept.vault.versions.thin(LOCAL_OWNER, 30) == 2
    assert await there() == ["two", "three", "four"]
    kept.clock.advance(3600)
    assert await kept.vault.versions.thin(LOCAL_OWNER, 30) == 1
    assert await there() == ["three", "four"]


async def test_listeners_hear_what_changed(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    heard: list[tuple[str, list[str]]] = []
    kept.vault.context.listeners.append(
        lambda owner, changes: heard.append((owner, [one.path for one in changes]))
    )
    await kept.written("a.md", "one")
    kept.file("b.md", "two")
    await kept.vault.sync(LOCAL_OWNER)
    assert heard == [("local", ["a.md"]), ("local", ["b.md"])]


async def test_each_owner_has_a_folder_of_their_own(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "mine")
    for owner in ("bob", "../local", "a/b"):
        await kept.vault.write(Principal(owner), "a.md", "theirs", by="person")
    assert (kept.root / "a.md").read_text() == "mine"
    assert len([*(tmp_path / "vaults").iterdir()]) == 3


async def test_a_vault_that_is_switched_off_says_so(tmp_path: Path) -> None:
    kept = kept_in(tmp_path, enabled=False)
    assert not await kept.vault.exists(LOCAL_OWNER)
    with pytest.raises(NotAllowed):
        await kept.vault.read(LOCAL_OWNER, "user.md")


async def test_folders_are_made_and_removed_where_they_are_empty(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.vault.create_folder(ME, "entities/people")
    await kept.written("entities/a.md", "x")
    assert [(one.path, one.is_folder) for one in await kept.vault.listed(LOCAL_OWNER, "entities")] == [
        ("entities/people", True),
        ("entities/a.md", False),
    ]
    assert len(await kept.vault.listed(LOCAL_OWNER, deep=True)) == 3
    await kept.vault.delete_folder(ME, "entities/people")
    with pytest.raises(Conflict, match="not empty"):
        await kept.vault.delete_folder(ME, "entities")
    with pytest.raises(NoSuchPage):
        await kept.vault.listed(LOCAL_OWNER, "nowhere")


async def test_many_folders_and_one_that_is_a_link_are_walked(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for number in range(300):
        kept.file(f"{number}/inner/page.md", "x")
    (kept.root / "linked").symlink_to(tmp_path)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        assert (await kept.vault.sync(LOCAL_OWNER)).pages == 300
        assert len(await kept.vault.listed(LOCAL_OWNER)) == 301
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with pytest.raises(BadInput):
        await kept.vault.listed(LOCAL_OWNER, "linked")


@pytest.mark.requirement("R118")
@pytest.mark.parametrize("path", ["../out.md", "a/../../out.md", "/out.md", "a//b.md", "./a.md", "a/..", ""])
def test_not_even_who_forgets_to_check_a_path_leaves_the_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "out.md").write_text("somebody else's")
    folder = Folder(tmp_path / "vault")
    (folder.root / "a").mkdir(parents=True)
    (folder.root / "a.md").write_text("mine")
    for act in (
        lambda: folder.read(path, 100),
        lambda: folder.stat(path),
        lambda: folder.write(path, b"x", before=None),
        lambda: folder.delete(path, before=version_of(b"somebody else's")),
        lambda: folder.move(path, "b.md"),
        lambda: folder.move("a.md", path),
    ):
        with pytest.raises(BadInput):
            act()
    assert (tmp_path / "out.md").read_text() == "somebody else's"
