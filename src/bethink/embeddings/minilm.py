"""The embedding model that Bethink runs itself: all-MiniLM-L6-v2, int8, without torch.

`app` makes one for the whole process; every feature that embeds shares it.
"""

from __future__ import annotations

import hashlib
import itertools
import lzma
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from bethink.embeddings import EmbeddingModel
from bethink.errors import EmbeddingsUnavailable
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

MODEL_FILE = "all-minilm-l6-v2-int8-1.onnx"
MODEL_SHA256 = "a60af9ade16c62387b8ef6b0275a199dc97a0b60b2a18e643c2fa00c7c731278"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DIMENSIONS = 384
WINDOW_TOKENS = 256

_DATA = Path(__file__).parent / "all_minilm_l6_v2"
# Far more than 256 word pieces ever hold, and little enough to be cut apart in a millisecond or two.
_WINDOW_CHARACTERS = 16_384
_TEXTS_A_STEP = 64
# A step holds its thread for a twentieth of a second. Twice as much gains 3 % of speed for 20 MB.
_TOKENS_A_BATCH = 256
_QUESTION_TEXTS = 2
"""Texts of a call that somebody waits for; of more, it is a long job."""
_QUIET_S = 0.1
"""How long a long job rests behind a question: whoever asked goes on to work with the answer."""
_LONGEST_REST_S = 1.0
"""Between two steps of a long job, however many questions come."""

_REPAIR = "Search uses words only. Run `make setup` or `bethink doctor --fix` to fetch it"

_MARKS: Final = 2
"""Tokens that stand before and behind each text."""
_WORDS_KEPT: Final = 1 << 15
"""Words whose number of pieces is known: most of a text came lately."""

_MODEL = EmbeddingModel(
    id="all-minilm-l6-v2-int8-1", tokenizer=f"wordpiece-{TOKENIZER_SHA256[:12]}", dimensions=DIMENSIONS
)
_NOT_LOADED = "The embedding model is not loaded yet; until it is, search uses words only."

_log = log("embeddings")


class MiniLmEmbeddings:
    """Texts to 384 dimensions; a text counts up to its first 256 word pieces.

    `directory` holds the file that `minilm_build` makes. One thread works at a
    time, in short steps, so a question waits behind one step of a long job, not
    behind the job, which then rests a moment: whoever asked has the processor. A
    cancelled call stops after its step.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / MODEL_FILE
        self._session: MiniLmSession | None = None
        self._unavailable: str | None = _NOT_LOADED
        self._loading = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._asked_at = 0.0

    @property
    def model(self) -> EmbeddingModel:
        """The identity kept beside every vector; known without loading the model."""
        return _MODEL

    @property
    def unavailable(self) -> str | None:
        """What the last `load` found, as a sentence; None once it has succeeded."""
        return self._unavailable

    @property
    def window(self) -> int:
        """How many tokens of a text count."""
        return WINDOW_TOKENS - _MARKS

    def pieces(self, word: str) -> int:
        """How many tokens a word takes. The first call loads the tokenizer."""
        return self._pieces(word)

    @cached_property
    def _pieces(self) -> Callable[[str], int]:
        tokenizer: Any = open_tokenizer()

        @lru_cache(_WORDS_KEPT)
        def pieces(word: str) -> int:
            # Half a surrogate pair cannot leave Python; what it becomes is as long.
            whole = word if word.isalnum() else word.encode("utf-8", "replace").decode()
            return len(tokenizer.encode(whole, add_special_tokens=False).ids)

        return pieces

    async def load(self) -> None:
        """Open the model's file; calls at the same time share one attempt, a failed one is repeated.

        Raises:
            EmbeddingsUnavailable: the file is not there, is damaged, or does
                not run on this machine.
        """
        await self._loaded()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, float32, shape (len(texts), 384), L2-normalised; loads if need be.

        The same text has the same bytes on one machine, whatever it is embedded
        with; between kinds of processors vectors differ by the rounding of int8.

        Raises:
            EmbeddingsUnavailable: see `load`; or the model failed, and is opened anew for the next call.
        """
        session = await self._loaded()
        import numpy as np  # the session has imported it, on its thread

        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        steps = session.embed_in_steps(texts)
        done = 0
        while done < len(texts):
            await self._give_way(len(texts))
            try:
                indices, rows = await anyio.to_thread.run_sync(next, steps, limiter=self._thread)
            except Exception as error:
                self._session = None
                raise self._without(error) from error
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

    async def _loaded(self) -> MiniLmSession:
        if self._session is not None:
            return self._session
        async with self._loading:
            if self._session is not None:
                return self._session
            try:
                session = await anyio.to_thread.run_sync(MiniLmSession, self._path, limiter=self._thread)
            except EmbeddingsUnavailable as error:
                self._unavailable = error.message
                raise
            except Exception as error:
                raise self._without(error) from error
            self._session, self._unavailable = session, None
            return session

    def _without(self, error: Exception) -> EmbeddingsUnavailable:
        """The error to raise for one that nobody expected: search does without the model."""
        _log.error("the embedding model %s failed", self._path, exc_info=error)
        reason = (
            f"The embedding model {self._path} failed ({type(error).__name__}: {error}); it is tried again."
        )
        self._unavailable = reason
        return EmbeddingsUnavailable(reason)


