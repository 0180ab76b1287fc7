"""Whether the memory can be trusted: cases with exact answers, with the real embedding model.

`pytest -s tests/evals/test_trust.py` prints the report, as `bethink bench trust` does.
"""

from __future__ import annotations

import sys

import pytest

from benchmarks.trust import CLASSES, all_cases, report, wrong_of
from bethink.bench import table
from bethink.embeddings.e5 import E5
from bethink.embeddings.local import LocalEmbeddings
from tests.contract.embeddings_suite import models_directory

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

LEAST_CASES = 20

GAPS: set[str] = set()
"""Cases that are known to fail; a class without one is at 100 %."""


def test_each_class_has_enough_cases_with_names_of_their_own() -> None:
    cases = all_cases()
    for kind in CLASSES:
        names = [case.name for case in cases if case.kind == kind]
        assert len(names) == len(set(names)) >= LEAST_CASES, kind


@pytest.mark.requirement("R189")
async def test_every_case_ends_as_it_must() -> None:
    embeddings = LocalEmbeddings(E5, models_directory())
    await embeddings.load()
    cases = all_cases()
    wrong = await wrong_of(cases, embeddings)
    sys.stdout.write("\n".join(("", table(report(cases, wrong)), *map(str, wrong), "")))
    assert [
        str(one) for one in wrong if not {one.case.kind, f"{one.case.kind} / {one.case.name}"} & GAPS
    ] == []
