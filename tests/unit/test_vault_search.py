"""Search in the vault: what is found, in which order, what is shown, and that no pattern keeps anybody."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from bethink.errors import BadInput, NoSuchPage
from bethink.memory import NewFact
from bethink.principal import LOCAL_OWNER, Principal
from bethink.tool import ToolContext, ToolOutput
from bethink.tools.vault import search_tool
from bethink.vault.filters.rules import FilterRule
from bethink.vault.search.catalogue import Catalogue, PageContent
from bethink.vault.search.graph import Graphs
from bethink.vault.search.query import PageSearch
from bethink.vault.search.ranking import excerpts
from bethink.vault.search.search import VaultSearch, required
from bethink.visibility.service import Visibility
from tests.command_line import CommandLine, masked
from tests.house import open_house
from tests.sample_vaults import healthcare, lay_out
from tests.traces import left_of
from tests.vaults import ME, Kept, kept_in

pytestmark = pytest.mark.anyio


_STORED = st.text(st.characters(exclude_categories=["Cs"]))
"""As files hold it."""


class Room:
    """A vault with its search."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.visibility = Visibility.over(kept.vault)
        self.searching = VaultSearch(self.visibility.views)

    async def paths(self, query: str, *filters: str, regex: bool = False, case: bool = False) -> list[str]:
        """The paths that a search finds, the best first."""
        found = await self.searching.search(ME, PageSearch(query, regex=regex, case=case, filters=filters))
        return [page.path for page in found.pages]


async def room(tmp_path: Path, **pages: str) -> Room:
    """A vault of these pages; `__` in a name stands for a slash."""
    kept = kept_in(tmp_path)
    lay_out({f"{name.replace('__', '/')}.md": text for name, text in pages.items()}, kept.root)
    await kept.vault.sync(LOCAL_OWNER)
    return Room(kept)


