"""The format of the vault's pages: what is read, and that edits change nothing else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.vault.markdown.format import (
    parse,
    section_named,
    sections,
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
    assert PAGE[health.start : health.end].endswith("```\n\n")


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
    assert [(one.name, PAGE[slice(*one.span)]) for one in fields(page)][-1] == ("born", "born: 1980-03-04\n")


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("a: [1", "line"),
        ("a: 1\na: 2", "twice"),
        ("a: &x 1\nb: *x", "anchor"),
        ("- a\n- b", "not a list of fields"),
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
    for link in page.links:
        assert text[slice(*link.span)].endswith(("]", ")"))
        assert link.kind == "markdown" or text[slice(*link.target_span)] == link.target
    for block in page.blocks:
        assert text[slice(*block.id_span)] == f"^{block.id}"
    for heading in page.headings:
        assert text[slice(*heading.span)].rstrip("\r\n") == text[slice(*heading.span)]
    found = sections(page)
    assert "".join(text[one.start : one.end] for one in found) == text[page.lines.body :]
    assert all(0 <= one.start <= one.body <= size and one.end <= size for one in found)
    chunks = page.lines.chunks
    assert all(a[1] <= b[0] for a, b in pairwise(chunks))
