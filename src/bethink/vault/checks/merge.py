"""Two pages become one text, and nothing that either says is lost. Pure: the repairs of the vault call it.

Fields of the front matter are united, sections of the same headings too; what both
say stands once. Where the two differ both stand, for a person to choose.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from bethink.errors import BadInput
from bethink.vault.markdown.format import new_line_of, parse, sections
from bethink.vault.markdown.frontmatter import front_matter, set_field
from bethink.vault.markdown.links import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bethink.vault.markdown.format import Document, Section

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
            left.append(f"- {name}: {_told(value)}")
            continue
        try:
            text = set_field(text, name, _plain(value))
        except BadInput:
            left.append(f"- {name}: {_told(value)}")
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


def _told(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_told, cast("list[object]", value)))
    return " ".join(str(value).split())


def _each_once(names: Iterable[str]) -> list[str]:
    return [*{key_of(name): name for name in reversed([*names])}.values()][::-1]


def _with_section(text: str, other: Document, section: Section) -> str:
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


def _key(document: Document, section: Section) -> tuple[str, ...]:
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
