"""What a GGUF file says of itself: the header alone, never its weights. `llamacpp` and `doctor` ask.

Source: the GGUF specification (github.com/ggml-org/ggml, docs/gguf.md), versions 2 and 3, little-endian.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from bethink.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_STRING, _ARRAY = 8, 9
_SCALARS: Final = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_MOST_KEYS: Final = 10_000
_MOST_TEXT_BYTES: Final = 4_000_000
"""Longer than any chat template; what is longer is another file's bytes."""
_TOOLS: Final = re.compile(r"\btools\b")


@dataclass(frozen=True, slots=True)
class Header:
    """A model's name, kind, window in tokens (0 where it says none) and chat template; its file's bytes."""

    name: str
    architecture: str
    context_tokens: int
    template: str
    bytes: int

    @property
    def calls_tools(self) -> bool:
        """Whether its chat template tells it of tools: one that does not leaves them out silently."""
        return _TOOLS.search(self.template) is not None


def read_header(path: Path) -> Header:
    """What the file says. Blocks: call it from a thread.

    Raises:
        BadInput: there is no such file, it cannot be read, or it is no GGUF.
    """
    try:
        with path.open("rb") as file:
            values = _values(file)
            size = path.stat().st_size
    except OSError as error:
        raise BadInput(
            f"The model {path} cannot be read: {error.strerror}. Check the path in `gguf:PATH`."
        ) from error
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"{path} is no GGUF file, or one that is cut off: {error}.") from error
    architecture = str(values.get("general.architecture", ""))
    window = values.get(f"{architecture}.context_length", 0)
    return Header(
        name=str(values.get("general.name", path.stem)),
        architecture=architecture,
        context_tokens=window if isinstance(window, int) else 0,
        template=str(values.get("tokenizer.chat_template", "")),
        bytes=size,
    )


def _values(file: BinaryIO) -> dict[str, object]:
    """The header's single values, by key; lists are passed over."""
    if file.read(4) != _MAGIC:
        raise ValueError("it does not begin like one")
    version, _, count = struct.unpack("<IQQ", file.read(20))
    if version not in _VERSIONS or count > _MOST_KEYS:
        raise ValueError(f"its version {version} is not known")
    values: dict[str, object] = {}
    for _ in range(count):
        key = _text(file)
        kind = _number(file, "<I")
        if kind == _ARRAY:
            _pass_over(file)
        else:
            values[key] = _text(file) if kind == _STRING else _number(file, _format(kind))
    return values


def _pass_over(file: BinaryIO) -> None:
    kind, count = _number(file, "<I"), _number(file, "<Q")
    if kind == _STRING:
        for _ in range(count):
            file.seek(_number(file, "<Q"), 1)
    else:
        file.seek(struct.calcsize(_format(kind)) * count, 1)


def _text(file: BinaryIO) -> str:
    size = _number(file, "<Q")
    if size > _MOST_TEXT_BYTES:
        raise ValueError("a text in it has no end")
    return file.read(size).decode()


def _number(file: BinaryIO, layout: str) -> int:
    (value,) = struct.unpack(layout, file.read(struct.calcsize(layout)))
    return value


def _format(kind: int) -> str:
    layout = _SCALARS.get(kind)
    if layout is None:
        raise ValueError(f"a value in it has the unknown type {kind}")
    return layout
