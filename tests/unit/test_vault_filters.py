"""What of a page an audience sees, and what it can change of it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import BadInput, NotAllowed
from bethink.vault.filters.page_filter import HiddenPages, PageView, ViewContext, still_hides, view
from bethink.vault.filters.patterns import HIDDEN
from bethink.vault.filters.rules import FilterRule, RuleSet, is_under

PAGE = """\
---
salary: 91234
tags:
- a
name: Jane
---
# Jane

- name: Jane
- salary: 91,234 EUR
  with a bonus of 5000
- birth_date: 1984-03-12
- age: 64
- mail: jane@example.com
- **phone**:: +49 30 1234567

She was born in March 1984, and paid with 4111 1111 1111 1111.

## Diagnosis
Diabetes
### Since
2001
## Work
| year | Salary | note |
|------|--------|------|
| 2020 | 111000 | a |
"""


def shown(*rules: FilterRule, text: str = PAGE, path: str = "entities/jane.md") -> str:
    return view(text, path, rules).text


def test_a_hidden_field_leaves_no_trace_wherever_it_is_told() -> None:
    text = shown(FilterRule(id="f1", field="salary"))
    assert "alary" not in text
    assert not any(value in text for value in ("91234", "91,234", "5000", "111000"))
    assert "| year | note |\n|------|------|\n| 2020 | a |" in text
    assert "tags:\n- a\nname: Jane" in text


def test_a_masked_field_keeps_its_name() -> None:
    text = shown(
        FilterRule(id="f1", field="salary", action="mask"), FilterRule(id="f2", field="phone", action="mask")
    )
    assert f"- salary: {HIDDEN}\n- birth_date" in text
    assert f"| 2020 | {HIDDEN} | a |" in text
    assert f"- **phone**:: {HIDDEN}\n" in text
    assert "91" not in text.replace("1984", "")


def test_a_generalised_field_says_less_exactly_what_it_said() -> None:
    rules = [
        FilterRule(id=name, field=name, action="generalise")
        for name in ("salary", "birth_date", "age", "mail")
    ]
    text = shown(*rules)
    assert "- birth_date: in the 1980s\n- age: in their sixties\n- mail: example.com" in text
    assert "salary: tens of thousands\n" in text
    assert not any(value in text for value in ("91", "1984-03-12", "64", "jane@"))


@pytest.mark.parametrize(
    ("pattern", "action", "before", "after"),
    [
        ("email", "mask", "write to <jane.x@mail.example.co.uk>!", f"write to <{HIDDEN}>!"),
        ("email", "generalise", "jane@example.com", "example.com"),
        ("phone", "mask", "call 555-1234 or (020) 7946 0958", f"call {HIDDEN} or {HIDDEN}"),
        ("phone", "mask", "on 2026-11-22 at 12:30, 1,000,000 EUR", "on 2026-11-22 at 12:30, 1,000,000 EUR"),
        ("card", "mask", "4111-1111-1111-1111 123", f"{HIDDEN} 123"),
        ("card", "mask", "4111111111111112", "4111111111111112"),
        ("birth_date", "generalise", "born in March 1984, here", "born in the 1980s, here"),
        ("birth_date", "mask", "Birthday:\n\n12.03.1984", f"Birthday:\n\n{HIDDEN}"),
        ("birth_date", "mask", "The meeting of 12.03.1984", "The meeting of 12.03.1984"),
        ("number", "generalise", "1. earns 91,234 EUR ^a1", "1. earns tens of thousands EUR ^a1"),
        ("number", "mask", "in 3 of 10", f"in {HIDDEN} of {HIDDEN}"),
        (r"project \w+", "mask", "about Project Falcon.", f"about {HIDDEN}."),
        (r"falcon", "hide", "- Falcon\n- other", "- other"),
    ],
)
def test_a_pattern_is_hidden_masked_or_made_general(
    pattern: str, action: str, before: str, after: str
) -> None:
    rule = msgspec.convert({"id": "f1", "pattern": pattern, "action": action}, FilterRule)
    assert shown(rule, text=before) == after


def test_a_section_goes_with_all_below_it_and_may_stand_empty() -> None:
    hidden, masked = (
        shown(FilterRule(id="f1", section="diagnosis", action=action)) for action in ("hide", "mask")
    )
    assert "iagnos" not in hidden
    assert f"## Diagnosis\n{HIDDEN}\n## Work" in masked
    assert not any("Diabetes" in text or "2001" in text for text in (hidden, masked))


@pytest.mark.parametrize(
    "text",
    [
        "## Secret\n```\n# no heading\nplanted\n```\nplanted\n",
        "Secret\n------\nplanted\n",
        "> ## Secret\n> planted\n",
        "## *Secret* ##\nplanted\n",
        "## Secret\n\n### Below\nplanted\n",
        "#  Other\n\n## Secret\nplanted",
        "```\nunclosed\n## Secret\nplanted\n",
    ],
)
def test_a_section_cannot_be_written_so_that_it_is_overlooked(text: str) -> None:
    assert "planted" not in shown(FilterRule(id="f1", section="secret"), text=text)


@pytest.mark.parametrize(
    "text",
    [
        "- salary: planted",
        "* Salary : planted",
        "1. [ ] **salary**: planted",
        "salary:: planted",
        "Name: Jane, salary: planted",
        "[salary:: planted]",
        '{"salary": "planted"}',
        "- salary:\n  - planted\n  - planted",
        "- salary: about\nplanted as goes on",
        "- salary:\n\n    planted",
        "---\nsalary: |\n  planted\n---\n",
        "---\nsalary:\n- planted\n---\n",
        "| salary | x |\n|---|---|\n| planted | y |",
        "| x | y |\n|---|---|\n| **Salary** | planted |",
        "| salary | planted |\n|---|---|",
        "```\nsalary = planted\n```",
        "- SALARY: planted\r\n- x: y\r\n",
    ],
)
def test_a_field_cannot_be_written_so_that_it_is_overlooked(text: str) -> None:
    for action in ("hide", "mask", "generalise"):
        assert "planted" not in shown(FilterRule(id="f1", field="salary", action=action), text=text)


def test_a_field_of_several_words_is_known_in_all_its_forms() -> None:
    rule = FilterRule(id="f1", field="birth_date")
    for form in ("birth date", "Birth-Date", "birth_date", "BirthDate"):
        assert shown(rule, text=f"- {form}: planted\n- x: y\n") == "- x: y\n"
    assert shown(FilterRule(id="f1", field="*_password"), text="- mail_password: planted\n") == ""


def test_what_a_filter_names_narrows_it() -> None:
    rule = FilterRule(id="f1", path="entities", section="Work", field="salary", action="mask")
    text = shown(rule)
    assert "- salary: 91,234 EUR" in text
    assert "111000" not in text
    assert shown(rule, path="user.md") == PAGE
    within = FilterRule(id="f1", field="mail", pattern="email", action="mask")
    assert (
        shown(within, text="- mail: a@b.org (old)\n- x: c@d.org\n")
        == f"- mail: {HIDDEN} (old)\n- x: c@d.org\n"
    )


@pytest.mark.parametrize(
    ("path", "pattern", "is_meant"),
    [
        ("private/x.md", "private", True),
        ("a/Private/b/x.md", "private", True),
        ("private/x.md", "private/**", True),
        ("x.md", "x", True),
        ("X.md", "x.md", True),
        ("a/b.md", "a/*", True),
        ("a/b/c.md", "a/**/c.md", True),
        ("a/c.md", "a/**/c.md", True),
        ("ab/c.md", "a/*", False),
        ("privately.md", "private", False),
        ("notes [2024].md", "notes [2024]", True),
        ("café.md", "cafe\u0301", True),
    ],
)
def test_a_pattern_of_paths_means_what_lies_there(path: str, pattern: str, is_meant: bool) -> None:  # noqa: FBT001 - a case
    assert is_under(path, pattern) is is_meant
    assert view("text", path, [FilterRule(id="f1", path=pattern)]).is_hidden is is_meant


def test_a_page_whose_name_says_what_is_hidden_is_hidden_itself() -> None:
    rule = FilterRule(id="f1", pattern="project falcon", action="mask")
    assert view("text", "work/project_falcon.md", [rule]).is_hidden
    assert view(
        "text", "jane@example.com.md", [FilterRule(id="f1", pattern="email", action="mask")]
    ).is_hidden


def test_rules_that_meet_are_as_strict_as_the_strictest() -> None:
    both = [
        FilterRule(id="a", pattern="number", action="generalise"),
        FilterRule(id="b", pattern="phone", action="mask"),
    ]
    assert shown(*both, text="tel 030 1234567.") == f"tel {HIDDEN}."
    hidden = [
        FilterRule(id="a", section="x", action="mask"),
        FilterRule(id="b", pattern="email", action="hide"),
    ]
    assert "@" not in shown(*hidden, text="# x\na@b.org and more\n")


def test_an_exact_replacement_of_what_is_seen_changes_the_page_itself() -> None:
    seen = view(PAGE, "jane.md", [FilterRule(id="f1", field="salary")])
    assert seen.replaced("- age: 64", "- age: 65") == PAGE.replace("- age: 64", "- age: 65")
    with pytest.raises(NotAllowed, match="filter"):
        seen.replaced("- name: Jane\n- birth_date", "- name: Joan\n- birth_date")
    with pytest.raises(BadInput, match="occurs 2 times"):
        seen.replaced("name: Jane", "name: Joan")
    with pytest.raises(BadInput, match="does not occur"):
        seen.replaced("salary", "x")


def test_a_whole_new_text_keeps_what_was_hidden_where_it_stood() -> None:
    seen = view(
        PAGE, "jane.md", [FilterRule(id="f1", field="salary"), FilterRule(id="f2", section="diagnosis")]
    )
    new = seen.text.replace("64", "65").replace("# Jane\n", "# Jane Doe\n") + "\nThe end.\n"
    raw = seen.edited(new)
    assert raw == PAGE.replace("64", "65").replace("# Jane\n", "# Jane Doe\n") + "\nThe end.\n"
    with pytest.raises(NotAllowed, match="filter"):
        view(PAGE, "jane.md", [FilterRule(id="f1", field="salary", action="mask")]).edited("all gone")


def test_a_change_that_would_bring_the_hidden_to_light_can_be_told() -> None:
    rules = [FilterRule(id="f1", field="salary", action="mask"), FilterRule(id="f2", section="secret")]
    text = "- salary: planted\n\n## Open\n\n## Secret\nplanted too\n"
    seen = view(text, "x.md", rules)
    for old, new in (("- salary: ", "- income: "), ("## Open\n", "## Open\n```\n")):
        raw = seen.replaced(old, new)
        after = view(raw, "x.md", rules)
        assert ("planted" in after.text) is not still_hides(seen, after)


def test_links_to_hidden_pages_go_with_their_words() -> None:
    text = (
        "- friend: [[private/bob|Bobby]]\n- [x](private/bob.md)\n- ![[bob]]\n"
        "See `[[bob]]` in private/bob.md, [[ann]].\n"
    )
    paths = ["ann.md", "jane.md", "private/bob.md"]
    hidden = HiddenPages((FilterRule(id="f1", path="private/bob.md"),), paths, {})
    seen = view(text, "jane.md", [], context=ViewContext(hidden.links_of("jane.md")))
    assert seen.text == "- friend: \nSee `` in , [[ann]].\n"


def test_the_version_of_a_view_tells_nothing_of_what_is_hidden() -> None:
    rule = [FilterRule(id="f1", field="salary")]
    one, other = (view(f"- salary: {value}\n- x: y\n", "x.md", rule) for value in ("1", "2"))
    assert one.version == other.version


def test_a_rule_is_for_those_that_it_names_and_for_all_others_agents_too() -> None:
    everybody, mcp = FilterRule(id="a", path="x"), FilterRule(id="b", path="x", audiences=("mcp-http",))
    claude, page = FilterRule(id="c", path="x", audiences=("*:claude", "web/agent")), RuleSet(id="filters")
    for audience in (
        "web/agent",
        "rest",
        "rest:key",
        "openai:k/agent",
        "dial",
        "mcp-http:claude",
        "cli/agent",
        "local",
    ):
        assert everybody.is_for(audience)
    assert not any(everybody.is_for(own) for own in ("web", "cli", "tidying"))
    assert mcp.is_for("mcp-http:claude")
    assert mcp.is_for("mcp-http:x/memory-agent")
    assert not mcp.is_for("mcp-https")
    assert claude.is_for("MCP-http:Claude")
    assert not claude.is_for("web")
    told = msgspec.structs.replace(page, rules=(everybody, FilterRule(id="t", text="be discreet")))
    assert told.on("rest") == (everybody,)
    assert told.instructions("rest") == ("be discreet",)
    assert told.instructions("web") == ()


@pytest.mark.parametrize(
    "rule",
    [
        FilterRule(),
        FilterRule(text="x", path="y"),
        FilterRule(pattern="(a"),
        FilterRule(path="x" * 400),
        FilterRule(field="a\nb"),
        msgspec.structs.replace(FilterRule(path="x"), action="shred"),
    ],
)
def test_a_rule_that_says_nothing_or_cannot_be_is_refused(rule: FilterRule) -> None:
    with pytest.raises(BadInput):
        rule.checked()


_RULES = [
    FilterRule(id="1", field="x", action="mask"),
    FilterRule(id="2", section="s"),
    FilterRule(id="3", pattern="number", action="generalise"),
    FilterRule(id="4", pattern="b+", action="hide"),
]


@given(st.text(alphabet="xs:#-| ab1\n`[]>", max_size=80), st.sets(st.integers(0, 3)))
def test_each_character_that_is_seen_stands_where_the_view_says(text: str, chosen: set[int]) -> None:
    seen: PageView = view(text, "p.md", [_RULES[place] for place in chosen])
    assert seen.shown(0, len(text)) == seen.text
    for place in range(len(seen.text)):
        where = seen.in_raw(place, place + 1)
        if where is not None:
            assert text[where[0] : where[1]] == seen.text[place]
    assert seen.edited(seen.text) == text
    for cut in range(len(text)):
        if not any(mark.start < cut < mark.end for mark in seen.marks):
            assert seen.shown(0, cut) + seen.shown(cut, len(text)) == seen.text


AS_WRITTEN = {
    "email": (
        "jane@secret.example",
        "ja\u200bne@sec\u00adret.example",
        "ja\u0301ne\uff20secret\uff0eexample",
        "**jane**@**secret**.example",
        "jane\\@secret\\.example",
        "jane&#64;secret.example",
        "mailto:jane%40secret.example",
        "jane @ secret.example",
        "<b>jane</b>@secret.example",
    ),
    "phone": (
        "+49\u201130\u20137654321",
        "+49 30 765**43**21",
        "+49\u200b 30\u00ad7654321",
        "| +49 | 30 | 7654321 |",
        "+49 30 76\n54321",
        "+\uff14\uff19 30 7654321",
    ),
    "card": (
        "4111\u20111111\u20131111\u22121111",
        "4111**1111**11111111",
        "4111\u200b1111\u200b1111\u200b1111",
        "| 4111 | 1111 | 1111 | 1111 |",
        "4111 1111\n1111 1111",
        "4111_1111_1111_1111",
    ),
    "birth_date": (
        "born \uff11\uff19\uff18\uff14-03-12",
        "born 1984\u201103\u201112",
        "born **12** March 1984",
    ),
    "number": ("91\u200b234", "**91**234", "\u0669\u0661\u0662\u0663\u0664"),
    "osprey": ("os\u00adprey", "**os**prey", "o\u0301sprey", "\u043esprey", "\U0001d428sprey", "os&shy;prey"),
}


@pytest.mark.parametrize("pattern", AS_WRITTEN)
def test_a_pattern_is_found_however_it_is_written(pattern: str) -> None:
    for written in AS_WRITTEN[pattern]:
        seen = view(f"Say {written} so.\n", "a.md", [FilterRule(id="f1", pattern=pattern, action="mask")])
        left = "".join(filter(str.isalnum, seen.text.replace("[hidden]", "")))
        assert left.removeprefix("Say").removesuffix("so") in {"", "b", "born", "mailto"}, (
            written,
            seen.text,
        )


def test_what_only_looks_alike_is_not_hidden() -> None:
    text = (
        "| 2019 | 2020 | 91234 |\n| 1 | 2 | 3 |\n\n1500, 2300, 4100\n**2020** and _some_ `code` < 5 & more\n"
    )
    for pattern in ("email", "phone", "card", "birth_date", "osprey"):
        assert view(text, "a.md", [FilterRule(id="f1", pattern=pattern, action="mask")]).is_whole, pattern


@pytest.mark.parametrize(
    "text",
    [
        "- sal\u00adary: 91234\n",
        "- \uff33alary: 91234\n",
        "- ~~salary~~: 91234\n",
        "- salary\\: 91234\n",
        "| a | sal\u200bary |\n|---|---|\n| 1 | 91234 |\n",
    ],
)
def test_a_field_is_found_however_its_name_is_written(text: str) -> None:
    assert "91234" not in view(text, "a.md", [FilterRule(id="f1", field="salary")]).text


@pytest.mark.parametrize(
    "title", ["Diag\u00adnosis", "1. Diagnosis:", "Diagno\u0301sis", "Diagnosis ^abc", "\uff24iagnosis {#x}"]
)
def test_a_section_is_found_however_its_heading_is_written(title: str) -> None:
    seen = view(f"# A\n## {title}\nflu\n## B\nok\n", "a.md", [FilterRule(id="f1", section="Diagnosis")])
    assert seen.text == "# A\n## B\nok\n"
