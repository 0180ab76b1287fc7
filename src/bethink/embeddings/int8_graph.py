"""ONNX files of BERT models that multiply in int8: reading, writing, and the parts they are made of.

`minilm_graph` and `e5_graph` build theirs with it. What makes one text's vector independent of its neighbours
in a batch: the inputs of a multiplication are quantised either with a fixed scale or with one scale for each
token, never with one for the whole batch (which is what ONNX Runtime's own dynamic quantisation does, and
which costs accuracy besides: docs/adr/0002-embedding-model.md).

Source: Devlin et al. 2019 (BERT); operations of the domain `com.microsoft`: ONNX Runtime,
ContribOperators.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.generic[Any]]


FLOAT, UINT8, INT8, INT64 = 1, 2, 3, 7  # TensorProto.DataType

DTYPES = {FLOAT: "<f4", UINT8: "u1", INT8: "i1", INT64: "<i8"}
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
class OnnxNode:
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
class OnnxGraph:
    """A model's operations in order, with its constants by name."""

    name: str
    nodes: Sequence[OnnxNode]
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


def write(graph: OnnxGraph) -> bytes:
    """The ONNX file of a graph; the same bytes for the same graph, everywhere."""
    opsets = [
        write_field(8, _text(1, domain) + write_integer(2, version))
        for domain, version in graph.opsets.items()
    ]
    body = b"".join(
        [
            *[write_field(1, _write_node(node)) for node in graph.nodes],
            _text(2, graph.name),
            *[write_field(5, _write_tensor(name, t)) for name, t in graph.constants.items()],
            *[write_field(11, _write_value(value)) for value in graph.inputs],
            *[write_field(12, _write_value(value)) for value in graph.outputs],
        ]
    )
    return b"".join([write_integer(1, _IR_VERSION), _text(2, "bethink"), write_field(7, body), *opsets])


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


def _write_node(node: OnnxNode) -> bytes:
    return b"".join(
        [
            *[_text(1, name) for name in node.inputs],
            *[_text(2, name) for name in node.outputs],
            _text(3, f"{node.outputs[0]}.{node.operation}"),
            _text(4, node.operation),
            *[write_field(5, _write_attribute(n, v)) for n, v in node.attributes.items()],
            _text(7, node.domain),
        ]
    )


def _write_attribute(name: str, value: float | str) -> bytes:
    match value:
        case int():
            body = write_integer(3, value) + write_integer(20, _ATTRIBUTE_INT)
        case float():
            body = write_tag(2, _I32) + struct.pack("<f", value) + write_integer(20, _ATTRIBUTE_FLOAT)
        case str():
            body = _text(4, value) + write_integer(20, _ATTRIBUTE_STRING)
    return _text(1, name) + body


def _write_tensor(name: str, tensor: Tensor) -> bytes:
    sizes = [write_integer(1, size) for size in tensor.shape]
    return b"".join([*sizes, write_integer(2, tensor.type), _text(8, name), write_field(9, tensor.data)])


def _write_value(value: Value) -> bytes:
    dimensions = [
        write_field(1, _text(2, size) if isinstance(size, str) else write_integer(1, size))
        for size in value.shape
    ]
    tensor_type = write_integer(1, value.type) + write_field(2, b"".join(dimensions))
    return _text(1, value.name) + write_field(2, write_field(1, tensor_type))


def _text(field: int, text: str) -> bytes:
    return write_field(field, text.encode())


def write_field(number: int, body: bytes | memoryview) -> bytes:
    """A field with a body: bytes, text, or a message."""
    return b"".join([write_tag(number, _LENGTH), _varint(len(body)), body])


def write_integer(number: int, value: int) -> bytes:
    """A field with a whole number."""
    return write_tag(number, _VARINT) + _varint(value)


def write_tag(number: int, wire: int) -> bytes:
    """The head of a field (protocol buffers, encoding)."""
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as two's complement
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_ORT = "com.microsoft"
_ORT_OPERATIONS = {"MatMulIntegerToFloat", "MultiHeadAttention"}
_OPSETS = {"": 20, _ORT: 1}
_EPSILON = 1e-12
_STEPS = 255  # of an unsigned byte
# The inputs of a multiplication vary by the token. Those of the narrowing one come
# out of Gelu, which is never below -0.17: a sixth of the byte is enough for that.
_SIGNED_ZERO, _GELU_ZERO = 128, 40


