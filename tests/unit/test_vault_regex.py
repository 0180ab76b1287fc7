"""An owner's own patterns: what they find, and that none of them keeps the server busy."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bethink.errors import BadInput
from bethink.vault.regex import Regex


def found(pattern: str, text: str) -> list[str]:
    return [text[start:end] for start, end in Regex(pattern, longest=True).spans(text)]


@pytest.mark.parametrize(
    ("pattern", "text", "parts"),
    [
        (r"secret.*", "my SECRET plan\nno secret", ["SECRET plan", "secret"]),
        (r"\bfoo\b", "foo food xfoo foo", ["foo", "foo"]),
        (r"^ab|cd$", "abcd ab\nxcd", ["ab", "cd"]),
        (r"P-\d{3,5}", "P-12 P-123 p-1234567", ["P-123", "p-12345"]),
        (r"[^a-c]x", "axdx", ["dx"]),
        (r"(?:ab)+?c?", "xababc", ["ababc"]),
        (r"[\w.]+@corp", "to a.b@corp now", ["a.b@corp"]),
        (r"\$\{x\}", "${x}", ["${x}"]),
        (r"a{2}", "aaaaa", ["aa", "aa"]),
        (r"ü", "Übel", ["Ü"]),
        (r"\Bb", "ab b", ["b"]),
    ],
)
def test_a_pattern_matches_as_much_as_it_can_in_each_line_whatever_the_case(
    pattern: str, text: str, parts: list[str]
) -> None:
    assert found(pattern, text) == parts


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "",
            "a*",
            "(",
            "[",
            "a{2000}",
            "(?=x)",
            "(?<x>a)",
            "a**",
            "a*+",
            "*",
            r"\1",
            "(a|b",
            "a)",
            "b|",
            "x" * 501,
        ),
        *("(" * 30 + "a" + ")" * 30, "((a{50}){50}){50}", "[b-a]", r"\q", r"\b"),
    ],
)
def test_a_pattern_that_cannot_be_followed_is_refused_with_a_sentence(pattern: str) -> None:
    with pytest.raises(BadInput, match=r"pattern"):
        Regex(pattern, longest=True)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a+)+b", "a" * 30_000),
        (r"(.*)*foo", ("x" * 100 + "\n") * 3_000),
        (r"(a|a)*(a|aa)*c", "a" * 30_000),
        (r"a.*b|a", "a" * 30_000),
        (r"\w+\w+\w+\w+x!", "w" * 30_000),
        (r"(a|b)*a(a|b){12}c", "ab" * 15_000),
    ],
)
def test_no_pattern_takes_long_whatever_the_text(pattern: str, text: str) -> None:
    # Without an end in sight for Python's own expressions; the test's time-out speaks.
    Regex(pattern, longest=True).spans(text)


def test_a_line_that_takes_too_long_is_matched_as_a_whole() -> None:
    assert Regex(r"a.*b|a", longest=True).spans("x" + "a" * 30_000 + "\nxa") == [
        (0, 30_001),
        (30_003, 30_004),
    ]


_PATTERNS = st.recursive(
    st.sampled_from(["a", "b", ".", r"\w", r"\d", "[ab]", "[^a]", r"\bа?a", "^b", "b$"]),
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})")
        | st.tuples(inner, st.sampled_from(["+", "{1,2}"])).map(lambda two: f"(?:{two[0]}){two[1]}")
    ),
    max_leaves=6,
)


@given(_PATTERNS, st.text(alphabet="ab1 \n", max_size=30))
def test_what_python_finds_is_found_too(pattern: str, text: str) -> None:
    covered = {
        place for start, end in Regex(pattern, longest=True).spans(text) for place in range(start, end)
    }
    theirs = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for line in re.finditer(r"[^\n]+", text):
        for match in theirs.finditer(line.group()):
            assert set(range(line.start() + match.start(), line.start() + match.end())) <= covered


_SEARCHED = st.recursive(
    st.sampled_from(
        [
            "a",
            "ä",
            "ж",
            ".",
            r"\w",
            r"\W",
            r"\d",
            r"\s",
            "[aж]",
            "[^a]",
            r"[^\W\d]",
            r"[\Wa]",
            r"\bж",
            r"ä\b",
            r"\Bä",
            "^",
            "$",
        ]
    ),
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})")
        | st.tuples(inner, st.sampled_from(["+", "{1,2}", "?", "*?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        )
    ),
    max_leaves=6,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_SEARCHED, st.text(alphabet="aäÄжЖ1_ \n-", max_size=20), st.booleans())
def test_a_search_finds_what_python_finds(pattern: str, text: str, case: bool) -> None:  # noqa: FBT001 - of hypothesis
    flags = re.MULTILINE if case else re.MULTILINE | re.IGNORECASE
    # Behind an empty match Python looks for another at the same place; RE2 does not.
    assume(re.fullmatch(pattern, "", flags) is None)
    theirs = [match.span() for match in re.finditer(pattern, text, flags)]
    assume(all(start < end for start, end in theirs))
    assert Regex(pattern, case=case).spans(text) == theirs


def test_flags_in_a_pattern_are_those_of_python() -> None:
    text = "Ab\nab\nı İ"
    for pattern in ("(?s)b.a", "(?i)AB", "(?-i:ab)|(?i:İ)", "(?x) a  b", "i", r"b\Z", r"\Aa"):
        theirs = [match.span() for match in re.finditer(pattern, text, re.MULTILINE | re.IGNORECASE)]
        assert Regex(pattern).spans(text) == theirs, pattern
