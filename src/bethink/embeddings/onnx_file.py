"""Read and write the few parts of ONNX files that building our model needs.

Called by `minilm_build` alone. The `onnx` package could do the same, at the
price of 27 MB, one hash for each platform and an output that changes with its
version; with this file the built model is the same bytes everywhere.

Source: onnx.proto3 of ONNX IR version 10 (field numbers) and the Protocol
Buffers encoding guide (wire format).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FLOAT, UINT8, INT8, INT64 = 1, 2, 3, 7  # TensorProto.DataType

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
                shape.extend(_packed(packed))
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


def _packed(message: memoryview) -> Iterator[int]:
    at = 0
    while at < len(message):
        value, at = _read_varint(message, at)
        yield value


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
