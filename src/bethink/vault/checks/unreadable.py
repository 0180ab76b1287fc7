"""What makes a page of a file that cannot be read: its encoding, a front matter made readable. Pure."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from bethink.vault.markdown.format import new_line_of, parse
from bethink.vault.markdown.frontmatter import front_matter, in_quotes, unclosed_end

if TYPE_CHECKING:
    from collections.abc import Iterator


_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN: Final = "cp1252"
"""What Windows wrote for decades where it was set to a language of Western Europe."""
_SAMPLE: Final = 65_536
_ENOUGH: Final = 8
"""With fewer letters that are not ASCII a guess is no better than the commonest encoding."""
DAMAGED: Final = "utf-8, damaged"
"""UTF-8 in which some bytes are broken: each is shown as U+FFFD."""


def detected(body: bytes) -> list[str]:
    """The encodings in which the bytes are text, the likeliest first; none for what is no text."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return [name] if read_as(body, name) is not None else []
    zeros = body[:_SAMPLE].count(0)
    if zeros:
        # Latin letters have a zero in each pair of bytes, and text none elsewhere.
        name = "utf-16-le" if body[1:_SAMPLE:2].count(0) > body[:_SAMPLE:2].count(0) else "utf-16-be"
        is_text = zeros * 4 > min(len(body), _SAMPLE) and read_as(body, name) is not None
        return [name] if is_text else []
    shown = body.decode("utf-8", "replace")
    strange = shown.count("\ufffd")
    letters = len(shown) - len(shown.encode("ascii", "ignore")) - strange
    if letters > strange:
        return [DAMAGED]
    guesses = [_guessed(body[:_SAMPLE])] if strange >= _ENOUGH else []
    return [name for name in dict.fromkeys((*guesses, _WESTERN, "latin-1")) if name and read_as(body, name)][
        :2
    ]


def read_as(body: bytes, encoding: str) -> str | None:
    """The bytes as text, from which they could be made again; None where they are none in this encoding."""
    if encoding == DAMAGED:
        return body.decode("utf-8", "replace")
    try:
        text = body.decode(encoding)
        is_same = text.encode(encoding) == body
    except (UnicodeError, LookupError):
        return None
    return text if is_same or encoding in {"utf-16", "utf-32"} else None


def _guessed(sample: bytes) -> str | None:
    with suppress(ModuleNotFoundError):
        from charset_normalizer import from_bytes

        if (best := from_bytes(sample).best()) is not None:
            return best.encoding
    return None


_FIELD: Final = re.compile(
    r"(?P<before>[ ]*(?:- +)?(?:[^\s:#'\"][^:]*: +|- +))(?P<value>\S.*?)(?P<behind>\s*)"
)
_TIGHT: Final = re.compile(r"(?P<name>[ ]*\w+):(?P<value>[^\s:/].*)", re.DOTALL)
_CLOSING: Final = {"[": "]", "{": "}", '"': '"', "'": "'"}


def mended(text: str) -> str | None:
    """The page with a front matter that can be read; None where no mark more makes it so."""
    if front_matter(parse(text)).fault is None:
        return None
    if (end := unclosed_end(text)) is not None:
        text = f"{text[:end]}---{new_line_of(text)}{text[end:]}"
    front = parse(text).front
    if front is None:
        return None
    start, end = front
    for source in _tried(text[start:end]):
        page = f"{text[:start]}{source}{text[end:]}"
        if front_matter(parse(page)).fault is None:
            return page
    return None


def as_text(text: str) -> str:
    """The page with its front matter as a block of code: nothing reads it, and it can be mended by hand."""
    front = parse(text).front
    if front is None:
        end = unclosed_end(text)
        if end is None:
            return text
        start = text.index("---") + 3
        return f"{text[: start - 3]}```yaml{text[start:end]}```{new_line_of(text)}{text[end:]}"
    start, end = front
    opening, closing = text.rindex("---", 0, start), text.index("---", end)
    return f"{text[:opening]}```yaml{text[opening + 3 : end]}```{text[closing + 3 :]}"


def _tried(source: str) -> Iterator[str]:
    """The front matter as it is, then with more and more of it mended."""
    yield source
    lines = [_spaced(line) for line in source.splitlines(keepends=True)]
    yield "".join(lines)
    for place, line in enumerate(lines):
        for other in _mends(line):
            yield "".join((*lines[:place], other, *lines[place + 1 :]))
    yield "".join(line if _reads(line) else next(filter(_reads, _mends(line)), line) for line in lines)


def _spaced(line: str) -> str:
    """The line without tabs where YAML takes none, and with a space behind a field's colon."""
    inner = line.lstrip(" \t")
    return line[: len(line) - len(inner)].replace("\t", "  ") + inner.replace(":\t", ": ", 1)


def _mends(line: str) -> Iterator[str]:
    """What the line may have been meant to be: closed, in quotes, with a space behind its colon."""
    body = line.rstrip("\r\n")
    ending = line[len(body) :]
    if (found := _FIELD.fullmatch(body)) is not None:
        before, value, behind = found["before"], found["value"], found["behind"]
        closing = _CLOSING.get(value[0])
        if closing is not None and not value.endswith(closing):
            yield f"{before}{value}{closing}{behind}{ending}"
        yield f"{before}{in_quotes(value)}{behind}{ending}"
    elif (found := _TIGHT.fullmatch(body)) is not None:
        yield f"{found['name']}: {found['value']}{ending}"


def _reads(line: str) -> bool:
    return front_matter(parse(f"---\n{line.strip()}\n---\n")).fault is None
