"""Taking everything out as a file and bringing it back in, whatever the format."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import msgspec
import pytest

from bethink.errors import BadInput, NewerSchema
from bethink.export.service import FORMATS, RestoreReport
from bethink.memory import Fact, NewFact, Source
from tests.facts import active, the
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

LOSSLESS = ("jsonl", "md", "csv")
AWKWARD = (
    '=HYPERLINK("http://127.0.0.1")',
    "'=1+1",
    "''@SUM(A1)",
    "-1 is her lucky number",
    "＝１＋１",
    'Says "hi", often; and [x] <b>bold</b> *and* `code` \\ ~~no~~ &amp; _so_ snake_case',
    "# not a heading",
    "1. not a list",
    "12.5 kilometres a day",
    "<!-- not a comment --> at all -->",
    "> quoted",
    "--- dashes -- everywhere --",
    "ℵ עברית العربية 日本 🏳️‍🌈 é",
    "~~struck~~ (superseded until 2020-01-01)",
    "a" * 8_000,
)


async def exported(house: House, format: str) -> bytes:
    return "".join([part async for part in house.app.portability.export(house.me, format)]).encode()


async def imported(
    house: House, file: bytes, format: str = "auto", *, preview: bool = False
) -> RestoreReport:
    return await house.app.portability.import_file(house.me, io.BytesIO(file), format=format, preview=preview)


async def everything(house: House) -> dict[str, Fact]:
    page = await house.app.memory.list(house.me, limit=10_000)
    return {item.record.id: item.record for item in page.items}


async def lived_in(house: House) -> None:
    """A memory with all that can happen to one."""
    memory = house.app.memory
    for content in AWKWARD:
        house.clock.advance(1.234567)
        await memory.add(house.me, NewFact(content, topics=("a;b", "c\\d", "-e"), importance=0.123))
    old = await memory.add(house.me, NewFact("Lives in Rome", "personal_info", 0.9, pinned=True))
    house.clock.advance(3600)
    new = await memory.edit(house.me, old.fact.id, NewFact("Lives in Paris", "personal_info", 0.9))
    said = Source(kind="conversation", id="c1", message="m1", at=5)
    await memory.add(house.me, NewFact("lives in paris", topics=("home",), source=said))
    await memory.add(
        house.me,
        NewFact(
            "Takes the metro", "plans", valid_from=1, valid_until=2, depends_on=(new.fact.id,), project="p"
        ),
    )
    gone = await memory.add(house.me, NewFact("Owns a yacht", source=Source(kind="tool", id="web")))
    await memory.retract(house.me, gone.fact.id)
    await memory.add(house.me, NewFact("May like tea", suggested=True))
    await memory.add(house.me, NewFact("User likes olives"))
    contradicted = await memory.add(house.me, NewFact("User hates olives"))
    assert contradicted.fact.doubts
    tea = (await memory.add(house.me, NewFact("Likes a cup of green tea after dinner"))).fact
    twin = {"id": memory.new_id(), "content": f"The user {tea.content.lower()}"}
    await memory.restore_many(house.me, [msgspec.structs.replace(tea, **twin)], source="x")
    assert (await memory.consolidate(house.me)).gone == 1


@pytest.mark.requirement("U3")
@pytest.mark.parametrize("format", LOSSLESS)
async def test_what_is_exported_comes_back_with_every_field(format: str) -> None:
    async with open_house() as house, open_house() as other:
        await lived_in(house)
        file = await exported(house, format)
        report = await imported(other, file)
        assert (report.format, report.refused, report.bad) == (format, 0, ())
        assert report.restored == report.lines == len(await everything(house))
        assert await everything(other) == await everything(house)
        assert (await exported(other, format)).splitlines()[3:] == file.splitlines()[3:]
        history = await other.app.memory.history(other.me, next(iter(await everything(other))))
        assert history


@pytest.mark.parametrize("format", LOSSLESS)
async def test_the_same_file_twice_changes_nothing(format: str) -> None:
    async with open_house() as house, open_house() as other:
        await lived_in(house)
        file = await exported(house, format)
        first = await imported(other, file)
        before = await everything(other)
        again = await imported(other, file)
        assert (again.known, again.restored) == (first.restored, 0)
        assert again.id == first.id
        assert await everything(other) == before


async def test_what_was_changed_here_is_kept() -> None:
    async with open_house() as house:
        changed = await house.app.memory.add(house.me, NewFact("Lives in Rome"))
        file = await exported(house, "jsonl")
        await house.app.memory.edit(house.me, changed.fact.id, NewFact("Lives in Paris"))
        report = await imported(house, file)
        assert (report.differing, report.restored) == (1, 0)
        assert await active(house) == {"Lives in Paris"}


async def test_statements_of_others_pass_the_gate_as_imported() -> None:
    lines = (
        {"content": "Lives in Paris", "category": "Personal Info", "importance": 0.9, "topics": ["home"]},
        {"memory": "Likes tea", "created_at": "2024-05-01T12:00:00+02:00"},
        {"text": "Has a dog", "tags": "pets, home", "timestamp": 1_700_000_000},
        {"fact": "lives in paris"},
    )
    file = "\n".join(map(json.dumps, lines)).encode()
    async with open_house() as house:
        report = await imported(house, file)
        facts = {fact.content: fact for fact in (await everything(house)).values()}
        assert set(facts) == {"Lives in Paris", "Likes tea", "Has a dog"}
        assert (report.added, report.merged, report.refused) == (3, 1, 0)
        paris = facts["Lives in Paris"]
        assert (paris.category, paris.importance, paris.topics) == ("personal_info", 0.9, ("home",))
        assert {source.kind for source in paris.sources} == {"import"}
        assert {source.id for source in paris.sources} == {report.id}
        assert facts["Likes tea"].sources[0].at == 1_714_557_600_000_000
        assert facts["Has a dog"].topics == ("pets", "home")
        before = await everything(house)
        again = await imported(house, file)
        assert (again.known, again.added, again.merged) == (4, 0, 0)
        assert await everything(house) == before


async def test_what_was_retracted_does_not_come_back_with_its_file() -> None:
    file = b'{"content": "Likes tea"}\n'
    async with open_house() as house:
        await imported(house, file)
        (fact,) = await everything(house)
        await house.app.memory.retract(house.me, fact)
        assert (await imported(house, file)).known == 1
        assert await active(house) == set()


BAD_LINES = (
    (b"not json", "not JSON"),
    (b'["a", "list"]', "not a JSON object"),
    (b'{"importance": 1}', "no `content`"),
    (b'{"content": ""}', "no `content`"),
    (b'{"content": "x", "importance": 7}', "importance is 7"),
    (b'{"content": "x", "importance": "much"}', "importance is"),
    (b'{"content": "x", "created_at": "2024-02-30"}', "is not a time"),
    (b'{"content": "x", "created_at": "4711-01-01"}', "the future"),
    (b'{"content": "x", "created_at": 1e300}', "is not a time"),
    (b'{"content": "x", "valid_until": {}}', "is not a time"),
    (b'{"content": "x", "topics": 5}', "topics are a list"),
    (b'{"content": "x", "category": []}', "`category` is"),
    (b'{"content": "' + b"x" * 9_000 + b'"}', "at most 8,000"),
    (b'{"content": "x", "topics": [' + b",".join(b'"%d"' % n for n in range(10_000)) + b"]}", "at most 32"),
    (b'{"content": "\xff"}', "not UTF-8"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"content": "\\u200b\\u0000"}', "no content"),
    (b'{"content": "' + b"y" * 9_000_000 + b'"}', "longer than 8 MB"),
)


async def test_bad_lines_are_named_and_the_rest_is_kept() -> None:
    file = b"\n".join(line for bad, _ in BAD_LINES for line in (bad, b'{"content": "Knows %d"}' % len(bad)))
    async with open_house() as house:
        report = await imported(house, file, "jsonl")
        assert report.refused == len(BAD_LINES)
        assert report.lines == 2 * len(BAD_LINES)
        assert [bad.line for bad in report.bad] == list(range(1, 2 * len(BAD_LINES), 2))
        for bad, (line, reason) in zip(report.bad, BAD_LINES, strict=True):
            assert reason in bad.reason, (line[:80], bad.reason)
        assert await active(house) == {f"Knows {len(bad)}" for bad, _ in BAD_LINES}


async def test_bad_records_of_our_own_format_are_refused_too() -> None:
    async with open_house() as house, open_house() as other:
        await house.app.memory.add(house.me, NewFact("Likes tea"))
        header, line = (await exported(house, "jsonl")).splitlines()
        good = json.loads(line)
        changes: Sequence[dict[str, object]] = (
            {"id": "a:b"},
            {"id": 7},
            {"content": 7},
            {"content": "x" * 9_000},
            {"state": "gone"},
            {"created_at": "1e9"},
            {"created_at": "2999-01-01T00:00:00Z"},
            {"importance": 2},
            {"superseded_by": ["x"]},
            {"sources": [{"kind": "magic"}]},
            {"before": {**good, "content": ""}},
            {"valid_from": "2027-01-01T00:00:00Z", "valid_until": "2020-01-01T00:00:00Z"},
            {"sources": [{"kind": "person", "said": "My card is 4111 1111 1111 1111"}]},
            {"sources": [{"kind": "person", "said": "x" * 9_000}]},
            {"sources": [{"kind": "person", "at": "2999-01-01T00:00:00Z"}]},
            {"before": {**good, "sources": [{"kind": "person", "said": "My password is hunter2-Rex!"}]}},
            {"project": "p" * 5_000},
        )
        lines = [header, *(json.dumps({**good, **change}).encode() for change in changes), line]
        report = await imported(other, b"\n".join(lines))
        assert [bad.line for bad in report.bad] == list(range(2, len(changes) + 2))
        assert await everything(other) == await everything(house)


async def test_only_the_first_hundred_bad_lines_are_held() -> None:
    async with open_house() as house:
        report = await imported(house, b"nonsense\n" * 1_000, "jsonl")
        assert (report.refused, len(report.bad)) == (1_000, 100)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("format", LOSSLESS)
async def test_marks_and_line_ends_of_other_systems_are_read(encoding: str, end: str, format: str) -> None:
    async with open_house() as house, open_house() as other:
        await lived_in(house)
        text = (await exported(house, format)).decode().replace("\r\n", "\n").replace("\n", end)
        assert (await imported(other, text.encode(encoding))).refused == 0
        assert await everything(other) == await everything(house)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
async def test_utf_16_is_refused_with_what_to_do(encoding: str) -> None:
    async with open_house() as house:
        with pytest.raises(BadInput, match="iconv"):
            await imported(house, '{"content": "Likes tea"}'.encode(encoding))


@pytest.mark.parametrize(
    "file", [b"", b"\n\n", b"prose\n", b"a,b\n1,2\n", b"\x00\x01\x02\x03", b"PK\x03\x04"]
)
async def test_a_file_of_no_known_kind_is_bad_input(file: bytes) -> None:
    async with open_house() as house:
        with pytest.raises(BadInput):
            await imported(house, file)


async def test_a_newer_file_is_refused() -> None:
    async with open_house() as house:
        for file in (
            b'{"kind":"bethink_memory","schema":2}\n',
            b"# x\n\n<!-- bethink_memory schema 2, x -->\n",
            b"id,content,bethink_memory_2\n",
        ):
            with pytest.raises(NewerSchema, match="schema 2"):
                await imported(house, file)
        with pytest.raises(BadInput, match="no format 'xml'"):
            await imported(house, b"x", "xml")


async def test_a_preview_says_what_would_be_and_writes_nothing() -> None:
    async with open_house() as house, open_house() as other:
        await lived_in(house)
        file = await exported(house, "jsonl")
        preview = await imported(other, file, preview=True)
        assert preview.preview
        assert not await everything(other)
        real = await imported(other, file)
        assert msgspec.structs.replace(real, preview=True) == preview
        stated = b'{"content": "New"}\n{"content": "takes the METRO"}\nx\n'
        told = await imported(other, stated, preview=True)
        assert (told.added, told.merged, told.refused) == (1, 1, 1)


async def test_progress_is_told_batch_by_batch() -> None:
    file = "\n".join(json.dumps({"content": f"Knows {number}"}) for number in range(600)).encode()
    told: list[tuple[int, int]] = []
    async with open_house() as house:
        await house.app.portability.import_file(
            house.me, io.BytesIO(file), tell=lambda report, read: told.append((report.added, read))
        )
    assert [added for added, _ in told] == [512, 600]
    assert told[-1][1] == len(file)


async def test_markdown_that_a_person_wrote_is_read() -> None:
    file = b"""---
