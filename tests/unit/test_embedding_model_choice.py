"""Which embedding model runs: the one that was chosen, else what is there until the default is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bethink.embeddings.e5 import E5
from bethink.embeddings.factory import embeddings_of, next_model_of
from bethink.embeddings.local import LocalModel
from bethink.embeddings.minilm import MINILM
from bethink.settings import load_settings


@pytest.mark.parametrize(
    ("there", "chosen", "runs", "next_one"),
    [
        ((), {}, E5, ""),
        ((E5,), {}, E5, ""),
        ((MINILM, E5), {}, E5, ""),
        ((MINILM,), {}, MINILM, E5.name),
        ((MINILM,), {"embedding_model": E5.name}, E5, ""),
        ((E5,), {"embedding_model": MINILM.name}, MINILM, ""),
    ],
)
@pytest.mark.requirement("R44")
def test_who_never_chose_has_the_model_that_is_there_until_the_default_is(
    there: tuple[LocalModel, ...], chosen: dict[str, Any], runs: LocalModel, next_one: str, tmp_path: Path
) -> None:
    for local in there:
        for name in local.files:
            (tmp_path / name).touch()
    settings = load_settings(models_dir=tmp_path, data_dir=tmp_path, **chosen)
    assert embeddings_of(settings).model == runs.identity
    assert next_model_of(settings) == next_one
