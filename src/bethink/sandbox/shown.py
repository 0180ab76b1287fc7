"""What one execution shows, gathered from a kernel's messages: text in order, pictures, tables."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.sandbox import Answer, Display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.sandbox import Ending
    from bethink.sandbox.channels import Data, Message

_MOST_DISPLAYS: Final = 20
_MOST_TRAFFIC_BYTES: Final = 64 << 20
"""What one execution may send in all: past it, the code only fills the wire."""
_SMALL_BYTES: Final = 1 << 15
_MOST_TRACEBACK_BYTES: Final = 1 << 20
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TRACEBACK_LINES: Final = 40


class Shown:
    """Takes messages; `answer` is what they come to. `most_chars` of text are kept, head and tail."""

    def __init__(self, most_chars: int) -> None:
        self.is_complete = False
        self._most_chars = most_chars
        self._text: list[str] = []
        self._chars = 0
        self._kept = 0
        self._traffic = 0
        self._displays: list[Display] = []

    @property
    def is_over(self) -> bool:
        """Whether more was sent than anybody reads."""
        return self._traffic > _MOST_TRAFFIC_BYTES

    async def take_soon(self, message: Message | None, size: int) -> None:
        """The same; a large message in a thread, since pictures are decoded."""
        if size > _SMALL_BYTES:
            await anyio.to_thread.run_sync(self.take, message, size)
        else:
            self.take(message, size)

    def take(self, message: Message | None, size: int) -> None:
        """One message of the IOPub channel; None is one of somebody else, and counts too."""
        self._traffic += size
        if message is None:
            return
        content = message.content
        match message.msg_type:
            case "stream":
                self._write(content.text)
            case "display_data" | "execute_result":
                self._show(content.data)
            case "error":
                self._write("\n".join(_traceback(content.traceback)) + "\n")
            case "status" if content.execution_state == "idle":
                self.is_complete = True
            case _:
                pass

    def answer(self, ending: Ending, *, lost: bool = False) -> Answer:
        """What was shown until now."""
        text = "".join(self._text)
        left_out = self._chars - len(text)
        if len(text) > self._most_chars:
            half = self._most_chars // 2
            left_out += len(text) - 2 * half
            text = f"{text[:half]}\n[… {left_out:,} characters left out …]\n{text[-half:]}"
        elif left_out:
            text += f"\n[… {left_out:,} characters left out …]"
        return Answer(text, ending, tuple(self._displays), lost=lost)

    def _write(self, text: str) -> None:
        self._chars += len(text)
        if (room := 2 * self._most_chars - self._kept) > 0:
            self._text.append(text[:room])
            self._kept += len(self._text[-1])

    def _show(self, data: Data) -> None:
        drawn = list(_displays(data))
        self._displays += drawn[: max(_MOST_DISPLAYS - len(self._displays), 0)]
        is_picture = any(display.media_type.startswith("image/") for display in drawn)
        if data.plain is not None and not is_picture:
            self._write(f"{data.plain}\n")


def _displays(data: Data) -> Iterator[Display]:
    """The best form that is there: a picture in bytes, else one in words, else a table."""
    pictures = {"png": data.png, "jpeg": data.jpeg, "gif": data.gif, "webp": data.webp}
    for kind, content in pictures.items():
        if content is None:
            continue
        try:
            yield Display(f"image/{kind}", base64.b64decode(content))
        except (binascii.Error, ValueError):
            continue
        return
    if data.svg is not None:
        yield Display("image/svg+xml", data.svg.encode(errors="replace"))
    elif data.html is not None:
        yield Display("text/html", data.html.encode(errors="replace"))


def _traceback(lines: msgspec.Raw) -> list[str]:
    written = bytes(lines)
    if len(written) > _MOST_TRACEBACK_BYTES:
        return [f"[… a traceback of {len(written):,} bytes …]"]
    try:
        told = msgspec.json.decode(written, type=list[str])
    except msgspec.MsgspecError:
        return []
    whole = _COLOURS.sub("", "\n".join(told)).split("\n")
    if len(whole) <= _TRACEBACK_LINES:
        return whole
    half = _TRACEBACK_LINES // 2
    return [*whole[:half], f"[… {len(whole) - _TRACEBACK_LINES} lines …]", *whole[-half:]]
