"""Pages made whole by new texts: two merged, a large one split, an unreadable one made readable. Pure.

The repairs of the vault call it. Nothing that a page says is lost: of two pages, fields of the front
matter are united, sections of the same headings too; what both say stands once, and if they differ both
stand, for a person to choose.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast

from bethink.errors import BadInput
from bethink.vault.markdown.format import ParsedPage, Section, new_line_of, parse, sections
from bethink.vault.markdown.frontmatter import front_matter, in_quotes, set_field, unclosed_end
from bethink.vault.markdown.links import key_of

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
    guesses: list[str] = []
    if strange >= _ENOUGH:
        with suppress(ModuleNotFoundError):
            from charset_normalizer import from_bytes

            best = from_bytes(body[:_SAMPLE]).best()
            guesses += [] if best is None else [best.encoding]
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
    lines: list[str] = []
    for line in source.splitlines(keepends=True):
        # YAML takes no tabs before a field, and wants a space behind its colon.
        inner = line.lstrip(" \t")
        lines.append(line[: len(line) - len(inner)].replace("\t", "  ") + inner.replace(":\t", ": ", 1))
    yield "".join(lines)
    for place, line in enumerate(lines):
        for other in _mends(line):
            yield "".join((*lines[:place], other, *lines[place + 1 :]))
    yield "".join(line if _reads(line) else next(filter(_reads, _mends(line)), line) for line in lines)


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


_FIRST: Final = "beginning"
_NOT_WORD: Final = re.compile(r"[\W_]+")
_IN_LINKS: Final = re.compile(r"[\[\]|#^\r\n]+")
_MOST_NAME: Final = 60
_INTRO: Final = 4
"""What is above the first cut stays on the page of contents where it is no more than this part of a page."""


class Piece(NamedTuple):
    """A part of a page: the name of its own page, without ending, what it is called, and its text."""

    name: str
    title: str
    text: str


def snake(name: str) -> str:
    """A name in snake_case: lower case, words joined by underscores; "" where nothing is left."""
    return _NOT_WORD.sub("_", name.lower()).strip("_")


def split(text: str, most: int) -> tuple[str, list[Piece]]:
    """What stays at the head of a page, front matter and all, and the pieces of the rest, in order.

    No piece has more than `most` bytes as far as there are lines to cut between; head and pieces in their
    order are the text, character by character.
    """
    document = parse(text)
    start = document.lines.body
    cuts = _cuts(text, start)
    head = cuts[0] if cuts and _bytes(text[start : cuts[0]]) * _INTRO <= most else start
    bounds = [*dict.fromkeys((head, *cuts)), len(text)]
    found = [part for low, high in pairwise(bounds) for part in _parts(text[low:high], most)]
    names: Counter[str] = Counter()
    pieces: list[Piece] = []
    for title, part in found:
        name = snake(title)[:_MOST_NAME].strip("_") or _FIRST
        names[name] += 1
        count = names[name]
        pieces.append(Piece(name if count == 1 else f"{name}_{count}", title or _FIRST, part))
    return text[:head], pieces


def contents(head: str, folder: str, pieces: Sequence[Piece]) -> str:
    """The page of contents: the head of the page that was split, and a link to each piece."""
    new_line = new_line_of(head)
    lines = [f"- [[{folder}/{one.name}|{_IN_LINKS.sub(' ', one.title).strip()}]]" for one in pieces]
    gap = "" if not head.strip() else new_line if head.endswith(("\n", "\r")) else new_line * 2
    return f"{head}{gap}{new_line.join(lines)}{new_line}"


def _cuts(text: str, start: int) -> list[int]:
    """Where the topmost headings stand of which there are several."""
    headings = [one for one in parse(text).headings if one.span[0] >= start]
    for level in sorted({one.level for one in headings}):
        if sum(one.level == level for one in headings) > 1:
            return [one.span[0] for one in headings if one.level <= level][(headings[0].level < level) :]
    return []


def _parts(text: str, most: int) -> Iterator[tuple[str, str]]:
    """A part with what it is called; one that is too large in smaller ones."""
    headings = parse(text).headings
    title = headings[0].title if headings and not text[: headings[0].span[0]].strip() else ""
    if _bytes(text) <= most:
        if text:
            yield title, text
        return
    cuts = [cut for cut in _cuts(text, 0) if cut]
    if cuts:
        bounds = [0, *cuts, len(text)]
        for low, high in pairwise(bounds):
            yield from _parts(text[low:high], most)
        return
    chunk = ""
    size = 0
    for line in text.splitlines(keepends=True):
        if chunk and size + _bytes(line) > most:
            yield title, chunk
            chunk, size = "", 0
        chunk += line
        size += _bytes(line)
    if chunk:
        yield title, chunk


def _bytes(text: str) -> int:
    return len(text.encode())


_ITEM: Final = re.compile(r"[-*+] ")
_BREAKS: Final = ("\n", "\r")
_FENCE: Final = re.compile(r"^[ >]*(?:```|~~~)", re.MULTILINE)
_UNITED: Final = {"aliases": "aliases", "alias": "aliases", "tags": "tags", "tag": "tags"}


def merged(text: str, other: str, names: Iterable[str]) -> str:
    """The page `text` with all that `other` says beside it; `names` are other names that it gets.

    Done once more, it adds nothing, unless there is code without an end.
    """
    text, left = _with_fields(text, other, names)
    found = parse(other)
    for section in sections(found):
        text = _with_section(text, found, section)
    if left and not _stands("\n".join(left), text):
        new_line = new_line_of(text)
        text = f"{_closed(text, new_line)}{new_line}{new_line.join(left)}{new_line}"
    return text


def _with_fields(text: str, other: str, names: Iterable[str]) -> tuple[str, list[str]]:
    """The text with the fields of the other's front matter, and lines that say what has no place there."""
    own, more = front_matter(parse(text)), front_matter(parse(other))
    if own.fault is not None or more.fault is not None:
        front = parse(other).front
        kept = [] if front is None else ["```yaml", *other[front[0] : front[1]].splitlines(), "```"]
        return text, kept
    left: list[str] = []
    lists = {"aliases": [*own.aliases, *more.aliases, *names], "tags": [*own.tags, *more.tags]}
    for field, values in lists.items():
        united = _each_once(values)
        if len(united) > len(_each_once(getattr(own, field))):
            text = set_field(
                text, next((name for name in own.values if _UNITED.get(name) == field), field), united
            )
    for name, value in more.values.items():
        if _UNITED.get(name) is not None or own.values.get(name) == value:
            continue
        if name in own.values:
            left.append(f"- {name}: {_in_words(value)}")
            continue
        try:
            text = set_field(text, name, _plain(value))
        except BadInput:
            left.append(f"- {name}: {_in_words(value)}")
    return text, left


