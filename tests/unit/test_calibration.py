"""What the scores of recall say: how far they fall off, and how the cosines of each model are read."""

from __future__ import annotations

import pytest

from bethink.embeddings.e5 import E5
from bethink.embeddings.minilm import MINILM
from bethink.recall.ranking import calibration_of
from bethink.recall.service import bearing


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ([], 0),
        ([0.14, 0.14], 0),
        ([0.16, 0.15, 0.05, 0.03], 3),
        ([0.9, 0.5, 0.19, 0.17, 0.0], 3),
        ([0.9] * 30, 30),
    ],
)
def test_what_a_model_is_told_ends_where_the_scores_fall_off(scores: list[float], told: int) -> None:
    assert bearing(scores, 0.15) == told


@pytest.mark.parametrize("model", [MINILM.identity.id, E5.identity.id, "another"])
def test_a_cosine_is_surer_the_more_it_is_above_the_others(model: str) -> None:
    calibration = calibration_of(model)
    margins = [calibration.certainty(margin / 100, 0.0) for margin in range(0, 100, 5)]
    assert margins == sorted(margins)
    assert (margins[0], margins[-1]) == (0, 1)
    assert calibration.certainty(0.2, -0.5) == calibration.certainty(0.2, 0.0)


def test_the_multilingual_model_asks_for_less_and_for_a_lead() -> None:
    multilingual, english = calibration_of(E5.identity.id), calibration_of(MINILM.identity.id)
    assert multilingual.certainty(0.25, 0.0) > english.certainty(0.25, 0.0)
    assert multilingual.certainty(0.25, 0.1) > multilingual.certainty(0.25, 0.0)
    assert multilingual.words_trust(30) < multilingual.words_trust(3_000) < 1
