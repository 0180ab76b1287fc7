"""The command line as tests use it: in this process, in one of its own, and before a terminal."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_thread
from bethink.cli import main
from bethink.llm.scripted import Reply
from tests import warm
from tests.postgres_server import database_of

_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_DURATION = re.compile(r"\((?:\d+ ms|\d+\.\d s)\)")
_DAY = re.compile(r"\b20\d\d-\d\d-\d\d(?: \d\d:\d\d)?\b")
_PATIENCE_S = 120
LABEL = "(I am a script, not a language model.)"
"""What the demonstration puts behind its answers."""


def masked(text: str) -> str:
    """The text with ids numbered in the order in which they appear, and without what a clock says."""
    numbers: dict[str, int] = {}
    text = re.sub(r"(warning: Recall goes by words only): .*", r"\1", text).replace(LABEL, "(…)")
    text = re.sub(r"\d+ tokens in", "<some> tokens in", text)
    text = re.sub(r"about [\d,]+ of [\d,]+ tokens", "about <some> of <some> tokens", text)
    text = _ID.sub(lambda match: f"<{numbers.setdefault(match[0], len(numbers) + 1)}>", text)
    return _DAY.sub("<date>", _DURATION.sub("(<took>)", text))


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command left: exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        """Standard output as a JSON object a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def conversation(self) -> str:
        """The id that a chat printed last."""
        return self.err.splitlines()[-1].removeprefix("conversation ")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`bethink` on a data directory of its own."""

    data: Path
    environment: Mapping[str, str]
    capture: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def setting(self, **variables: str) -> CommandLine:
        """The same with more in its environment."""
        return replace(self, environment={**self.environment, **variables})

    def __call__(self, *words: str, piped: str | bytes = "") -> Ended:
        """Run one command in this process."""
        raw = piped.encode() if isinstance(piped, str) else piped
        with self.monkeypatch.context() as patched:
            for name in [name for name in os.environ if name.startswith(("BETHINK_", "OPENAI_"))]:
                patched.delenv(name)
            for name, value in self.environment.items():
                patched.setenv(name, value)
            patched.chdir(self.data.parent)
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
            self.capture.readouterr()
            code = main(words)
            captured = self.capture.readouterr()
            return Ended(code, captured.out, captured.err)

    def added(self, *words: str) -> str:
        """Keep a memory; its id."""
        (document,) = self("memory", "add", "--json", *words).documents
        return document["memory"]["id"]

    def facts(self) -> set[str]:
        """What is known."""
        return {document["content"] for document in self("memory", "list", "--all", "--json").documents}

    def start(
        self,
        *words: str,
        stdin: int | None = None,
        stdout: int | IO[str] | None = None,
        stderr: int | None = None,
    ) -> subprocess.Popen[str]:
        """Run one command in another process; its streams are Popen's."""
        ours = {
            name: value for name, value in os.environ.items() if not name.startswith(("BETHINK_", "OPENAI_"))
        }
        return _Program(
            [*warm.program(warm.BETHINK), *words],
            env={**ours, **self.environment},
            cwd=self.data.parent,
            text=True,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )

    @contextlib.contextmanager
    def terminal(self, *words: str) -> Generator[Terminal]:
        """Run one command in another process, before a terminal."""
        ours, theirs = pty.openpty()
        process = self.start(*words, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            process.kill()
            process.wait()
            os.close(ours)


class _Program(subprocess.Popen[str]):
    """A process that stands for another one."""

    def kill(self) -> None:
        """End the other one, as a power cut would, and thereby this one."""
        self.send_signal(signal.SIGUSR1)


@dataclass(slots=True)
class Terminal:
    """A person's end of a terminal."""

    process: subprocess.Popen[str]
    end: int
    _raw: bytes = b""
    _seen: int = 0

    @property
    def shown(self) -> str:
        """Everything that was shown so far."""
        # A character may have come by half.
        return self._raw.decode(errors="ignore")

    def interrupt_until(self, text: str) -> None:
        """Press Ctrl-C, again as a person would: Python does not see one just before it begins to read."""
        for _ in range(10):
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(AssertionError):
                self.until(text, patience_s=2)
                return
        raise AssertionError(f"{text!r} is not in {self.shown[self._seen :]!r}")

    def until(self, text: str, *, patience_s: float = _PATIENCE_S) -> str:
        """What is shown up to `text`, which is waited for."""
        deadline = time.monotonic() + patience_s
        while (place := self.shown.find(text, self._seen)) < 0:
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{text!r} is not in {self.shown[self._seen :]!r}")
        new = self.shown[self._seen : place]
        self._seen = place + len(text)
        return new

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def leave(self) -> int:
        """Press Ctrl-D; the program's exit code."""
        self.type("\x04")
        while self._read(_PATIENCE_S):
            pass
        return self.process.wait(_PATIENCE_S)

    def _read(self, patience_s: float) -> bool:
        if not select.select([self.end], [], [], max(patience_s, 0))[0]:
            return False
        try:
            data = os.read(self.end, 65_536)
        except OSError:  # how Linux says that the other end is closed
            return False
        self._raw += data
        return bool(data)


def play(server: ScriptedProcess, *rules: Reply) -> None:
    """Have the scripted server answer by these rules from now on."""
    connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=_PATIENCE_S)
    connection.request("PUT", "/script", msgspec.json.encode(rules))
    answer = connection.getresponse().read()
    connection.close()
    assert answer == b"{}", answer


@pytest.fixture(scope="session")
def scripted_server() -> Iterator[ScriptedProcess]:
    """A scripted model behind a port, shared: `scripted` gives it to one test."""
    with scripted_thread() as server:
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
        "BETHINK_EXTRACTION": "off",
        # What `serve` fetches at its first start stays where it is.
        "PIP_NO_INDEX": "1",
        "UV_OFFLINE": "1",
        **database_of(data),
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
