"""The documents' examples, run as a reader would: in a shell, against a server of its own process."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bethink.embeddings.e5 import GRAPH_FILE
from tests import warm
from tests.documents import Example, documents, examples

pytestmark = pytest.mark.timeout(300)

RUN = ("sh run", "python run")
PORT = "127.0.0.1:8484"
MODELS = Path(os.environ.get("BETHINK_MODELS_DIR", ".models")).resolve()
_MARK = "=== end of an example ==="


def _told(document: str) -> list[tuple[Example, list[str]]]:
    """The examples to run, each with the lines that its output must contain."""
    told: list[tuple[Example, list[str]]] = []
    for example in examples(document):
        if example.kind in RUN:
            told.append((example, []))
        elif example.kind == "text part":
            told[-1][1].extend(example.text.splitlines())
    return told


RUNNABLE = [document for document in documents() if _told(document)]


@contextmanager
def _server(environment: dict[str, str], folder: Path, *, is_asked: bool) -> Generator[str]:
    """A server on a free port, and its address without `http://`; none where no example asks for one."""
    if not is_asked:
        yield "127.0.0.1:0"
        return
    command = ["bethink", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://(\S+)", line)
            assert found is not None, f"the server said {line!r}"
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.mark.skipif(shutil.which("curl") is None and not os.environ.get("CI"), reason="curl is not installed")
@pytest.mark.skipif(
    not (MODELS / GRAPH_FILE).exists() and not os.environ.get("CI"), reason="no embedding model: make model"
)
@pytest.mark.parametrize("document", RUNNABLE)
def test_the_examples_of_a_document_run_and_print_what_it_says(document: str, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BETHINK_")}
    environment = kept | {
        "PATH": f"{_programs(tmp_path / 'bin')}{os.pathsep}{os.environ['PATH']}",
        "BETHINK_DATA_DIR": str(tmp_path / "data"),
        "BETHINK_MODELS_DIR": str(MODELS),
        # Where a program without settings keeps its data: never in the person's own directory.
        "XDG_DATA_HOME": str(tmp_path / "own"),
        "BETHINK_MODEL": "scripted:demo",
    }
    told = _told(document)
    is_asked = any(PORT in example.text for example, _ in told)
    with _server(environment, tmp_path, is_asked=is_asked) as address:
        script = "".join(_as_shell(example, address) for example, _ in told)
        done = subprocess.run(
            ["bash", "-euo", "pipefail"],
            input=script,
            cwd=tmp_path,
            env=environment | {"BETHINK_PORT": address.rpartition(":")[2]},
            capture_output=True,
            text=True,
            check=False,
        )
    printed = done.stdout.split(f"{_MARK}\n")
    assert done.returncode == 0, (
        f"{told[len(printed) - 1][0].name}: {done.stdout[-500:]}\n{done.stderr[-2000:]}"
    )
    for (example, wanted), output in zip(told, printed, strict=False):
        assert [line for line in wanted if line not in output] == [], f"{example.name} printed {output}"


def _programs(folder: Path) -> Path:
    """A folder with `bethink` and `python`, which begin warm: the examples start them by the hundred."""
    folder.mkdir()
    for name, code in (("bethink", warm.BETHINK), ("python", "import sys\nexec(sys.stdin.read())")):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(warm.program(code))} "$@"\n')
        program.chmod(0o755)
    return folder


def _as_shell(example: Example, address: str) -> str:
    text = example.text.replace(PORT, address)
    if example.kind == "python run":
        text = f"python - <<'END OF PYTHON'\n{text}END OF PYTHON\n"
    return f"{text}\necho '{_MARK}'\n"
