"""Pages of Markdown, cut into passages."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.documents.excerpts import surroundings
from bethink.documents.passages import PassageLimits, PassageSpan, above, passages_of
from bethink.embeddings.windows import estimated_pieces, tokens_in

LIMITS = PassageLimits(100, 10)

_words = st.sampled_from(
    ["river", "stone", "amber", "winter", "Kiel", "1984", "motor", "café", "東京都", "naïve", "x"]
)
_sentences = st.lists(_words, min_size=1, max_size=40).map(lambda words: " ".join(words) + ". ")
_paragraphs = st.lists(_sentences, min_size=1, max_size=8).map("".join)
_blocks = st.one_of(
    _paragraphs,
    st.tuples(st.integers(1, 6), _words).map(lambda it: f"{'#' * it[0]} {it[1]}"),
    st.lists(_sentences, min_size=1, max_size=9).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(_words, min_size=1, max_size=90).map(
        lambda cells: "\n".join(["| Name | Place |", "|---|---|", *(f"| {cell} | here |" for cell in cells)])
    ),
    st.lists(_words, max_size=30).map(lambda lines: "\n".join(["```py", "# no heading", *lines, "```"])),
    st.text(max_size=80),
)
_pages = st.lists(st.lists(_blocks, max_size=12).map("\n\n".join), max_size=4).map(
    lambda texts: dict(enumerate(texts, 1))
)


def tokens(text: str) -> int:
    return tokens_in(text, estimated_pieces)


def said(pages: dict[int, str], spans: list[PassageSpan]) -> list[str]:
    return [pages[span.page][span.begin : span.end] for span in spans]


def prose(start: int, sentences: int) -> str:
    return " ".join(
        f"Boat {start + n} left the harbour of town {start * n} in fog." for n in range(sentences)
    )


@settings(max_examples=30, deadline=None)
@given(pages=_pages)
def test_passages_hold_all_text_in_order_and_are_never_too_long(pages: dict[int, str]) -> None:
    spans = passages_of(pages, LIMITS)
    assert spans == passages_of(pages, LIMITS)
    assert spans == sorted(spans, key=lambda span: (span.page, span.begin))
    covered = {number: [False] * len(text) for number, text in pages.items()}
    for span in spans:
        text = pages[span.page][span.begin : span.end]
        assert text == text.strip() != ""
        assert tokens(text) <= LIMITS.tokens
        covered[span.page][span.begin : span.end] = [True] * len(text)
    for number, text in pages.items():
        assert all(is_in or not char.strip() for char, is_in in zip(text, covered[number], strict=True))
    for one, other in pairwise(spans):
        if one.page == other.page and other.begin < one.end:
            assert tokens(pages[one.page][other.begin : one.end]) <= LIMITS.overlap
            assert other.begin > one.begin


def test_a_page_that_fits_is_one_passage() -> None:
    page = "# Boats\n\nThe harbour is small.\n\n## Ferries\n\nThey run at noon.\n"
    assert passages_of({3: page}, LIMITS) == [PassageSpan(3, 0, len(page.rstrip()), "Boats")]


def test_sections_are_cut_apart_and_know_the_headings_above_them() -> None:
    pages = {1: f"# Boats\n\n{prose(1, 6)}\n\n## Ferries\n\n{prose(50, 9)}", 2: f"{prose(80, 2)}\n\n# Trains"}
    spans = passages_of(pages, LIMITS)
    texts = said(pages, spans)
    assert [span.heading for span in spans] == ["Boats", *["Boats › Ferries"] * 3]
    parts = [above(pages[span.page], span.begin, span.heading) for span in spans]
    assert parts == ["", "Boats", "Boats › Ferries", "Boats › Ferries"]
    assert texts[1].startswith("## Ferries\n\nBoat 50")
    assert texts[3].endswith("# Trains")


def test_small_sections_stand_together_and_a_heading_with_its_text() -> None:
    small = "\n\n".join(f"## Part {n}\n\nIt is short, and says {n}." for n in range(20))
    spans = passages_of({1: small}, LIMITS)
    texts = said({1: small}, spans)
    assert 2 <= len(texts) <= 6
    assert all(text.startswith("## Part") for text in texts)
    assert not any(one.end > other.begin for one, other in pairwise(spans))


def test_a_long_section_is_cut_between_sentences_that_it_repeats() -> None:
    page = prose(1, 40)
    spans = passages_of({1: page}, PassageLimits(100, 30))
    texts = said({1: page}, spans)
    assert len(texts) > 4
    assert all(text.startswith("Boat") and text.endswith("fog.") for text in texts)
    assert all(one.end > other.begin for one, other in pairwise(spans))
    assert not any(
        one.end > other.begin for one, other in pairwise(passages_of({1: page}, PassageLimits(100, 0)))
    )


def test_a_table_is_whole_or_cut_between_rows_below_its_head() -> None:
    rows = [f"| {n} | Boat {n} | {n * 7} |" for n in range(60)]
    head = ["| No | Name | Price |", "|----|:-----|------:|"]
    short = "\n".join(["Prices of boats, as of May.", "", *head, *rows[:3]])
    assert len(passages_of({1: short}, LIMITS)) == 1
    page = "\n".join([f"# Boats\n\n{prose(1, 3)}", "", *head, *rows, "", "The end."])
    spans = passages_of({1: page}, LIMITS)
    texts = said({1: page}, spans)
    groups = [span for span, text in zip(spans, texts, strict=True) if text.startswith("| ")]
    assert len(groups) > 4
    assert {above(page, span.begin, span.heading) for span in groups[1:]} == {"Boats\n| No | Name | Price |"}
    lines = [line for text in texts for line in text.split("\n") if line.startswith("| ")]
    assert lines == [head[0], *rows]


def test_a_table_without_end_is_cut_in_time_and_has_no_head_of_another() -> None:
    table = "\n".join(f"| {n} | Boat {n} | {n * 7} |" for n in range(10_000))
    page = f"| Other | Table |\n|---|---|\n| 1 | 2 |\n\n| No | Name | Price |\n|---|---|---|\n{table}"
    spans = passages_of({1: page}, PassageLimits())
    heads = [above(page, span.begin, span.heading) for span in spans]
    assert set(heads) == {"", "| No | Name | Price |"}
    assert heads[1] == "| No | Name | Price |"
    assert heads[-1] == ""


def test_code_is_whole_and_its_comments_are_no_headings() -> None:
    code = "\n".join(["```py", "# read", *(f"x{n} = read({n})" for n in range(12)), "```"])
    page = f"{prose(1, 8)}\n\n{code}\n\n{prose(9, 8)}"
    spans = passages_of({1: page}, LIMITS)
    assert any(code in text for text in said({1: page}, spans))
    assert {span.heading for span in spans} == {""}


@settings(max_examples=30, deadline=None)
@given(edited=st.integers(0, 5), new=_paragraphs)
def test_a_section_is_cut_the_same_whatever_becomes_of_the_others(edited: int, new: str) -> None:
    sections = [f"## Part {n}\n\n{prose(100 * n + 1, 30)}\n\n" for n in range(6)]
    before = said(pages := {1: "".join(sections)}, passages_of(pages, LIMITS))
    sections[edited] = f"## Part {edited}\n\n{new}\n\n"
    after = said(pages := {1: "".join(sections)}, passages_of(pages, LIMITS))
    kept = [text for text in before if not any(f"Boat {100 * edited + n} " in text for n in range(1, 31))]
    assert len(kept) > 20
    assert set(kept) <= set(after)


def test_an_edit_in_a_long_text_moves_the_cuts_near_it_only() -> None:
    paragraphs = [prose(10 * n, 1 + n % 5) for n in range(400)]
    before = said(pages := {1: "\n\n".join(paragraphs)}, passages_of(pages, PassageLimits()))
    paragraphs[10] += " And one more sentence, that says something else."
    after = said(pages := {1: "\n\n".join(paragraphs)}, passages_of(pages, PassageLimits()))
    assert len(before) > 30
    assert len(set(before) - set(after)) <= 4


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 200_000, id="word"),
        pytest.param("word " * 30_000, id="words"),
        pytest.param("#" * 5_000, id="signs"),
        pytest.param("# " + "x" * 9_000, id="heading"),
        pytest.param("| a " * 9_000, id="cells"),
        pytest.param("```\n" * 9_000, id="fences"),
        pytest.param("\ud800" * 900, id="surrogates"),
    ],
)
def test_text_without_shape_is_cut_all_the_same(text: str) -> None:
    spans = passages_of({1: text}, LIMITS)
    assert all(tokens(text[span.begin : span.end]) <= LIMITS.tokens for span in spans)
    assert spans[-1].end == len(text.rstrip())
    assert sum(span.end - span.begin for span in spans) >= len(text.strip()) * 0.9


def test_around_a_hit_stands_its_section_then_what_is_beside_it() -> None:
    sections = [f"## Part {n}\n\n{prose(100 * n, 12)}" for n in range(3)]
    pages = {1: "\n\n".join(sections), 2: f"{prose(700, 12)}\n\n## Last\n\n{prose(900, 12)}"}
    spans = passages_of(pages, LIMITS)
    place = next(number for number, span in enumerate(spans) if span.heading == "Part 1")
    own = [span for span in spans if span.heading == "Part 1"]
    (section,) = surroundings(pages, spans, place, budget=100 * len(own))
    assert (section.begin, section.end) == (own[0].begin, own[-1].end)
    assert (section.page, section.heading) == (1, "Part 1")
    (alone,) = surroundings(pages, spans, place, budget=1)
    assert alone == spans[place]
    more = surroundings(pages, spans, len(spans) - 1, budget=500)
    assert [span.page for span in more] == [1, 2]
    assert sum(tokens(text) for text in said(pages, more)) <= 500
    whole = surroundings(pages, spans, place, budget=5_000)
    assert said(pages, whole) == [pages[1], pages[2]]
    assert [span.heading for span in whole] == ["Part 0", "Part 2"]
