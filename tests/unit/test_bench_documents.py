"""`bethink bench documents`: the corpus says what its files hold, and writes them the same way every time."""

from __future__ import annotations

import hashlib
from pathlib import Path

from benchmarks.documents.corpus import MIX, PAGED, corpus, markdown, write_corpus
from benchmarks.documents.formats import written

SMALL = 24


def test_a_small_corpus_has_every_common_format_and_is_the_beginning_of_a_large_one() -> None:
    files = list(corpus(60))
    assert {file.kind for file in files} == set(MIX)
    assert files[:SMALL] == list(corpus(SMALL))
    assert {file.layout for file in corpus(100)} >= {"columns", "tables", "scanned", "unmapped font"}


def test_every_question_has_its_answer_on_its_page_and_is_asked_once() -> None:
    files = list(corpus(200))
    asked = [question for file in files for question in file.questions]
    assert len({question.text for question in asked}) == len(asked) == 6 * len(files)
    for file in files:
        pages = [markdown(page) for page in file.pages]
        for question in file.questions:
            assert question.file == file.name
            assert (question.page is None) == (file.kind not in PAGED)
            found = [number for number, page in enumerate(pages, 1) if question.answer in page]
            assert found == [question.page or found[0]]


def test_files_are_written_the_same_way_every_time(tmp_path: Path) -> None:
    files = sorted(corpus(100), key=lambda file: -file.picture_bytes - 100_000 * len(file.pages))
    for file in {file.kind: file for file in files}.values():
        first, second = (hashlib.sha256(written(file)).hexdigest() for _ in range(2))
        assert first == second, file.name
    made = write_corpus(tmp_path, 3)
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == sorted(
        Path(file.name).name for file in made
    )