@pytest.mark.requirement("R119", "R120")
async def test_words_phrases_and_patterns_find_pages_of_the_sample(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    lay_out(healthcare(), kept.root)
    await kept.vault.sync(LOCAL_OWNER)
    here = Room(kept)
    assert (await here.paths("Marta Ohlsson"))[0] == "entities/marta_ohlsson.md"
    assert await here.paths("PENICILLIN") == ["entities/marta_ohlsson.md"]
    assert await here.paths("PENICILLIN", case=True) == []
    assert await here.paths('"allergy: latex"') == ["entities/lucia_ferrante.md"]
    assert await here.paths(r"birth_date: 19[34]\d", regex=True) != []
    assert {path.partition("/")[0] for path in await here.paths("tomasz bielak", "visits/*")} == {"visits"}
    assert all("/" not in path for path in await here.paths("marta", "-entities", "-visits"))


@pytest.mark.requirement("R119", "R120")
async def test_the_best_comes_first(tmp_path: Path) -> None:
    here = await room(
        tmp_path,
        a="Rome is far. A trip to Rome and Romeo.",
        notes__rome="A city.",
        b="# Travels\n\n## Rome\nIt rained.",
        c="The tromeric thing.",
    )
    assert await here.paths("rome") == ["notes/rome.md", "b.md", "a.md", "c.md"]


async def test_where_no_page_has_all_words_those_with_most_are_found(tmp_path: Path) -> None:
    here = await room(tmp_path, a="green tea and cake", b="green paint", c="nothing")
    found = await here.searching.search(ME, PageSearch("green tea recipe"))
    assert [page.path for page in found.pages] == ["a.md", "b.md"]
    assert "some of them" in found.notes[0]
    assert await here.paths("green tea") == ["a.md"]


@pytest.mark.requirement("R120")
async def test_what_is_shown_is_around_the_hit_with_its_line_and_headings(tmp_path: Path) -> None:
    text = "# Jane\r\n\r\n## Health\r\none\r\ntwo\r\n- allergy: Nuts\r\nfour\r\nfive\r\nsix\r\n"
    here = await room(tmp_path, jane=text)
    found = await here.searching.search(ME, PageSearch("nuts", context=1))
    (page,) = found.pages
    (excerpt,) = page.excerpts
    assert (page.title, page.section, page.hits) == ("Jane", ("Jane", "Health"), 1)
    assert (excerpt.line, excerpt.text) == (5, "two\n- allergy: Nuts\nfour")
    assert [excerpt.text[a:b] for a, b in excerpt.marks] == ["Nuts"]
    assert (found.total, found.is_exact, found.has_more) == (1, True, False)


@pytest.mark.requirement("R120")
async def test_results_come_by_the_page(tmp_path: Path) -> None:
    here = await room(tmp_path, **{f"p{number:03}": f"common word {number}" for number in range(150)})
    seen: list[str] = []
    for page in range(1, 8):
        found = await here.searching.search(ME, PageSearch("common", page=page, limit=20))
        seen += [one.path for one in found.pages]
        assert found.has_more
    last = await here.searching.search(ME, PageSearch("common", page=8, limit=20))
    assert len({*seen, *(one.path for one in last.pages)}) == 150
    assert (last.total, last.is_exact, last.has_more) == (150, True, False)
    first = await here.searching.search(ME, PageSearch("common", limit=5))
    assert not first.is_exact
    assert first.total >= 5


async def test_filters_narrow_to_tags_and_sections(tmp_path: Path) -> None:
    here = await room(
        tmp_path,
        a="---\ntags: [work/acme]\n---\n# A\npear\n## Health\nplum",
        b="# B #home\nplum\n## Work\npear",
        deep__c="#work plum",
    )
    assert set(await here.paths("plum", "tag:work")) == {"a.md", "deep/c.md"}
    assert await here.paths("plum", "-tag:work") == ["b.md"]
    assert await here.paths("plum", "section:Health") == ["a.md"]
    assert await here.paths("pear", "section:health") == []
    assert await here.paths("plum", "-section:health", "tag:work") == ["deep/c.md"]
    assert await here.paths("", "#home") == ["b.md"]
    assert await here.paths("", "deep") == ["deep/c.md"]
    assert await here.paths("plum", "type:md", "a.md") == ["a.md"]


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (PageSearch(""), "a word or more"),
        (PageSearch("x" * 501), "500"),
        (PageSearch("x", page=0), "page"),
        (PageSearch("x", limit=101), "limit"),
        (PageSearch("x", context=-1), "context"),
        (PageSearch("x", filters=["type:pdf"]), "Markdown"),
        (PageSearch("x", filters=["tag:"]), "empty"),
        (PageSearch("x", filters=["a"] * 21), "20"),
        (PageSearch("(", regex=True), "not a regular expression"),
        (PageSearch("a{99999999999}", regex=True), "not a regular expression"),
    ],
)
async def test_what_cannot_be_searched_says_why(tmp_path: Path, search: PageSearch, said: str) -> None:
    here = await room(tmp_path, a="x")
    with pytest.raises(BadInput, match=said):
        await here.searching.search(ME, search)


@pytest.mark.parametrize(
    "query", ["a", "ab", "é", "日本", "C++", "e.g.", "[[x]]", "#t", '"', "ß", "ﬁ", "\u0130"]
)
async def test_short_and_odd_texts_are_found(tmp_path: Path, query: str) -> None:
    here = await room(tmp_path, a=f"before {query} behind", b="zzz")
    assert await here.paths(query) == ["a.md"]


async def test_both_unicode_forms_are_one_text(tmp_path: Path) -> None:
    here = await room(tmp_path, a="Cafe\u0301 au lait", b="Caf\u00e9 noir")
    assert set(await here.paths("caf\u00e9")) == {"a.md", "b.md"}
    assert set(await here.paths("cafe\u0301")) == {"a.md", "b.md"}
    assert await here.paths("cafe\u0301 au", regex=True) == ["a.md"]


