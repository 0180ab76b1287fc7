"""Links between pages: what is one, which page it means, and what becomes of it when pages move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.vault.markdown.format import line_meant, parse
from bethink.vault.markdown.frontmatter import info_of
from bethink.vault.markdown.links import Moves, Resolver, links_of, parse_link, relinked
from bethink.vault.search.catalogue import CataloguePage
from bethink.vault.search.graph import graph_of
from tests.unit.test_vault_format import TEXTS

PATHS = (
    "user.md",
    "entities/jane_doe.md",
    "entities/acme.md",
    "notes/acme.md",
    "notes/Über uns.md",
    "notes/v1.2.md",
)


def read(text: str) -> list[tuple[str, str, str, str, str]]:
    """Kind, target, section, block and label of each link."""
    return [(one.kind, one.target, one.section, one.block, one.label) for one in links_of(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[[jane_doe]]", ("wiki", "jane_doe", "", "", "")),
        ("[[entities/jane_doe.md|her]]", ("wiki", "entities/jane_doe.md", "", "", "her")),
        ("[[jane_doe#Health#Allergies]]", ("wiki", "jane_doe", "Health#Allergies", "", "")),
        ("[[jane_doe#^f1|x]]", ("wiki", "jane_doe", "", "f1", "x")),
        ("[[#Health]]", ("wiki", "", "Health", "", "")),
        ("![[jane_doe]]", ("embed", "jane_doe", "", "", "")),
        ("[her](entities/jane_doe.md#Health)", ("markdown", "entities/jane_doe.md", "Health", "", "her")),
        ("[a [b] c](x.md)", ("markdown", "x.md", "", "", "a [b] c")),
        ("[x](<a b.md>)", ("markdown", "a b.md", "", "", "x")),
        ("[x](a%20b.md 'title')", ("markdown", "a b.md", "", "", "x")),
        ("[x](a_(b).md)", ("markdown", "a_(b).md", "", "", "x")),
        ("| a |\n|---|\n| [[b\\|c]] |", ("wiki", "b", "", "", "c")),
        ("# [[a]]", ("wiki", "a", "", "", "")),
        ("- x: [[a]] ^i", ("wiki", "a", "", "", "")),
        ("> [[a]]", ("wiki", "a", "", "", "")),
        ("`` ` `` [[a]]", ("wiki", "a", "", "", "")),
        ("\\` [[a]] `", ("wiki", "a", "", "", "")),
        ("` [[a]]", ("wiki", "a", "", "", "")),
        ("[ [[a]]", ("wiki", "a", "", "", "")),
        ("[[[a]]", ("wiki", "a", "", "", "")),
        ("%% x %% [[a]]", ("wiki", "a", "", "", "")),
        ("`%%` [[a]] %%", ("wiki", "a", "", "", "")),
        ("- a\n\n    [[b]]", ("wiki", "b", "", "", "")),
    ],
)
def test_a_link_is_read(text: str, found: tuple[str, str, str, str, str]) -> None:
    assert read(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "`[[a]]`",
            "``[[a]] ` ``",
            "```\n[[a]]\n```",
            "~~~\n[[a]]",
            "> ```\n> [[a]]\n> ```",
            "- ```\n  [[a]]\n  ```",
        ),
        *(
            "text\n\n    [[a]]",
            "\\[[a]]",
            "[\\[a]]",
            "[[a\nb]]",
            "[[]]",
            "[[ | ]]",
            "%% [[a]] %%",
            "%%\n\n[[a]]\n%%",
        ),
        *(
            "<!-- [[a]] -->",
            "<!--\n\n[[a]]\n\n-->",
            "[a](https://x.y/z.md)",
            "[a](mailto:b)",
            "[a]()",
            "[a] (b.md)",
        ),
        *("---\nx: '[[a]]'\n---\n", "[a](b c.md)", "<!-- [[a]]"),
    ],
)
def test_what_is_no_link_is_none(text: str) -> None:
    assert read(text) == []


def test_a_quote_ends_its_code() -> None:
    assert read("> ```\n> [[a]]\n\n[[b]]") == [("wiki", "b", "", "", "")]


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("[[entities/jane_doe.md]]", "entities/jane_doe.md"),
        ("[[jane_doe]]", "entities/jane_doe.md"),
        ("[[Jane_Doe|her]]", "entities/jane_doe.md"),
        ("[[jane_doe#Health]]", "entities/jane_doe.md"),
        ("![[/entities/jane_doe]]", "entities/jane_doe.md"),
        ("[her](../entities/jane_doe.md)", "entities/jane_doe.md"),
        ("[her](entities/jane_doe.md)", "entities/jane_doe.md"),
        ("[[Jane]]", "entities/jane_doe.md"),
        ("[[acme]]", "notes/acme.md"),
        ("[[entities/acme]]", "entities/acme.md"),
        ("[[U\u0308ber uns]]", "notes/Über uns.md"),
        ("[[v1.2]]", "notes/v1.2.md"),
        ("[[#Here]]", "notes/here.md"),
        ("jane_doe", "entities/jane_doe.md"),
        ("entities/jane_doe.md#Health", "entities/jane_doe.md"),
        ("[[nobody]]", None),
        ("[[../../user]]", None),
        ("[[doe]]", None),
    ],
)
def test_a_link_means_a_page(link: str, page: str | None) -> None:
    resolver = Resolver(PATHS, {"Jane": "entities/jane_doe.md"})
    assert resolver.resolve_link(parse_link(link), "notes/here.md") == page


def test_only_links_to_pages_can_be_broken() -> None:
    text = "[[a]] [[b.png]] ![[c.pdf]] [[#x]] [d](e.md) [[user]] [[v2.0 plan]]"
    graph = graph_of([CataloguePage("user.md", "", 0, len(text), info_of("user.md", text))])
    assert [link.target for link in graph.unresolved] == ["a", "e.md", "v2.0 plan"]


def moves(**paths: str) -> Moves:
    """Pages of `PATHS` that move, named by their names."""
    moved = {next(path for path in PATHS if path.endswith(f"/{name}.md")): new for name, new in paths.items()}
    return Moves(moved, Resolver(PATHS), Resolver([moved.get(path, path) for path in PATHS]))


def test_links_follow_a_page_that_moves() -> None:
    text = (
        "[[jane_doe]] [[entities/jane_doe.md|her]] [[jane_doe#Health]] `[[jane_doe]]` "
        "[x](entities/jane_doe.md#Health) ![[Jane_Doe]] [[acme]] [[nobody]]\r\n"
    )
    assert relinked(text, "user.md", moves(jane_doe="people/jane_roe.md")) == (
        "[[jane_roe]] [[people/jane_roe.md|her]] [[jane_roe#Health]] `[[jane_doe]]` "
        "[x](people/jane_roe.md#Health) ![[jane_roe]] [[acme]] [[nobody]]\r\n"
    )


def test_a_page_that_moves_takes_its_relative_links_along() -> None:
    text = "[a](acme.md) [b](../user.md) [[acme]] [[user]]"
    moved = Moves(
        {"notes/acme.md": "x/y/acme.md"},
        Resolver(PATHS),
        Resolver({*PATHS} - {"notes/acme.md"} | {"x/y/acme.md"}),
    )
    assert relinked(text, "x/y/acme.md", moved) == "[a](acme.md) [b](../../user.md) [[acme]] [[user]]"


def test_a_link_that_would_mean_another_page_now_is_named_in_full() -> None:
    before = ["a/x.md", "user.md"]
    moved = Moves({"a/x.md": "b/z.md"}, Resolver(before), Resolver(["b/z.md", "user.md", "z.md"]))
    assert relinked("[[x]]", "user.md", moved) == "[[b/z]]"


@given(TEXTS)
def test_links_stay_as_they_are_where_nothing_moves(text: str) -> None:
    resolver = Resolver([*PATHS, "x.md", "a/b.md"])
    assert relinked(text, "user.md", Moves({}, resolver, resolver)) == text


@given(TEXTS, st.sampled_from(["x", "a/b", "entities/x"]))
def test_only_names_of_pages_change_when_a_page_moves(text: str, name: str) -> None:
    before, moved = [*PATHS, "x.md", "a/b.md"], {"x.md": "new/place.md"}
    where = Moves(moved, Resolver(before), Resolver([moved.get(path, path) for path in before]))
    given = f"{text}\n\n[[{name}]]\n"
    behind = relinked(given, "user.md", where)
    was, now = links_of(given), links_of(behind)
    assert len(was) == len(now)
    for old, new in zip(was, now, strict=True):
        meant = where.before.resolve_link(old, "user.md")
        assert where.behind.resolve_link(new, "user.md") == moved.get(meant or "", meant)
        assert (old.section, old.block, old.label) == (new.section, new.block, new.label)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "[",
            "[[",
            "[[a",
            "](",
            "](a ",
            "[](",
            "![",
            "`",
            "a` ``",
            "`` ` ",
            "(((",
            '](a"',
            "](a '",
            "[a](",
            "\\[",
        ),
        *(
            "- ",
            "- - ",
            "* x",
            ">",
            "> > ",
            "|",
            "| ",
            "|-",
            "-|",
            "- |",
            " ",
            "\t",
            "  \n",
            "\n\n",
            "#",
            "# ",
            "%%",
            "%",
        ),
        *(
            "<!--",
            "-->",
            "<!-- ",
            "---\n",
            "=",
            "~~~\n",
            "```\n",
            "````",
            "^",
            "^a",
            " ^a",
            "#a",
            "#1",
            "a:",
            "- a:",
        ),
        *(
            "**",
            "- **a",
            "[^a",
            "\\",
            "\r",
            "\r\n",
            "[[a|",
            "[[a#",
            "]]",
            "]",
            "[[a]]",
            "1. ",
            "&",
            "\u2028",
            "_",
        ),
    ],
)
def test_no_text_takes_more_than_its_length(piece: str) -> None:
    """Many characters of anything are read within the ten seconds that every test has."""
    parse(piece * (200_000 // len(piece)))
    parse((piece * 97 + "x") * (200_000 // (97 * len(piece))))


@pytest.mark.parametrize(
    ("link", "line"),
    [("[[x#Health]]", 3), ("[[x#A#health]]", 3), ("[[x#^f1]]", 4), ("[[x]]", 1), ("[[x#Nothing]]", 1)],
)
def test_a_link_leads_to_a_line(link: str, line: int) -> None:
    assert line_meant("# A\n\n## Health\n- a: b ^f1\n", parse_link(link)) == line
