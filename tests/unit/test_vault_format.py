"""The format of the vault's pages: what is read, and that edits change nothing else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import BadInput
from bethink.vault.markdown.format import (
    add_line,
    extent,
    parse,
    remove_line,
    section_named,
    sections,
    set_fact,
    tags_of,
)
from bethink.vault.markdown.frontmatter import fields, front_matter, set_field, simple_fields
from bethink.vault.markdown.yaml_texts import read_yaml

PAGE = """\
---
title: Jane Doe
aliases: [Jane, "J. Doe"]
tags: [friend, work/acme]
born: 1980-03-04
---
# Jane Doe

- employer: [[entities/acme|ACME]] ^f1
- **Phone**: +49 30 123
- **mail:** jane@example.com
* city:
- See https://example.com: a site
- nested:
  - street: Main Street 1
    in the back
  - town: Berlin

Text with `- not: fact` and #tag, not a#tag.

## Health

| drug | dose |
|------|-----:|
| Aspirin | 100 mg |
| [[ibuprofen\\|Ibu]] | 200 mg |

```markdown
# no heading
- no: fact
[[no_link]]
```

### Allergies ###
- nuts: severe

Visits
------
1. first: ok
"""


def test_a_page_is_read_with_all_that_it_is_made_of() -> None:
    page = parse(PAGE)
    assert [(one.level, one.title) for one in page.headings] == [
        (1, "Jane Doe"),
        (2, "Health"),
        (3, "Allergies"),
        (2, "Visits"),
    ]
    assert [(fact.name, fact.value, fact.id) for fact in page.facts] == [
        ("employer", "[[entities/acme|ACME]]", "f1"),
        ("Phone", "+49 30 123", None),
        ("mail", "jane@example.com", None),
        ("city", "", None),
        ("nested", "", None),
        ("street", "Main Street 1", None),
        ("town", "Berlin", None),
        ("nuts", "severe", None),
        ("first", "ok", None),
    ]
    (table,) = page.tables
    assert table.columns == ("drug", "dose")
    assert [[PAGE[a:b] for a, b in row] for row in table.rows] == [
        ["Aspirin", "100 mg"],
        ["[[ibuprofen\\|Ibu]]", "200 mg"],
    ]
    assert [(link.target, link.label) for link in page.links] == [
        ("entities/acme", "ACME"),
        ("ibuprofen", "Ibu"),
    ]
    assert [(block.id, PAGE[slice(*block.span)]) for block in page.blocks] == [
        ("f1", "- employer: [[entities/acme|ACME]] ^f1")
    ]
    assert tags_of(page) == ["tag"]


def test_sections_know_their_headings_and_hold_the_whole_text() -> None:
    page = parse(PAGE)
    found = sections(page)
    assert [section.path for section in found] == [
        ("Jane Doe",),
        ("Jane Doe", "Health"),
        ("Jane Doe", "Health", "Allergies"),
        ("Jane Doe", "Visits"),
    ]
    assert "".join(PAGE[section.start : section.end] for section in found) == PAGE[page.lines.body :]
    health = section_named(page, "## health")
    assert health is not None
    assert PAGE[health.start : health.tree_end].endswith("- nuts: severe\n\n")


def test_front_matter_is_text_as_it_was_written() -> None:
    page = parse(PAGE)
    front = front_matter(page)
    assert front.fault is None
    assert (front.title, front.aliases, front.tags) == (
        "Jane Doe",
        ["Jane", "J. Doe"],
        ["friend", "work/acme"],
    )
    assert front.values["born"] == "1980-03-04"
    assert [(one.name, PAGE[slice(*one.value_span)]) for one in fields(page)][-1] == ("born", "1980-03-04")


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("a: [1", "line"),
        ("a: 1\na: 2", "twice"),
        ("a: &x 1\nb: *x", "anchor"),
        ("- a\n- b", "no list of fields"),
        ("a: " + "[" * 20_000, "nested"),
        ("a:\n" + "- " * 20_000 + "b", "nested"),
        ("a: !!python/object:os.system x", "constructor"),
        ("a: \x01", "YAML"),
        ("a: " + "b" * 70_000, "characters"),
    ],
)
def test_a_faulty_front_matter_says_what_is_wrong(source: str, fault: str) -> None:
    front = front_matter(parse(f"---\n{source}\n---\ntext"))
    assert not front.values
    assert fault in (front.fault or "")


SOURCES = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b_c",
                ":",
                ": ",
                " ",
                "x",
                "1980-03-04",
                "true",
                "~",
                "[",
                "]",
                ", ",
                "- ",
                "'",
                '"',
                "#",
                " #",
                "\n",
            ),
            "é",
        ]
    ),
    max_size=12,
).map("".join)


@given(SOURCES)
def test_simple_fields_are_what_yaml_says(source: str) -> None:
    found = simple_fields(source)
    if found is not None:
        assert found == (read_yaml(source) if source.strip() else {})


def test_a_rule_of_dashes_is_no_front_matter() -> None:
    assert parse("---\nno end").front is None
    assert parse("text\n---\na: 1\n---\n").front is None


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("- city: Rome", "- city: Paris"),
        ("\ufeff# A\r\n- city: Rome ^f1\r\n- x: y\r\n", "\ufeff# A\r\n- city: Paris ^f1\r\n- x: y\r\n"),
        ("- a\n\t- City:\t\tRome  \n", "- a\n\t- City:\t\tParis  \n"),
        ("- city:\n", "- city: Paris\n"),
        ("- city: ^f1\n", "- city: Paris ^f1\n"),
        ("", "- city: Paris\n"),
        ("\ufeff", "\ufeff- city: Paris\n"),
        ("# A", "# A\n- city: Paris"),
        ("# A\n\ntext\n\n## B\n- x: y\n", "# A\n\ntext\n- city: Paris\n\n## B\n- x: y\n"),
        ("## B\n", "- city: Paris\n## B\n"),
        ("---\na: b\n---", "---\na: b\n---\n- city: Paris"),
        ("- a: b\n  - c: d\n\ntext", "- a: b\n  - c: d\n- city: Paris\n\ntext"),
        ("```\n- city: Rome\n```\n", "```\n- city: Rome\n```\n- city: Paris\n"),
        ("%%\n- city: Rome\n%%\n", "%%\n- city: Rome\n%%\n- city: Paris\n"),
    ],
)
def test_a_fact_is_set_and_nothing_else_changes(before: str, behind: str) -> None:
    assert set_fact(before, "city", "Paris") == behind


def test_a_fact_is_set_in_its_section_which_is_made_where_it_is_missing() -> None:
    page = "# A\n- city: Rome\n## Old\n- city: Bonn\n"
    assert set_fact(page, "city", "Kiel", section="old") == page.replace("Bonn", "Kiel")
    assert set_fact(page, "town", "Kiel", section="Old") == f"{page}- town: Kiel\n"
    assert set_fact(page, "city", "Kiel", section="New") == f"{page}\n## New\n\n- city: Kiel\n"
    assert set_fact("# A\r\nx", "city", "Kiel", section="New") == "# A\r\nx\r\n\r\n## New\r\n\r\n- city: Kiel"


@pytest.mark.parametrize(
    ("name", "value"), [("a:b", "c"), ("", "c"), ("a", "b\nc"), ("a", "b ^c"), ("a" * 99, "b")]
)
def test_a_fact_that_is_no_line_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadInput, match="one line"):
        set_fact("- a: b", name, value)


def test_an_extent_holds_what_is_indented_below() -> None:
    page = parse(PAGE)
    nested = next(fact for fact in page.facts if fact.name == "nested")
    assert PAGE[slice(*extent(page, nested))].endswith("- town: Berlin\n")


def test_lines_are_added_and_removed() -> None:
    assert add_line("a\nb", "- c") == "a\nb\n- c"
    assert remove_line("a\r\nb", 2) == "a"
    assert remove_line("a\nb\n", 1) == "b\n"
    with pytest.raises(BadInput, match="no line 4"):
        remove_line("a\nb\n", 4)


def test_fields_of_the_front_matter_are_set() -> None:
    assert set_field("x", "tags", ["a", "b: c"]) == '---\ntags: [a, "b: c"]\n---\nx'
    page = "---\r\na: 1\r\ntags:\r\n  - x\r\n\r\nb: 2\r\n---\r\ntext"
    assert set_field(page, "tags", "y") == "---\r\na: 1\r\ntags: y\r\n\r\nb: 2\r\n---\r\ntext"
    assert set_field(page, "c", "3") == page.replace("b: 2\r\n", "b: 2\r\nc: 3\r\n")


PIECES = st.sampled_from(
    [
        *(
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            "\t",
            "  ",
            "    ",
            "text ",
            "- a: b",
            "- city: Rome",
            "* x",
            "1. one: two",
        ),
        *(
            "# H",
            "## H2 ##",
            "---",
            "===",
            "```",
            "~~~~",
            "````md",
            "> ",
            "> - q: r",
            "| a | b |",
            "|--|--|",
            "|",
        ),
        *(
            "[[x]]",
            "[[a/b.md#S|l]]",
            "[l](x.md)",
            '[l](<x y.md> "t")',
            "![[p.png]]",
            "\\[[x]]",
            "`",
            "``",
            "%%",
        ),
        *(
            "<!--",
            "-->",
            " ^id1",
            "#tag",
            "\ufeff",
            "é",
            "🙂",
            "- [ ] t: u",
            "**b**: c",
            "- **b:** c",
            "- k:",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@given(TEXTS)
def test_every_place_is_where_it_says(text: str) -> None:
    page = parse(text)
    size = len(text)
    for fact in page.facts:
        assert text[slice(*fact.value_span)] == fact.value
        assert text[slice(*fact.name_span)] == fact.name
        assert not {"\n", "\r"} & {*text[slice(*fact.span)]}
        assert page.line_at(fact.span[0]) == fact.line
    for link in page.links:
        assert text[slice(*link.span)].endswith(("]", ")"))
        assert link.kind == "markdown" or text[slice(*link.target_span)] == link.target
    for block in page.blocks:
        assert text[slice(*block.id_span)] == f"^{block.id}"
    for heading in page.headings:
        assert text[slice(*heading.span)].rstrip("\r\n") == text[slice(*heading.span)]
    found = sections(page)
    assert "".join(text[one.start : one.end] for one in found) == text[page.lines.body :]
    assert all(0 <= one.start <= one.body <= size and one.end <= one.tree_end <= size for one in found)
    chunks = page.lines.chunks
    assert all(a[1] <= b[0] for a, b in pairwise(chunks))


@given(TEXTS, st.sampled_from(["a", "city", "new name", "k"]), st.sampled_from(["v", "é [[x]]", "", "1: 2"]))
def test_setting_a_fact_changes_one_line(text: str, name: str, value: str) -> None:
    behind = set_fact(text, name, value)
    before = parse(text)
    there = [fact for fact in before.facts if fact.name.casefold() == name]
    if there:
        low, high = there[0].value_span
        assert behind.startswith(text[:low])
        assert behind.endswith(text[high:])
    else:
        more = len(behind) - len(text)
        at = next((place for place, one in enumerate(text) if behind[place] != one), len(text))
        assert behind == text[:at] + behind[at : at + more] + text[at:]
        assert more - len(f"- {name}: {value}".rstrip()) <= 3


@given(TEXTS, st.integers(1, 40))
def test_removing_a_line_removes_that_line(text: str, line: int) -> None:
    page = parse(text)
    if line > len(page.lines.starts):
        return
    start, stop = page.line_span(line)
    behind = remove_line(text, line)
    assert text.startswith(behind[: min(start, len(behind))]) or behind in text
    assert len(text) - len(behind) - (stop - start) <= 2