async def test_what_changes_is_found_and_what_went_is_not(tmp_path: Path) -> None:
    here = await room(tmp_path, a="old zembrovia words", b="others")
    vault = here.kept.vault
    assert await here.paths("zembrovia") == ["a.md"]
    await vault.write(ME, "a.md", "new quillfeather words", by="person")
    assert (await here.paths("zembrovia"), await here.paths("quillfeather")) == ([], ["a.md"])
    await vault.move(ME, "a.md", "deep/c.md", by="person")
    assert await here.paths("quillfeather") == ["deep/c.md"]
    await vault.delete(ME, "deep/c.md", by="person")
    assert await here.paths("quillfeather") == []
    assert await here.searching.refresh(LOCAL_OWNER) == 0


async def test_the_catalogue_keeps_nothing_of_what_a_page_does_not_say_any_more(tmp_path: Path) -> None:
    secret = "zembrovia"
    here = await room(tmp_path, a=f"# {secret}\n[[{secret}]]\n## {secret} {secret}\n#{secret}", b="others")
    catalogue = here.searching.catalogue(LOCAL_OWNER).path.parent
    await here.paths(secret)
    assert left_of([secret], catalogue) != []
    await here.kept.vault.write(ME, "a.md", "nothing", by="person")
    await here.searching.refresh(LOCAL_OWNER)
    assert left_of([secret], catalogue) == []


async def test_a_damaged_or_older_catalogue_is_made_anew(tmp_path: Path) -> None:
    here = await room(tmp_path, a="zembrovia")
    path = here.searching.catalogue(LOCAL_OWNER).path
    assert await here.paths("zembrovia") == ["a.md"]
    path.write_bytes(b"no database" * 1000)
    assert await here.paths("zembrovia") == ["a.md"]
    path.unlink()
    assert await here.paths("zembrovia") == ["a.md"]


@pytest.mark.requirement("R120")
async def test_a_pattern_that_keeps_other_engines_busy_for_ever_is_answered(tmp_path: Path) -> None:
    here = await room(tmp_path, a="a" * 60_000, b="b")
    assert await here.paths("(a+)+c|(a|aa)+d", regex=True) == []
    assert await here.paths("(a+)+$", regex=True) == ["a.md"]


async def test_a_search_by_a_pattern_ends_with_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = await room(tmp_path, a="a" * 60, b="b")
    times = iter([0.0, 0.0, 5.0])
    monkeypatch.setattr("bethink.vault.search.ranking.time", SimpleNamespace(monotonic=lambda: next(times)))
    with pytest.raises(BadInput, match="takes too long"):
        await here.paths("(a+)+c", regex=True)


@pytest.mark.parametrize("pattern", ["a(?=b)", r"(a)\1", "(?<!a)b", "(?>ab)"])
async def test_what_is_not_supported_of_a_pattern_is_told(tmp_path: Path, pattern: str) -> None:
    here = await room(tmp_path, a="abab")
    with pytest.raises(BadInput, match="not supported"):
        await here.paths(pattern, regex=True)


async def test_patterns_are_those_of_lines_and_know_case(tmp_path: Path) -> None:
    here = await room(tmp_path, a="one\nAllergy: nuts\n", b="no allergy: x")
    assert await here.paths("^allergy", regex=True) == ["a.md"]
    assert await here.paths("^allergy", regex=True, case=True) == []
    assert await here.paths(r"nuts$", "section:none", regex=True) == []


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("abc", ["abc"]),
        ("abc.*DEF", ["abc", "def"]),
        ("(abc)+x{2,}yz", ["abc", "yz"][:1]),
        ("(abc)?def", ["def"]),
        ("abc|def", []),
        (r"\bword\b", ["word"]),
        ("(?i:Foo)bar", ["foo", "bar"]),
        ("[abc]def(?=ghi)", ["def"]),
        ("a.b", []),
        ("(?:(?:xyz))", ["xyz"]),
    ],
)
def test_texts_that_a_pattern_needs_are_known(pattern: str, texts: list[str]) -> None:
    assert required(pattern, case=False) == texts


