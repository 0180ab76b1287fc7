"""The fused int8 graph of all-MiniLM-L6-v2, from the weights of a published export.

Called by `minilm_build`. The export stores int8 weights (one scale for each
output column, one for each row of the word table) but computes in float32;
this graph takes the same bytes and multiplies in int8. Nothing is quantised
a second time.

What makes one text's vector independent of its neighbours in a batch: the
inputs of a multiplication are quantised either with a fixed scale or with one
scale for each token, never with one for the whole batch (which is what ONNX
Runtime's own dynamic quantisation does, and which costs accuracy besides:
docs/adr/0002-embedding-model.md).

Source: Devlin et al. 2019 (BERT), Wang et al. 2020 (MiniLM);
operations of the domain `com.microsoft`: ONNX Runtime, ContribOperators.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.embeddings.onnx_file import FLOAT, INT8, INT64, UINT8, Graph, Node, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic[Any]]

LAYERS = 6
HEADS = 12
WIDTH = 384
WINDOW = 256

_ORT = "com.microsoft"
_ORT_OPERATIONS = {"MatMulIntegerToFloat", "MultiHeadAttention"}
_OPSETS = {"": 20, _ORT: 1}
_EPSILON = 1e-12
_MATRICES = 6  # of a layer: query, key, value, mix, widen, narrow
_STEPS = 255  # of an unsigned byte
# Smallest and largest input of the multiplications before and after attention, a
# pair a layer: measured on 663 texts (prose, code, single words, fifteen languages),
# widened by 2 %. They hardly move between texts, because a few dimensions of each
# layer norm dominate; what falls outside is cut.
_BEFORE_ATTENTION = (
    (-2.8, 6.5), (-4.7, 8.3), (-5.5, 8.2), (-5.1, 9.9), (-6.1, 10.7), (-5.6, 10.1),
)  # fmt: skip
_AFTER_ATTENTION = (
    (-3.4, 2.5), (-2.6, 3.0), (-3.8, 2.6), (-2.8, 3.0), (-3.3, 3.1), (-3.8, 4.0),
)  # fmt: skip
# The inputs of the other two vary by the token. Those of the narrowing one come
# out of Gelu, which is never below -0.17: a sixth of the byte is enough for that.
_SIGNED_ZERO, _GELU_ZERO = 128, 40


def minilm_graph(source: Mapping[str, Tensor]) -> Graph:
    """Token ids `ids`, int64 (texts, tokens) -> the last layer, float32 (texts, tokens, 384).

    All texts of a batch have the same number of tokens (at most 256), so there
    is no padding and no mask. The mean over the tokens is left to the caller: ONNX
    Runtime adds one text up in another order than several. `source` holds the
    constants of the export.

    Raises:
        KeyError: `source` is another export.
    """
    return _Builder(source).graph()


class _Builder:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self, source: Mapping[str, Tensor]) -> None:
        self._source = source
        self._nodes: list[Node] = []
        self._constants: dict[str, Tensor] = {}
        # The export names its matrices by number, in the order of use.
        self._matrices = sorted(
            (name for name in source if name.startswith("val_") and name.endswith("_q")),
            key=lambda name: int(name.split("_")[1]),
        )

    def graph(self) -> Graph:
        """The whole model."""
        for name, zero in (("signed", _SIGNED_ZERO), ("gelu", _GELU_ZERO)):
            self._constant(f"{name}.zero", _number(zero, UINT8))
            self._constant(f"{name}.step", _number(1 / (_STEPS - zero), FLOAT))
        self._constant("last_axis", _integers([-1]))
        hidden = self._embed_tokens()
        for layer in range(LAYERS):
            hidden = self._transform(layer, self._attend(layer, hidden))
        return Graph(
            name="all-minilm-l6-v2-int8",
            nodes=self._nodes,
            constants=self._constants,
            inputs=[Value("ids", INT64, ("texts", "tokens"))],
            outputs=[Value(hidden, FLOAT, ("texts", "tokens", WIDTH))],
            opsets=_OPSETS,
        )

    def _embed_tokens(self) -> str:
        words, positions = (f"inner.embeddings.{kind}_embeddings" for kind in ("word", "position"))
        self._constant("words", self._source[f"{words}.weight_q"])
        self._constant("words.scale", self._source[f"{words}.weight_scale"])
        table = self._floats(f"{positions}.weight_q") * self._floats(f"{positions}.weight_scale")
        table += self._floats("inner.embeddings.token_type_embeddings.weight")[0]
        self._constant("positions", _tensor(table[:WINDOW], FLOAT))
        self._constant("start", _integers([0]))

        rows = self._node("Gather", ["words", "ids"], "word.int8", axis=0)
        rows = self._node("Cast", [rows], "word.float", to=FLOAT)
        scales = self._node("Gather", ["words.scale", "ids"], "word.scale", axis=0)
        rows = self._node("Mul", [rows, scales], "word")
        count = self._node("Shape", ["ids"], "count", start=1, end=2)
        places = self._node("Slice", ["positions", "start", count, "start"], "place")
        total = self._node("Add", [rows, places], "token")
        return self._norm(total, "inner.embeddings.LayerNorm", "hidden")

    def _attend(self, layer: int, hidden: str) -> str:
        name, inner = f"layer{layer}", f"inner.encoder.layer.{layer}.attention"
        parts = ("query", "key", "value")
        first = layer * _MATRICES
        self._matrix(f"{name}.qkv", self._matrices[first : first + 3])
        bias = [self._floats(f"{inner}.self.{part}.bias") for part in parts]
        self._constant(f"{name}.qkv.bias", _tensor(_joined(bias), FLOAT))
        self._matrix(f"{name}.mix", self._matrices[first + 3 : first + 4])
        self._constant(f"{name}.mix.bias", self._source[f"{inner}.output.dense.bias"])

        qkv = self._multiply_fixed(hidden, f"{name}.qkv", _BEFORE_ATTENTION[layer])
        split = [f"{name}.{part}" for part in parts]
        self._nodes.append(Node("Split", [qkv], split, {"axis": -1, "num_outputs": 3}))
        seen = self._node("MultiHeadAttention", split, f"{name}.seen", num_heads=HEADS)
        mixed = self._multiply_fixed(seen, f"{name}.mix", _AFTER_ATTENTION[layer])
        total = self._node("Add", [mixed, hidden], f"{name}.attended.sum")
        return self._norm(total, f"{inner}.output.LayerNorm", f"{name}.attended")

    def _transform(self, layer: int, hidden: str) -> str:
        name, inner = f"layer{layer}", f"inner.encoder.layer.{layer}"
        first = layer * _MATRICES
        self._matrix(f"{name}.wide", self._matrices[first + 4 : first + 5])
        self._constant(f"{name}.wide.bias", self._source[f"{inner}.intermediate.dense.bias"])
        self._matrix(f"{name}.narrow", self._matrices[first + 5 : first + 6])
        self._constant(f"{name}.narrow.bias", self._source[f"{inner}.output.dense.bias"])

        sizes = self._node("Abs", [hidden], f"{name}.sizes")
        wide = self._multiply_by_token(hidden, f"{name}.wide", sizes=sizes, scale="signed")
        # The tanh form is a little faster and costs 0.0001 of cosine.
        wide = self._node("Gelu", [wide], f"{name}.gelu", approximate="tanh")
        narrow = self._multiply_by_token(wide, f"{name}.narrow", sizes=wide, scale="gelu")
        total = self._node("Add", [narrow, hidden], f"{name}.sum")
        return self._norm(total, f"{inner}.output.LayerNorm", f"{name}.hidden")

    def _multiply_fixed(self, rows: str, matrix: str, span: tuple[float, float]) -> str:
        """`rows` @ matrix + bias, every token quantised over one fixed span."""
        low, high = span
        step = (high - low) / _STEPS
        scale = self._constant(f"{matrix}.step", _number(step, FLOAT))
        zero = self._constant(f"{matrix}.zero", _number(round(-low / step), UINT8))
        quantised = self._node("QuantizeLinear", [rows, scale, zero], f"{matrix}.in")
        inputs = [quantised, matrix, scale, f"{matrix}.scale", zero, "", f"{matrix}.bias"]
        return self._node("MatMulIntegerToFloat", inputs, f"{matrix}.out")

    def _multiply_by_token(self, rows: str, matrix: str, *, sizes: str, scale: str) -> str:
        """`rows` @ matrix + bias, each token quantised up to the largest of its `sizes`."""
        step, zero = f"{scale}.step", f"{scale}.zero"
        largest = self._node("ReduceMax", [sizes, "last_axis"], f"{matrix}.largest", keepdims=1)
        unit = self._node("Div", [rows, largest], f"{matrix}.unit")
        quantised = self._node("QuantizeLinear", [unit, step, zero], f"{matrix}.in")
        inputs = [quantised, matrix, step, f"{matrix}.scale", zero]
        product = self._node("MatMulIntegerToFloat", inputs, f"{matrix}.product")
        scaled = self._node("Mul", [product, largest], f"{matrix}.scaled")
        return self._node("Add", [scaled, f"{matrix}.bias"], f"{matrix}.out")

    def _norm(self, rows: str, source: str, name: str) -> str:
        # Not the fused SkipLayerNormalization, which takes more than twice as long.
        self._constant(f"{name}.gain", self._source[f"{source}.weight"])
        self._constant(f"{name}.bias", self._source[f"{source}.bias"])
        inputs = [rows, f"{name}.gain", f"{name}.bias"]
        return self._node("LayerNormalization", inputs, name, axis=-1, epsilon=_EPSILON)

    def _matrix(self, name: str, parts: Sequence[str]) -> None:
        """The int8 matrices `parts` side by side, with a scale for each column."""
        scales = [self._floats(part.removesuffix("_q") + "_scale").reshape(-1) for part in parts]
        self._constant(name, _tensor(_joined([self._array(part) for part in parts]), INT8))
        self._constant(f"{name}.scale", _tensor(_joined(scales), FLOAT))

    def _array(self, name: str) -> Array:
        import numpy as np

        tensor = self._source[name]
        return np.frombuffer(tensor.data, _dtype(tensor.type)).reshape(tensor.shape)

    def _floats(self, name: str) -> NDArray[np.float32]:
        import numpy as np

        return self._array(name).astype(np.float32)

    def _constant(self, name: str, tensor: Tensor) -> str:
        self._constants[name] = tensor
        return name

    def _node(
        self,
        operation: str,
        inputs: Sequence[str],
        output: str,
        **attributes: float | str,
    ) -> str:
        domain = _ORT if operation in _ORT_OPERATIONS else ""
        self._nodes.append(Node(operation, inputs, [output], attributes, domain))
        return output


def _dtype(kind: int) -> str:
    return {FLOAT: "<f4", UINT8: "u1", INT8: "i1", INT64: "<i8"}[kind]


def _joined(parts: Sequence[Array]) -> Array:
    import numpy as np

    return np.concatenate(parts, axis=-1)


def _tensor(values: Array, kind: int) -> Tensor:
    return Tensor(kind, values.shape, values.astype(_dtype(kind)).tobytes())


def _number(value: float, kind: int) -> Tensor:
    import numpy as np

    return _tensor(np.asarray(value), kind)


def _integers(values: Sequence[int]) -> Tensor:
    import numpy as np

    return _tensor(np.asarray(values), INT64)
