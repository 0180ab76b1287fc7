"""Which sentences say what is forgotten, whatever else is forgotten with it."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from bethink.redaction import redaction_of

pytestmark = pytest.mark.timeout(60)

WORDS = st.sampled_from(
    ["amber", "birch", "cedar", "delta", "ember", "fjord", "7421", "tea", "likes", "user"]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=7).map(" ".join)


@given(forgotten=st.lists(SENTENCES, min_size=1, max_size=6), said=SENTENCES, close=st.booleans())
@settings(max_examples=25, deadline=None)
def test_what_many_facts_take_together_each_of_them_or_its_marks_take_alone(
    forgotten: list[str], said: str, *, close: bool
) -> None:
    together = redaction_of(forgotten)
    alone = [redaction_of([fact]) for fact in forgotten]
    assert together.says(said, close=close) == any(one.says(said, close=close) for one in alone)


@given(fact=SENTENCES)
@settings(max_examples=25, deadline=None)
def test_a_fact_says_itself_and_so_does_most_of_it(fact: str) -> None:
    words = list(dict.fromkeys(word for word in fact.split() if word != "user"))
    if not words:
        return
    assert redaction_of([fact]).says(fact, close=False)
    most = words[: -(-3 * len(words) // 4)]
    assert redaction_of([fact]).says(" ".join(words), close=True)
    if len(most) > 1:
        assert redaction_of([fact]).says(" ".join(most), close=True)
