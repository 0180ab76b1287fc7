"""From text to terms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.search.analysis import MAX_TERM, Analyzer


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Alice's sister lives in Paris", ["alic", "sister", "live", "pari"]),
        ("on 2023-05-08 at 12:30", ["2023", "05", "08", "12", "30"]),
        ("v3.11, 1.5 kg", ["v3", "11", "1", "5", "kg"]),
        ("Café Zoë Łódź ÅNGSTRÖM", ["cafe", "zoe", "łodz", "angstrom"]),
        ("Straße ﬁne Ⅷ ½", ["strass", "fine", "viii", "1", "2"]),
        ("snake_case", ["snake", "case"]),
        ("我住", ["我", "住", "我住"]),
        ("ひらがな", ["ひら", "らが", "がな"]),
        ("서울에서", ["서울", "울에", "에서"]),
        ("กรุง", ["กร", "รุ", "ุง"]),
        ("Cafe 我 au 東京", ["caf", "cafe", "我", "東", "京", "東京"]),
        ("घरों में", ["घर", "घरों"]),
        ("Die Häuser meiner Schwestern", ["haus", "hauser", "schwest", "schwestern"]),
        ("Les chevaux de ma sœur", ["cheval", "chevaux", "sœur"]),
        ("Mieszkam w Krakowie", ["mieszk", "mieszkam", "krakow", "krakowi"]),
        ("مُحَمَّد", ["محمد"]),
        ("", []),
        ("?! -- \0", []),
    ],
)
def test_words_become_terms(text: str, terms: list[str]) -> None:
    assert Analyzer().document(text) == terms


def test_a_question_in_another_language_asks_by_its_stems_and_for_names_as_they_are_everywhere() -> None:
    question = Analyzer().question("¿Dónde vive mi hermana Almudena?")
    assert question == ["viv", "herman", "almuden", "almudena"]
    assert set(question) & set(Analyzer().document("User's sister is called Almudena")) == {"almudena"}
    assert set(question) & set(Analyzer().document("Mis hermanas viven en Toledo")) == {"viv", "herman"}


def test_a_question_without_spaces_asks_for_its_matter() -> None:
    assert Analyzer().question("我的家在哪个城市？") == ["家", "个城", "城市"]
    assert Analyzer().question("私は金曜日に何をしますか？") == [
        "私は",
        "は金",
        "金曜",
        "曜日",
        "日に",
        "に何",
        "何を",
    ]
    assert Analyzer().question("是谁") == ["是谁"]


def test_a_question_has_each_term_once_and_pairs_only() -> None:
    assert Analyzer().question("cats and a cat, 東京") == ["cat", "東京"]
    assert Analyzer().question("東") == ["東"]


def test_endless_words_are_cut() -> None:
    assert [len(term) for term in Analyzer().document("x" * 1_000_000)] == [MAX_TERM]


@given(st.text())
def test_any_text_has_terms_without_spaces_that_its_own_question_finds(text: str) -> None:
    analyzer = Analyzer()
    terms = analyzer.document(text)
    assert all(term and not any(letter.isspace() for letter in term) for term in terms)
    assert set(analyzer.question(text)) <= set(terms)


def test_many_threads_may_ask_one_analyzer() -> None:
    analyzer = Analyzer()
    texts = [f"running runners ran {n}" for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(analyzer.document, texts))
    assert found == [analyzer.document(text) for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "The quick foxes were running, and I've been ill",
        "Curly “quotes” — naïve, ſtraße, ΑΘΗΝΑ, שָׁלוֹם",
        "日本語の検索 with words, 검색, हिन्दी भाषा",
        "x" * 100 + " and " + "ünder" * 30,
        "",
    ],
)
def test_what_an_item_is_kept_by_are_the_digests_of_its_terms(text: str) -> None:
    analyzer = Analyzer()
    for _ in range(2):
        assert analyzer.document_digests(text) == analyzer.digests(analyzer.document(text))
