"""`bethink bench trust`: whether the memory can be trusted, in cases with exact answers.

Each case is a small life of its own: what is told, corrected, forgotten or
slipped in, and what must be answered then. No language model judges, and none
is needed: where a model acts in a case, it plays a script. `tests/evals` runs
the same cases.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.trust_changes import change_cases
from benchmarks.trust_facts import fact_cases
from benchmarks.trust_learning import learning_cases
from benchmarks.trust_likeness import likeness_cases
from benchmarks.trust_runs import run_cases
from benchmarks.trust_stage import staged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.trust_stage import Case
    from bethink.embeddings import Embeddings

CLASSES = (
    "update",
    "change",
    "correction",
    "repetition",
    "as-of",
    "cascade",
    "absence",
    "deletion",
    "feedback loop",
    "poisoning",
    "duplicates",
    "negation",
    "numbers",
    "learning",
)
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Wrong:
    """A case that did not end as it must."""

    case: Case
    reason: str

    def __str__(self) -> str:
        return f"{self.case.kind} / {self.case.name}: {self.reason}"


async def measure_trust(embeddings: Embeddings) -> list[dict[str, Any]]:
    """Rows, one a class: its cases, how many ended right, and the first that did not.

    Raises:
        EmbeddingsUnavailable: the embedding model is not there.
    """
    await embeddings.load()
    cases = all_cases()
    return report(cases, await wrong_of(cases, embeddings))


def all_cases() -> list[Case]:
    """Every case of every class, in the order of `CLASSES`."""
    cases = [*fact_cases(), *change_cases(), *likeness_cases(), *run_cases(), *learning_cases()]
    return sorted(cases, key=lambda case: CLASSES.index(case.kind))


async def wrong_of(cases: Sequence[Case], embeddings: Embeddings) -> list[Wrong]:
    """The cases that did not end right."""
    wrong: list[Wrong] = []
    for case in cases:
        async with staged(case, embeddings) as stage:
            reason = await case.check(stage)
        if reason is not None:
            wrong.append(Wrong(case, reason))
    return wrong


def report(cases: Sequence[Case], wrong: Sequence[Wrong]) -> list[dict[str, Any]]:
    """The rows of `measure_trust`."""
    of_class: defaultdict[str, list[Wrong]] = defaultdict(list)
    for one in wrong:
        of_class[one.case.kind].append(one)
    rows: list[dict[str, Any]] = []
    for kind in CLASSES:
        count = sum(case.kind == kind for case in cases)
        failed = of_class[kind]
        names = "; ".join(one.case.name for one in failed[:_SHOWN]) + ("; …" if len(failed) > _SHOWN else "")
        right = count - len(failed)
        rows.append({"class": kind, "cases": count, "right": right, "share": right / count, "gaps": names})
    return rows
