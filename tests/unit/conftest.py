"""Fixtures of the command line's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bethink.llm.scripted_process import ScriptedProcess, scripted_process
from tests.command_line import CommandLine, play


@pytest.fixture(scope="session")
def scripted_server() -> Iterator[ScriptedProcess]:
    """A scripted model in another process, shared: `scripted` gives it to one test."""
    with scripted_process() as server:
        yield server


@pytest.fixture
def scripted(scripted_server: ScriptedProcess) -> ScriptedProcess:
    """The scripted model, playing its demonstration."""
    play(scripted_server)
    return scripted_server


@pytest.fixture
def plain(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line without a model, neither of language nor of embeddings."""
    data = tmp_path / "data"
    environment = {
        "BETHINK_DATA_DIR": str(data),
        "BETHINK_MODELS_DIR": "models",
        # What `serve` fetches at its first start stays where it is.
        "PIP_NO_INDEX": "1",
        "UV_OFFLINE": "1",
    }
    return CommandLine(data, environment, capsys, monkeypatch)


@pytest.fixture
def bethink(plain: CommandLine, scripted: ScriptedProcess) -> CommandLine:
    """The command line with the scripted model."""
    model = {
        "BETHINK_MODEL": "openai:scripted",
        "OPENAI_BASE_URL": scripted.base_url,
        "OPENAI_API_KEY": "sk-invented",
        "BETHINK_MODEL_ATTEMPTS": "1",
    }
    return CommandLine(plain.data, {**plain.environment, **model}, plain.capture, plain.monkeypatch)