class Int8Builder:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self) -> None:
        self._nodes: list[OnnxNode] = []
        self._constants: dict[str, Tensor] = {}

    def begin(self) -> None:
        """The scales that multiplications by the token share."""
        for name, zero in (("signed", _SIGNED_ZERO), ("gelu", _GELU_ZERO)):
            self.constant(f"{name}.zero", tensor(zero, UINT8))
            self.constant(f"{name}.step", tensor(1 / (_STEPS - zero), FLOAT))
        self.constant("last_axis", tensor([-1], INT64))

    def built(self, name: str, takes: Value, gives: Value) -> OnnxGraph:
        """The model of one input and one output."""
        return OnnxGraph(name, self._nodes, self._constants, [takes], [gives], _OPSETS)

    def attention(self, qkv: str, name: str, *, heads: int) -> str:
        """What tokens see of each other: queries, keys and values stand side by side in `qkv`."""
        split = [f"{name}.{part}" for part in ("query", "key", "value")]
        self._nodes.append(OnnxNode("Split", [qkv], split, {"axis": -1, "num_outputs": 3}))
        return self.node("MultiHeadAttention", split, f"{name}.seen", num_heads=heads)

    def widen_and_narrow(self, hidden: str, name: str) -> str:
        """The two multiplications behind attention, with Gelu between, added to what they were given."""
        sizes = self.node("Abs", [hidden], f"{name}.sizes")
        wide = self.multiply_by_token(hidden, f"{name}.wide", sizes=sizes, scale="signed")
        # The tanh form is a little faster and costs 0.0001 of cosine.
        wide = self.node("Gelu", [wide], f"{name}.gelu", approximate="tanh")
        narrow = self.multiply_by_token(wide, f"{name}.narrow", sizes=wide, scale="gelu")
        return self.node("Add", [narrow, hidden], f"{name}.sum")

    def multiply_fixed(self, rows: str, matrix: str, span: tuple[float, float]) -> str:
        """`rows` @ matrix + bias, every token quantised over one fixed span."""
        low, high = span
        step = (high - low) / _STEPS
        scale = self.constant(f"{matrix}.step", tensor(step, FLOAT))
        zero = self.constant(f"{matrix}.zero", tensor(round(-low / step), UINT8))
        quantised = self.node("QuantizeLinear", [rows, scale, zero], f"{matrix}.in")
        inputs = [quantised, matrix, scale, f"{matrix}.scale", zero, "", f"{matrix}.bias"]
        return self.node("MatMulIntegerToFloat", inputs, f"{matrix}.out")

    def multiply_by_token(self, rows: str, matrix: str, *, sizes: str, scale: str) -> str:
        """`rows` @ matrix + bias, each token quantised up to the largest of its `sizes`."""
        step, zero = f"{scale}.step", f"{scale}.zero"
        largest = self.node("ReduceMax", [sizes, "last_axis"], f"{matrix}.largest", keepdims=1)
        unit = self.node("Div", [rows, largest], f"{matrix}.unit")
        quantised = self.node("QuantizeLinear", [unit, step, zero], f"{matrix}.in")
        inputs = [quantised, matrix, step, f"{matrix}.scale", zero]
        product = self.node("MatMulIntegerToFloat", inputs, f"{matrix}.product")
        scaled = self.node("Mul", [product, largest], f"{matrix}.scaled")
        return self.node("Add", [scaled, f"{matrix}.bias"], f"{matrix}.out")

    def norm(self, rows: str, name: str, *, gain: Tensor, bias: Tensor) -> str:
        """Layer norm; not the fused SkipLayerNormalization, which takes more than twice as long."""
        self.constant(f"{name}.gain", gain)
        self.constant(f"{name}.bias", bias)
        inputs = [rows, f"{name}.gain", f"{name}.bias"]
        return self.node("LayerNormalization", inputs, name, axis=-1, epsilon=_EPSILON)

    def constant(self, name: str, values: Tensor) -> str:
        """A constant under a name."""
        self._constants[name] = values
        return name

    def node(self, operation: str, inputs: Sequence[str], output: str, **attributes: float | str) -> str:
        """One operation with one result."""
        domain = _ORT if operation in _ORT_OPERATIONS else ""
        self._nodes.append(OnnxNode(operation, inputs, [output], attributes, domain))
        return output


def tensor(values: Array | float | list[int], kind: int) -> Tensor:
    """Values of one type as a constant."""
    array = np.asarray(values)
    return Tensor(kind, array.shape, array.astype(DTYPES[kind]).tobytes())