def _plain(value: Any) -> str | Sequence[str]:  # noqa: ANN401 - what YAML holds
    """A text, or a list of texts.

    Raises:
        BadInput: it is neither.
    """
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in texts):
        raise BadInput
    return cast("str | list[str]", value)


def _in_words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_in_words, cast("list[object]", value)))
    return " ".join(str(value).split())


def _each_once(names: Iterable[str]) -> list[str]:
    return [*{key_of(name): name for name in reversed([*names])}.values()][::-1]


def _with_section(text: str, other: ParsedPage, section: Section) -> str:
    """The text with what a section of the other page says and its own does not."""
    new_line, said = new_line_of(text), other.text[section.body : section.end]
    document = parse(text)
    wanted = _key(other, section)
    own = next((one for one in sections(document) if _key(document, one) == wanted), None)
    if own is None:
        whole = other.text[section.start : section.end]
        is_new = whole.strip() and not _stands(whole, text)
        return f"{_closed(text, new_line)}{new_line}{whole}" if is_new else text
    there = text[own.body : own.end]
    known = {chunk.strip() for chunk in _chunks(there)}
    new = [
        chunk.strip("\r\n")
        for chunk in _chunks(said)
        if chunk.strip() not in known and not _stands(chunk, there)
    ]
    if not new:
        return text
    at = own.body + len(there.rstrip())
    head = text[:at]
    for chunk in new:
        last = head.rstrip("\r\n").rpartition("\n")[2]
        is_list = _ITEM.match(chunk) and (_ITEM.match(last) or last.startswith((" ", "\t")))
        head += (
            f"{'' if head.endswith(new_line) or not head else new_line}{'' if is_list else new_line}{chunk}"
        )
    rest = text[at:]
    return f"{head}{'' if rest.startswith(_BREAKS) else new_line}{rest}"


def _key(document: ParsedPage, section: Section) -> tuple[str, ...]:
    """The headings above a section, but for the page's title: pages that are merged may differ in it."""
    path = tuple(" ".join(title.split()).casefold() for title in section.path)
    first = document.headings[0] if document.headings else None
    return (
        path[1:]
        if first is not None and first.level == 1 and path[:1] == (" ".join(first.title.split()).casefold(),)
        else path
    )


def _chunks(text: str) -> Iterator[str]:
    """Items of a list with what is below them, and paragraphs; all in one where there is code."""
    if _FENCE.search(text):
        yield text
        return
    chunk = ""
    for line in text.splitlines(keepends=True):
        if chunk.strip() and (not line.strip() or _ITEM.match(line)):
            yield chunk
            chunk = ""
        chunk += line
    if chunk.strip():
        yield chunk


def _stands(said: str, text: str) -> bool:
    """Whether these lines stand in the text, one behind the other."""
    lines, own = ("\n".join(map(str.rstrip, one.splitlines())) for one in (said, text))
    return "\n{}\n".format(lines.strip("\n")) in f"\n{own}\n"


def _closed(text: str, new_line: str) -> str:
    return text if not text or text.endswith(_BREAKS) else f"{text}{new_line}"