title: me
---
# About me

## Personal info

- Lives in Paris
  near the river
* [x] Has a \\*dog\\*
1. Likes tea

Just prose.

## Plans
- RequestScope Lisbon <!-- maybe -->
"""
    async with open_house() as house:
        report = await imported(house, file, "md")
        facts = {fact.content: fact.category for fact in (await everything(house)).values()}
        assert facts == {
            "Lives in Paris near the river": "personal_info",
            "Has a *dog*": "personal_info",
            "Likes tea": "personal_info",
            "RequestScope Lisbon <!-- maybe -->": "plans",
        }
        assert [(bad.line, bad.reason[:12]) for bad in report.bad] == [(13, "this is neit")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
async def test_tables_of_others_are_read(delimiter: str) -> None:
    rows = (
        ("Content", "Category", "Tags"),
        ("Likes tea", "preferences", "drink"),
        ('"Says ""hi""\nthere"', "", ""),
    )
    file = "\n".join(delimiter.join(row) for row in rows) + f'\n"open{delimiter}x\n'
    async with open_house() as house:
        report = await imported(house, file.encode())
        facts = {fact.content: fact for fact in (await everything(house)).values()}
        assert set(facts) == {"Likes tea", 'Says "hi" there'}
        assert facts["Likes tea"].topics == ("drink",)
        assert [bad.line for bad in report.bad] == [5]


async def test_no_cell_is_taken_for_a_formula() -> None:
    async with open_house() as house:
        await lived_in(house)
        import csv

        rows = list(csv.reader(io.StringIO((await exported(house, "csv")).decode(), newline="")))
        assert len(rows) == len(await everything(house)) + 1
        assert not [cell for row in rows for cell in row if cell[:1] in set("=+-@\t\r＝＋－＠")]


async def test_markdown_is_readable_by_category() -> None:
    async with open_house() as house:
        for content, category in (
            ("Likes tea", "preferences"),
            ("RequestScope Lisbon", "plans"),
            ("Likes jam", "preferences"),
        ):
            house.clock.advance(1)
            await house.app.memory.add(house.me, NewFact(content, category))
        text = (await exported(house, "md")).decode()
        shown = [
            line.partition(" <!--")[0] for line in text.splitlines() if line and not line.startswith("<!--")
        ]
        assert shown == [
            "# What Bethink remembers",
            "## plans",
            "- RequestScope Lisbon",
            "## preferences",
            "- Likes tea",
            "- Likes jam",
        ]


async def test_an_empty_memory_makes_an_empty_file_of_each_format() -> None:
    async with open_house() as house:
        for format in FORMATS:
            report = await imported(house, await exported(house, format))
            assert (report.format, report.lines) == (format, 0)
        with pytest.raises(BadInput, match="no format 'xml'"):
            await exported(house, "xml")


async def test_a_fact_that_is_put_back_is_found() -> None:
    async with open_house() as house, open_house() as other:
        await house.app.memory.add(house.me, NewFact("Lives in Paris"))
        await imported(other, await exported(house, "jsonl"))
        ((fact, _),) = await other.app.memory.search(other.me, "Paris")
        assert fact == await the(other, fact.id)


@pytest.mark.parametrize("format", LOSSLESS)
async def test_what_was_corrected_comes_back_as_never_true_and_stays_undoable(format: str) -> None:
    async with open_house() as house, open_house() as other:
        oslo = (await house.app.memory.add(house.me, NewFact("User's sister lives in Oslo"))).fact.id
        right = NewFact("User's sister lives in Bergen", corrects=(oslo,), about="Anna")
        bergen = (await house.app.memory.add(house.me, right)).fact.id
        assert not (await imported(other, await exported(house, format))).bad
        assert await everything(other) == await everything(house)
        known = await everything(other)
        assert (known[oslo].state, known[oslo].superseded_by) == ("corrected", bergen)
        assert (known[bergen].corrects, known[bergen].about) == ((oslo,), "Anna")
        hits = await other.app.recall.search(other.me, "Where does the sister live?")
        assert [hit.text for hit in hits] == [right.content]
        await other.app.memory.undo(other.me, f"superseded:{bergen}")
        assert await active(other) == {"User's sister lives in Oslo"}