class MiniLmSession:
    """The loaded model. Each call uses the one thread that it is called on.

    Raises:
        EmbeddingsUnavailable: the file is not there, is damaged, or does not
            run on this machine.
    """

    def __init__(self, path: Path) -> None:
        self._run = _open_model(path)
        self._tokenizer = open_tokenizer()

    def embed_in_steps(self, texts: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Indices into `texts` and their rows, one short step of work at a time, every index once.

        Texts of equally many tokens share a batch, so there is no padding, and
        a row is the same bytes whatever its neighbours are. A step may be empty.
        """
        import numpy as np

        tokens: list[list[int]] = []
        for text in texts:
            if len(tokens) % _TEXTS_A_STEP == _TEXTS_A_STEP - 1:
                yield [], np.empty((0, DIMENSIONS), dtype=np.float32)
            # A lone surrogate cannot leave Python; the question mark it becomes is as good as any.
            whole = text[:_WINDOW_CHARACTERS].encode("utf-8", "replace").decode()
            tokens.append(self._tokenizer.encode(whole).ids)
        for batch in _batches(tokens):
            ids = np.array([tokens[index] for index in batch], dtype=np.int64)
            # The mean over the tokens, length one (Reimers and Gurevych 2019, Sentence-BERT).
            mean = self._run(ids).mean(axis=1)
            yield batch, mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """All rows at once, float32, shape (len(texts), 384)."""
        import numpy as np

        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for indices, rows in self.embed_in_steps(texts):
            vectors[indices] = rows
        return vectors


def _batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    by_length = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
    for length, group in itertools.groupby(by_length, key=lambda index: len(tokens[index])):
        indices, size = list(group), max(1, _TOKENS_A_BATCH // length)
        for start in range(0, len(indices), size):
            yield indices[start : start + size]


def _open_model(path: Path) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    _verify(path)
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

    def run(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return session.run(None, {"ids": ids})[0]

    return run


def _verify(path: Path) -> None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise EmbeddingsUnavailable(f"The embedding model is not in {path.parent}. {_REPAIR}.") from error
    except OSError as error:
        raise EmbeddingsUnavailable(
            f"The embedding model {path} cannot be read: {error.strerror}. {_REPAIR} again."
        ) from error
    if digest != MODEL_SHA256:
        raise EmbeddingsUnavailable(f"The embedding model {path} is damaged. {_REPAIR} again.")


def open_tokenizer() -> Tokenizer:
    """The model's own tokenizer, which cuts at its window."""
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_str(lzma.decompress((_DATA / "tokenizer.json.xz").read_bytes()).decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(WINDOW_TOKENS)
    return tokenizer
