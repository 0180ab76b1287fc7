"""What the cosines of each embedding model say of an answer. `recall/service` picks one for `ranking`.

Models differ in how near a question comes to what answers it, and one model differs between languages:
with multilingual-e5-small texts about different things have a cosine of 0.3 in Chinese, and of none where
the question is English and they are not. What tells an answer in all of them is by how much its cosine is
above those of all candidates, and by how much it leads the next one
(docs/adr/0076-a-calibration-for-each-embedder.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.embeddings.e5 import E5

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Calibration:
    """How cosines are read.

    `weight`: the log-odds of a cosine of 1, in the order of what was found. `few`: of so many items the words
    count half, since how rare a word is shows only among many; those of statements in a few words, which
    somebody chose to say it in, count `stated` times. `common`: the cosine of texts about different
    things. A cosine speaks for an answer if it is by `near` above the common one, and is sure from `sure` on;
    the best one has its lead over the next one added `lead` times.
    """

    weight: float = 6.1
    few: int = 0
    stated: float = 1.0
    common: float = 0.1
    near: float = 0.1
    sure: float = 0.55
    lead: float = 0.0

    def words_trust(self, searched: int) -> float:
        """How much the words of a question count among so many items, 0..1."""
        return searched / (searched + self.few) if searched else 1.0

    def certainty(self, margin: float, lead: float) -> float:
        """How sure a cosine is, 0..1, that is so far above the common one, and above the best other one."""
        above = margin + self.lead * max(0.0, lead)
        return min(1.0, max(0.0, (above - self.near) / (self.sure - self.near)))


_ENGLISH: Final = Calibration()
"""Of all-MiniLM-L6-v2, learnt with the weights of `ranking`; and of models that nobody has fitted."""
_CALIBRATIONS: Final[Mapping[str, Calibration]] = {
    E5.identity.id: Calibration(weight=7.6, few=80, stated=0.33, near=0.1, sure=0.5, lead=0.5)
}


def calibration_of(model: str) -> Calibration:
    """What the cosines of the model with this identity say."""
    return _CALIBRATIONS.get(model, _ENGLISH)
