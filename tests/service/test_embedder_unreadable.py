"""A server whose embedding model cannot be read serves without it, says so, and takes it up when it can."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bethink.embeddings.e5 import E5, GRAPH_FILE
from tests.server_process import ROOT, Running, running

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

MODEL = Path(os.environ.get("BETHINK_MODELS_DIR", ROOT / ".models")) / GRAPH_FILE


async def embeddings(server: Running) -> dict[str, str | None]:
    """What health says once the server has looked for the model."""
    part = {}
    for _ in range(1_000):
        part = (await server.get("/health"))["parts"]["embeddings"]
        if part["status"] != "loading" and "not loaded yet" not in (part["message"] or ""):
            return part
        await asyncio.sleep(0.02)
    raise AssertionError(part)


@pytest.mark.parametrize("how", ["a directory", "damaged"])
async def test_a_model_that_cannot_be_read_does_not_end_the_server(tmp_path: Path, how: str) -> None:
    models = tmp_path / "models"
    in_the_way = models / GRAPH_FILE
    models.mkdir()
    for name in E5.files:
        if name != GRAPH_FILE:
            (models / name).symlink_to(MODEL.with_name(name))
    if how == "a directory":
        (in_the_way / "inside").mkdir(parents=True)
    else:
        in_the_way.write_bytes(b"no model")
    async with running(tmp_path / "data", BETHINK_MODELS_DIR=str(models)) as server:
        await server.http.post("/memories", json={"content": "Likes tea"})
        part = await embeddings(server)
        assert part["status"] == "degraded"
        assert "Recall goes by words only" in (part["message"] or "")
        found = await server.get("/recall?query=tea")
        assert [item["text"] for item in found["items"]] == ["Likes tea"]
        assert any("by words only" in warning for warning in found["warnings"])
        if not MODEL.is_file():
            return
        in_the_way.rename(tmp_path / "away")
        in_the_way.symlink_to(MODEL)
        assert (await server.get("/recall?query=tea"))["warnings"] == []
        assert (await embeddings(server))["status"] == "ok"
