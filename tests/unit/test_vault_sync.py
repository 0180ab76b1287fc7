"""What other programs do to the files is taken in; what is searched follows them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryStore
from bethink.index import IndexQuery
from bethink.principal import LOCAL_OWNER
from bethink.store import Put, Scan, SetVector
from bethink.vault import PAGES
from tests.vaults import ME, Kept, kept_in

pytestmark = pytest.mark.anyio


async def found(kept: Kept, words: str) -> list[str]:
    """The paths of the pages found by words."""
    hits = await kept.index.search(IndexQuery(LOCAL_OWNER, words, kinds=frozenset({"page"})))
    parts = await kept.vault.parts(LOCAL_OWNER, [hit.id for hit in hits.items])
    return sorted({part.path for part in parts if part is not None})


async def fill(kept: Kept) -> int:
    """Give all parts their vectors; how many had none."""
    embeddings = HashingEmbeddings()
    missing = await kept.index.missing_vectors(LOCAL_OWNER, embeddings.model, 1000)
    vectors = await embeddings.embed([one.text for one in missing])
    await kept.store.commit(
        LOCAL_OWNER,
        [SetVector(one.id, one.text, vectors[row], embeddings.model) for row, one in enumerate(missing)],
    )
    return len(missing)


async def test_files_are_found_changed_and_lost_as_they_come_and_go(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.file("entities/jane_doe.md", "# Work\n- employer: Zembrovia\n")
    kept.file(".obsidian/app.md", "zembrovia")
    kept.file(".trash/old.md", "zembrovia")
    kept.file("picture.png", b"zembrovia")
    synced = await kept.vault.sync(LOCAL_OWNER)
    assert (synced.taken, synced.pages) == (1, 1)
    assert await found(kept, "zembrovia") == ["entities/jane_doe.md"]
    assert await found(kept, "jane") == ["entities/jane_doe.md"]
    assert not (await kept.vault.sync(LOCAL_OWNER)).is_news
    kept.file("entities/jane_doe.md", "# Work\n- employer: Oblisk\n")
    assert (await kept.vault.sync(LOCAL_OWNER)).taken == 1
    assert await found(kept, "zembrovia") == []
    assert await found(kept, "oblisk") == ["entities/jane_doe.md"]
    (kept.root / "entities" / "jane_doe.md").unlink()
    assert (await kept.vault.sync(LOCAL_OWNER)).lost == 1
    assert await found(kept, "oblisk") == []
    assert [version.by for version in await kept.vault.history(LOCAL_OWNER, "entities/jane_doe.md")] == [
        "outside"
    ] * 3


async def test_an_edit_of_the_same_size_within_the_same_moment_is_seen(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "one")
    (kept.root / "a.md").write_text("two")
    await kept.vault.sync(LOCAL_OWNER)
    (kept.root / "a.md").write_text("six")
    await kept.vault.sync(LOCAL_OWNER)
    assert await found(kept, "six") == ["a.md"]


@pytest.mark.parametrize("partly", [False, True])
async def test_a_renamed_file_is_the_same_page(tmp_path: Path, *, partly: bool) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "zembrovia")
    await kept.written("twin.md", "zembrovia")
    (kept.root / "a.md").rename(kept.root / "b.md")
    synced = await kept.vault.sync(LOCAL_OWNER, ["b.md", "a.md"] if partly else None)
    assert (synced.moved, synced.taken, synced.lost) == (1, 0, 0)
    last, first = await kept.vault.history(LOCAL_OWNER, "b.md")
    assert (last.what, last.was, first.path) == ("moved", "a.md", "a.md")
    assert await found(kept, "zembrovia") == ["b.md", "twin.md"]


async def test_a_rename_that_is_seen_in_two_looks_is_one(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "zembrovia")
    (kept.root / "a.md").rename(kept.root / "b.md")
    await kept.vault.sync(LOCAL_OWNER, ["a.md"])
    await kept.vault.sync(LOCAL_OWNER, ["b.md"])
    assert [version.what for version in await kept.vault.history(LOCAL_OWNER, "b.md")] == [
        "moved",
        "deleted",
        "created",
    ]


async def test_a_copy_is_a_page_of_its_own(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "zembrovia")
    kept.file("b.md", "zembrovia")
    assert (await kept.vault.sync(LOCAL_OWNER)).taken == 1
    assert {*await kept.vault.pages(LOCAL_OWNER)} == {"a.md", "b.md"}


async def test_only_what_changed_is_embedded_again(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    sections = [f"## Section {number}\n\nSaid of number {number}.\n" for number in range(20)]
    await kept.written("a.md", "".join(sections))
    assert await fill(kept) == 20
    sections[3] = "## Section 3\n\nSomething new, and longer than it was.\n"
    kept.file("a.md", "".join(["Before all.\n", *sections]))
    await kept.vault.sync(LOCAL_OWNER)
    assert await fill(kept) == 2
    (part,) = [
        part
        for part in await kept.vault.parts(LOCAL_OWNER, await ids(kept, "number 7"))
        if part and "number 7." in part.text[part.start : part.end]
    ]
    assert part.headings == ("Section 7",)
    assert part.text.splitlines()[part.line - 1 :][0].startswith("## Section 7")


async def ids(kept: Kept, words: str) -> list[str]:
    return [hit.id for hit in (await kept.index.search(IndexQuery(LOCAL_OWNER, words))).items]


async def test_all_that_is_searched_is_made_anew_from_the_files(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    for number in range(70):
        kept.file(f"folder/{number}.md", f"zembrovia {number}")
    await kept.vault.sync(LOCAL_OWNER)
    before = await ids(kept, "zembrovia")
    synced = await kept.vault.sync(LOCAL_OWNER, rebuild=True)
    assert synced.taken == 70
    assert not {*before} & {*await ids(kept, "zembrovia")}
    assert len(await found(kept, "zembrovia")) > 40
    assert len(await kept.vault.history(LOCAL_OWNER, "folder/1.md")) == 1


async def test_what_one_process_took_in_another_knows(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    assert isinstance(kept.store, MemoryStore)
    other = kept_in(tmp_path, store=kept.store)
    await kept.written("a.md", "one")
    assert {*await other.vault.pages(LOCAL_OWNER)} == {"a.md"}
    await other.vault.move(ME, "a.md", "b.md", by="agent")
    await other.vault.write(ME, "a.md", "another", by="agent")
    assert {*await kept.vault.pages(LOCAL_OWNER)} == {"a.md", "b.md"}
    await kept.written("b.md", "three")
    assert not (await other.vault.sync(LOCAL_OWNER)).is_news
    change, pages = await other.vault.changed_since(LOCAL_OWNER, 0)
    assert (change, len(pages)) == (pages[-1].change, 2)


async def test_a_line_that_is_the_view_of_a_fact_is_not_searched_twice(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    fact = "fact-abcdefghij"
    await kept.written("a.md", f"- home: Zembrovia ^{fact}\n- pet: Rex ^mine\n")
    assert await found(kept, "zembrovia") == []
    assert await found(kept, "rex") == ["a.md"]


async def test_headings_in_code_are_none_and_long_sections_are_cut(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    await kept.written("a.md", "# Top\n```sh\n# not one\n```\n" + "word " * 1000)
    parts = await kept.vault.parts(LOCAL_OWNER, await ids(kept, "word"))
    assert len(parts) >= 5
    assert {part.headings for part in parts if part} == {("Top",)}
    assert all(part.end - part.start <= 1000 for part in parts if part)


async def test_other_names_are_read_of_pages_that_were_kept_before_they_were(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.file("jane.md", "---\naliases: [Jay]\n---\n")
    await kept.vault.sync(LOCAL_OWNER)
    assert await kept.vault.aliases(LOCAL_OWNER) == {"Jay": "jane.md"}
    (found,) = (await kept.store.scan(LOCAL_OWNER, Scan(PAGES)))[0].items
    before = msgspec.structs.replace(found.record, aliases=None)
    await kept.store.commit(LOCAL_OWNER, [Put(PAGES, before)])
    assert isinstance(kept.store, MemoryStore)
    again = kept_in(tmp_path, store=kept.store)
    await again.vault.sync(LOCAL_OWNER)
    assert await again.vault.aliases(LOCAL_OWNER) == {"Jay": "jane.md"}


async def test_a_file_that_cannot_be_a_page_is_listed_with_its_own_time_and_size(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    file = kept.file("a\x07b.md", "text")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    (entry,) = await kept.vault.listed(LOCAL_OWNER)
    assert entry.trouble is not None
    assert (entry.size, entry.changed) == (4, 1_700_000_000_000_000)