@settings(max_examples=50, deadline=None)
@given(_STORED, _STORED.filter(bool).map(lambda text: text[:8]))
def test_a_page_that_holds_a_text_is_among_those_that_may(around: str, sought: str) -> None:
    with TemporaryDirectory() as directory:
        catalogue = Catalogue(Path(directory) / "c.sqlite3")
        page = PageContent("1", 1, 1, around + sought + around)
        catalogue.refresh(1, {"a.md": "1"}, lambda _path: page)
        # Its form may depend on what stands beside it: as it stands, it is there too.
        assert [row.path for row in catalogue.candidates([sought.casefold()])[0]] == ["a.md"]


async def test_texts_of_two_letters_of_chinese_are_looked_up(tmp_path: Path) -> None:
    here = await room(tmp_path, a="\u6771\u4eac tower", b="osaka", c='with "quotes" and \0 nothing')
    await here.searching.refresh(LOCAL_OWNER)
    catalogue = here.searching.catalogue(LOCAL_OWNER)
    rows, _ = await anyio.to_thread.run_sync(catalogue.candidates, ["\u6771\u4eac"])
    assert [row.path for row in rows] == ["a.md"]
    assert await here.paths('"quotes"') == ["c.md"]
    assert await here.paths("nothing") == ["c.md"]


async def test_no_part_of_a_word_that_was_forgotten_stays_in_the_index(tmp_path: Path) -> None:
    here = await room(tmp_path, **{f"p{n}": f"page {n} of many" for n in range(20)}, a="qwzxyvkj")
    assert await here.paths("qwzxyvkj") == ["a.md"]
    await here.kept.written("a.md", "nothing")
    await here.searching.purge(LOCAL_OWNER)
    path = here.searching.catalogue(LOCAL_OWNER).path
    for part in ("qwz", "zxy", "yvk"):
        assert await anyio.to_thread.run_sync(left_of, [part], path.parent) == []


def test_a_long_line_is_shown_around_its_hit() -> None:
    text = "x" * 100_000 + " here " + "y" * 100_000
    (excerpt,) = excerpts(text, [(100_001, 100_005)], 2)
    assert len(excerpt.text) < 400
    assert [excerpt.text[a:b] for a, b in excerpt.marks] == ["here"]


@pytest.mark.requirement("R119", "P4b")
async def test_the_tool_tells_a_model_what_was_found_and_where(tmp_path: Path) -> None:
    lay_out(healthcare(), tmp_path / "vault")
    async with open_house(data_dir=tmp_path) as house:
        await house.app.vault.sync(LOCAL_OWNER)
        search = search_tool(house.app.vault_tools.searching)
        context = ToolContext(house.me, "", "", "")
        output = await search.handler(context, query="penicillin", context_lines=0)
        assert isinstance(output, ToolOutput)
        assert output.memories == ("entities/marta_ohlsson.md",)
        assert output.text == snapshot("""\
1 pages.

[entities/marta_ohlsson.md] › Marta Ohlsson (1 hits)
3: - allergy: penicillin\
""")
        many = await search.handler(context, query="doctor", filters=["-user.md"], context_lines=20)
        assert isinstance(many, ToolOutput)
        assert "There are more: ask for page 2." in many.text
        few = await search.handler(context, query="doctor", filters=["-user.md"], limit=2)
        assert isinstance(few, ToolOutput)
        assert len(few.memories) == 2
        nothing = await search.handler(context, query="zembrovia")
        assert isinstance(nothing, ToolOutput)
        assert nothing.text == "No page of the vault contains this."


