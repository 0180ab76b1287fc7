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

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[np.generic[Any]]


FLOAT, UINT8, INT8, INT64 = 1, 2, 3, 7  # TensorProto.DataType

_DTYPES = {FLOAT: "<f4", UINT8: "u1", INT8: "i1", INT64: "<i8"}
_IR_VERSION = 10
_VARINT, _I64, _LENGTH, _I32 = 0, 1, 2, 5  # wire types
_FIXED_BYTES = {_I64: 8, _I32: 4}
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_STRING = 1, 2, 3  # AttributeProto.AttributeType


@dataclass(frozen=True, slots=True)
class Tensor:
    """Constant values of a graph: little-endian `data` in row-major order."""

    type: int
    shape: tuple[int, ...]
    data: bytes | memoryview


@dataclass(frozen=True, slots=True)
class Node:
    """One operation; `domain` is empty for ONNX's own operations."""

    operation: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, float | int | str]
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """An input or output of a graph; a name in `shape` is a free dimension."""

    name: str
    type: int
    shape: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A model's operations in order, with its constants by name."""

    name: str
    nodes: Sequence[Node]
    constants: Mapping[str, Tensor]
    inputs: Sequence[Value]
    outputs: Sequence[Value]
    opsets: Mapping[str, int]


def read_constants(model: bytes) -> dict[str, Tensor]:
    """The constants of an ONNX file whose values are stored as raw data.

    Raises:
        ValueError: the bytes are not such a file.
    """
    constants: dict[str, Tensor] = {}
    for field, graph in _fields(memoryview(model)):
        if field == 7 and isinstance(graph, memoryview):  # noqa: PLR2004 - ModelProto.graph
            for inner, tensor in _fields(graph):
                if inner == 5 and isinstance(tensor, memoryview):  # noqa: PLR2004 - initializer
                    name, value = _read_tensor(tensor)
                    constants[name] = value
    return constants


def write(graph: Graph) -> bytes:
    """The ONNX file of a graph; the same bytes for the same graph, everywhere."""
    opsets = [_field(8, _text(1, domain) + _integer(2, version)) for domain, version in graph.opsets.items()]
    body = b"".join(
        [
            *[_field(1, _write_node(node)) for node in graph.nodes],
            _text(2, graph.name),
            *[_field(5, _write_tensor(name, t)) for name, t in graph.constants.items()],
            *[_field(11, _write_value(value)) for value in graph.inputs],
            *[_field(12, _write_value(value)) for value in graph.outputs],
        ]
    )
    return b"".join([_integer(1, _IR_VERSION), _text(2, "bethink"), _field(7, body), *opsets])


def _read_tensor(message: memoryview) -> tuple[str, Tensor]:
    name, kind, shape, data = "", 0, list[int](), memoryview(b"")
    for field, value in _fields(message):
        match field, value:
            case 1, int(size):
                shape.append(size)
            case 1, memoryview() as packed:
                at = 0
                while at < len(packed):
                    size, at = _read_varint(packed, at)
                    shape.append(size)
            case 2, int(number):
                kind = number
            case 8, memoryview() as text:
                name = bytes(text).decode()
            case 9, memoryview() as raw:
                data = raw
            case _:
                pass
    return name, Tensor(kind, tuple(shape), data)


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        wire = tag & 7
        if wire == _VARINT:
            value, at = _read_varint(message, at)
            yield tag >> 3, value
            continue
        if wire == _LENGTH:
            size, at = _read_varint(message, at)
        elif wire in _FIXED_BYTES:
            size = _FIXED_BYTES[wire]
        else:
            raise _not_onnx()
        if at + size > len(message):
            raise _not_onnx()
        yield tag >> 3, message[at : at + size]
        at += size


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the last byte has no continuation bit
            return value, at
        shift += 7
    raise _not_onnx()


def _not_onnx() -> ValueError:
    return ValueError("this is not an ONNX file")


def _write_node(node: Node) -> bytes:
    return b"".join(
        [
            *[_text(1, name) for name in node.inputs],
            *[_text(2, name) for name in node.outputs],
            _text(3, f"{node.outputs[0]}.{node.operation}"),
            _text(4, node.operation),
            *[_field(5, _write_attribute(n, v)) for n, v in node.attributes.items()],
            _text(7, node.domain),
        ]
    )


def _write_attribute(name: str, value: float | str) -> bytes:
    match value:
        case int():
            body = _integer(3, value) + _integer(20, _ATTRIBUTE_INT)
        case float():
            body = _tag(2, _I32) + struct.pack("<f", value) + _integer(20, _ATTRIBUTE_FLOAT)
        case str():
            body = _text(4, value) + _integer(20, _ATTRIBUTE_STRING)
    return _text(1, name) + body


def _write_tensor(name: str, tensor: Tensor) -> bytes:
    sizes = [_integer(1, size) for size in tensor.shape]
    return b"".join([*sizes, _integer(2, tensor.type), _text(8, name), _field(9, tensor.data)])


def _write_value(value: Value) -> bytes:
    dimensions = [
        _field(1, _text(2, size) if isinstance(size, str) else _integer(1, size)) for size in value.shape
    ]
    tensor_type = _integer(1, value.type) + _field(2, b"".join(dimensions))
    return _text(1, value.name) + _field(2, _field(1, tensor_type))


def _text(field: int, text: str) -> bytes:
    return _field(field, text.encode())


def _field(field: int, body: bytes | memoryview) -> bytes:
    return b"".join([_tag(field, _LENGTH), _varint(len(body)), body])


def _integer(field: int, value: int) -> bytes:
    return _tag(field, _VARINT) + _varint(value)


def _tag(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as two's complement
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


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
            self._constant(f"{name}.zero", _tensor(zero, UINT8))
            self._constant(f"{name}.step", _tensor(1 / (_STEPS - zero), FLOAT))
        self._constant("last_axis", _tensor([-1], INT64))
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
        self._constant("start", _tensor([0], INT64))

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
        self._constant(f"{name}.qkv.bias", _tensor(np.concatenate(bias), FLOAT))
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
        scale = self._constant(f"{matrix}.step", _tensor(step, FLOAT))
        zero = self._constant(f"{matrix}.zero", _tensor(round(-low / step), UINT8))
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
        self._constant(name, _tensor(np.concatenate([self._array(part) for part in parts], axis=-1), INT8))
        self._constant(f"{name}.scale", _tensor(np.concatenate(scales), FLOAT))

    def _array(self, name: str) -> Array:
        tensor = self._source[name]
        return np.frombuffer(tensor.data, _DTYPES[tensor.type]).reshape(tensor.shape)

    def _floats(self, name: str) -> NDArray[np.float32]:
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


def _tensor(values: Array | float | list[int], kind: int) -> Tensor:
    array = np.asarray(values)
    return Tensor(kind, array.shape, array.astype(_DTYPES[kind]).tobytes())
