"""What is found in pages line by line is what reading all of it finds, and few lines are read closely."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bethink.forgetting.pages import erase_of
from bethink.redaction import Redaction, redaction_of, without
from bethink.search.analysis import BASE_FORMS, Analyzer
from bethink.vault import title_of

ENGLISH = [
    "Anna",
    "anna's",
    "went",
    "going",
    "knives",
    "tea",
    "green",
    "412",
    "2014",
    "7",
    "the",
    "is",
    "user",
]
WORDS = [*ENGLISH, "café", "Ölpreis", "likes", "Zürich", "東京に住む", "!!!", "—", "."]
SAID = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
ENDS = st.sampled_from(["\n", "\r\n", ". ", ".\n", "\n\n", "! ", "\r", " — ", "。", '."\n', "\n- pet: "])
LONG = 5_000


@st.composite
def texts(draw: st.DrawFn) -> str:
    return "".join(said + end for said, end in draw(st.lists(st.tuples(SAID, ENDS), max_size=8)))


def told_whole(gone: Redaction, path: str, text: str) -> set[int]:
    """The places of all characters that say it, by reading the text as a whole."""
    spans = [*gone.spans(text, close=False), *gone.about(title_of(path)).spans(text, close=False)]
    return {place for start, end in spans for place in range(start, end)}


@given(st.lists(SAID, min_size=1, max_size=4), st.lists(texts(), min_size=1, max_size=3))
def test_lines_by_themselves_tell_what_the_whole_text_does(
    facts: Sequence[str], pages: Sequence[str]
) -> None:
    gone = redaction_of(facts)
    erase = erase_of(gone, [])
    for path in ("notes/anna_went.md", "notes/rain.md"):
        for text in (*pages, *pages):
            left, _ = erase(path, text)
            told = told_whole(gone, path, text)
            kept = "".join(" " if place in told else one for place, one in enumerate(text))
            assert left.replace("[forgotten]", " ").split() == kept.split() or _has_fields(text)
            if not told and not _has_fields(text):
                assert left == without(text, [])[0] == text


def _has_fields(text: str) -> bool:
    """Whether lines tell by name and value: on pages of a name these say more than their sentences."""
    return "- pet:" in text


@given(st.sets(st.text("abdegilnosty0", min_size=1, max_size=9)), st.sets(SAID, min_size=1, max_size=3))
def test_the_forms_of_terms_are_all_words_that_become_them(words: set[str], said: set[str]) -> None:
    analyzer = Analyzer()
    words |= {word for word in BASE_FORMS if word.isascii() and word.isalnum()}
    terms = {term for text in (*said, *words) for term in analyzer.words(text)} & {*sorted(words)[::2], "go"}
    found = analyzer.forms(words, terms)
    assert found == {word for word in words if terms & analyzer.words(word)}


class Counting(Analyzer):
    """Counts the texts that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def words(self, text: str) -> set[str]:
        self.asked += 1
        return super().words(text)

    def document(self, text: str) -> list[str]:
        self.asked += 1
        return super().document(text)


def test_of_the_lines_of_many_facts_few_are_read_closely_and_none_twice() -> None:
    facts = [f"Counted {number} sheep behind the barn of the old farm" for number in range(100, LONG)]
    versions = [
        "".join(f"- {fact} ^fact-{'a' * 10}\n" for fact in facts[:end]) for end in range(1, LONG, 500)
    ]
    analyzer = Counting()
    erase = erase_of(redaction_of(facts[7:8], analyzer), ["fact-bbbbbbbbbb"])
    analyzer.asked = 0
    cut = [len(erase("memories/general.md", text)[1]) for text in versions]
    assert cut == [0, *(1 for _ in versions[1:])]
    assert analyzer.asked < 50, "of some 30,000 lines"


def test_of_many_facts_said_alike_few_are_compared_with_a_line() -> None:
    facts = [f"Counted {number} sheep behind the barn of the old farm" for number in range(100, LONG)]
    gone = redaction_of(facts[::2])
    assert {*map(len, gone._apart.values())} == {1}  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    text = "\n".join(facts)
    left, said = erase_of(gone, [])("memories/general.md", text)
    assert [*said] == facts[::2]
    assert left.count("[forgotten]") == len(facts[::2])