def test_the_command_line_searches(plain: CommandLine) -> None:
    lay_out(healthcare(), plain.data / "vault")
    found = plain("vault", "search", "allergy", "latex", "--context", "0")
    assert masked(found.out) == snapshot("""\
0.46  entities/lucia_ferrante.md  2 hits  Lucia Ferrante
       3  - allergy: latex
""")
    (page,) = plain("vault", "search", "--regex", "^- allergy: la", "--json").documents
    assert (page["path"], page["hits"]) == ("entities/lucia_ferrante.md", 1)
    assert "--page 2 shows them" in plain("vault", "search", "doctor", "--limit", "1").err
    assert plain("vault", "search", "zembrovia").err == "No page contains this.\n"
    assert plain("vault", "search", "(", "--regex").code == 2


CLI = Principal(LOCAL_OWNER, audience="cli")
OTHER = Principal(LOCAL_OWNER, audience="mcp-http:other")


@pytest.mark.parametrize("is_pattern", [False, True])
async def test_who_may_not_see_something_finds_nothing_of_it(tmp_path: Path, *, is_pattern: bool) -> None:
    here = await room(
        tmp_path,
        jane="# Jane\n- phone: 0301234567\n- city: Berlin\n## Zembrovia\nquillfeather\n",
        secret="# Umbrella\n- city: Berlin",
        user="[[secret]] and Berlin",
    )
    for rule in (FilterRule(field="phone"), FilterRule(section="Zembrovia"), FilterRule(path="secret.md")):
        await here.visibility.filters.add(CLI, rule)

    async def paths(who: Principal, query: str) -> set[str]:
        found = await here.searching.search(who, PageSearch(query, regex=is_pattern))
        return {page.path for page in found.pages}

    for query in ("0301234567", "quillfeather", "Zembrovia", "Umbrella", "secret"):
        assert await paths(CLI, query) != set()
        assert await paths(OTHER, query) == set()
    assert await paths(CLI, "Berlin") == {"jane.md", "secret.md", "user.md"}
    assert await paths(OTHER, "Berlin") == {"jane.md", "user.md"}
    graphs = Graphs(here.searching)
    assert [one.path for one in await graphs.backlinks(CLI, "secret.md")] == ["user.md"]
    with pytest.raises(NoSuchPage):
        await graphs.backlinks(OTHER, "secret.md")
    net = (await graphs.of(OTHER)).net()
    assert [node.path for node in net.nodes] == ["jane.md", "user.md"]
    assert (await graphs.of(OTHER)).unresolved == ()


async def test_what_is_forgotten_is_in_the_catalogue_no_more(tmp_path: Path) -> None:
    async with open_house(data_dir=tmp_path) as house:
        await house.app.vault.write(house.me, "a.md", "I was a clerk at Zembrovia.\n# Other\n", by="person")
        searching = house.app.vault_tools.searching
        assert (await searching.search(house.me, PageSearch("zembrovia"))).total == 1
        assert await searching.pages(house.me.owner) != []
        fact = (await house.app.memory.add(house.me, NewFact("User was a clerk at Zembrovia"))).fact
        await house.app.forgetting.forget(house.me, [fact.id])
        assert left_of(["zembrovia"], tmp_path / "vault-search") == []
        assert (await searching.search(house.me, PageSearch("zembrovia"))).total == 0


class Overtaken(VaultSearch):
    """A page is written when the catalogue has just been brought up to date."""

    async def refresh(self, owner: str) -> int:
        looked_at = await super().refresh(owner)
        if "late.md" not in await self.vault.pages(owner):
            await anyio.to_thread.run_sync(lay_out, {"late.md": "# Late\n"}, self.vault.root(owner))
            await self.vault.sync(owner)
        return looked_at


async def test_what_changes_while_the_catalogue_is_brought_up_to_date_is_told_the_next_time(
    tmp_path: Path,
) -> None:
    here = await room(tmp_path, early="# Early")
    searching = Overtaken(here.visibility.views)
    assert [page.path for page in await searching.pages(LOCAL_OWNER)] == ["early.md"]
    assert [page.path for page in await searching.pages(LOCAL_OWNER)] == ["early.md", "late.md"]
