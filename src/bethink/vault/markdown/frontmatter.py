"""What a page says of itself: its front matter, read as it was written, and what the catalogue keeps.

A front matter is YAML between two lines of dashes. Every value is text, as the person wrote it: a date
stays `2024-05-01`, `no` stays `no`. YAML's anchors are refused: nobody writes them here, and with them ten
lines can stand for a billion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from bethink.errors import BadInput
from bethink.vault.markdown.format import new_line_of, parse, tags_of
from bethink.vault.markdown.lines import BOM, Span
from bethink.vault.markdown.links import SUFFIX, LinkKind

if TYPE_CHECKING:
    from bethink.vault.markdown.format import ParsedPage


MAX_CHARS: Final = 65_536
"""Of a front matter that is read: people write some hundred."""
_KEY: Final = re.compile(
    r"""^(?P<key>"[^"\n]*"[ \t]*|'[^'\n]*'[ \t]*|[^\s#:'"\[\]{},&*!|>%@`-][^:\n]*):(?=[ \t\n]|\Z)""",
    re.MULTILINE,
)
_PLAIN: Final = re.compile(r"[^\W_][\w ./()+-]*")

_WORD: Final = r"[A-Za-z0-9](?:[\w./()+ -]*[\w./()+-])?"
"""A text that YAML takes as it is, in a list too."""
_SIMPLE: Final = re.compile(
    rf"(?P<name>[A-Za-z]\w*):(?: +(?:(?P<value>{_WORD})|\[(?P<list> *{_WORD} *(?:, *{_WORD} *)*)\]))? *"
)

_OPENINGS: Final = ("---\n", "---\r\n", f"{BOM}---")
_UNCLOSED: Final = re.compile(
    rf"{BOM}?---[ \t]*\r?\n"
    r"(?:[A-Za-z][\w -]{0,40}:(?:[ \t][^\n]*)?(?:\n|\Z)(?:(?:[ \t]+|- )[^\n]*(?:\n|\Z))*)+"
)
"""Fields below a first line of dashes."""


class Field(msgspec.Struct, frozen=True):
    """A field at the top of the front matter: `span` are its lines with their endings."""

    name: str
    line: int
    span: Span


class FrontMatter(msgspec.Struct, frozen=True):
    """What a front matter says. `fault` is what is wrong with it, in words; it says nothing then."""

    values: Mapping[str, Any] = {}
    fault: str | None = None

    def texts(self, *names: str) -> list[str]:
        """The texts of fields by any of these names: of a list each, of a text with commas each part."""
        wanted = {name.casefold() for name in names}
        found: list[str] = []
        for name, value in self.values.items():
            if name.casefold() in wanted:
                parts = cast("list[object]", value) if isinstance(value, list) else str(value).split(",")
                found += [text for part in parts if isinstance(part, str) and (text := part.strip())]
        return found

    @property
    def title(self) -> str | None:
        """What it calls the page."""
        title = self.values.get("title")
        return title.strip() or None if isinstance(title, str) else None

    @property
    def aliases(self) -> list[str]:
        """Other names of what the page is about."""
        return self.texts("aliases", "alias")

    @property
    def tags(self) -> list[str]:
        """Its tags, without `#`."""
        return [tag.lstrip("#") for tag in self.texts("tags", "tag")]


def front_matter(document: ParsedPage) -> FrontMatter:
    """What the front matter of a page says; nothing where it has none."""
    if document.front is None:
        is_open = unclosed_end(document.text) is not None
        return FrontMatter(fault="no line `---` ends it" if is_open else None)
    start, end = document.front
    source = document.lines.plain[start:end]
    if len(source) > MAX_CHARS:
        return FrontMatter(fault=f"it has more than {MAX_CHARS:,} characters")
    if not source.strip():
        return FrontMatter()
    return _read(source)


def unclosed_end(text: str) -> int | None:
    """Where a front matter ends that no line ends: behind its last field. None where there is none such."""
    if not text.startswith(_OPENINGS):
        return None
    found = _UNCLOSED.match(text)
    return None if found is None or parse(text).front is not None else found.end()


def fields(document: ParsedPage) -> list[Field]:
    """The fields at the top of the front matter, by their lines, whether or not they can be read."""
    if document.front is None:
        return []
    low, high = document.front
    plain = document.lines.plain
    keys = list(_KEY.finditer(plain, low, high))
    ends = [key.start() for key in keys[1:]] + [high]
    found: list[Field] = []
    for key, end in zip(keys, ends, strict=True):
        name = key["key"].strip(" \t").strip("\"'")
        found.append(Field(name, document.line_at(key.start()), (key.start(), end)))
    return found


def set_field(text: str, name: str, value: str | Sequence[str]) -> str:
    """The text with this field of the front matter; without one, with a front matter more.

    Raises:
        BadInput: the name cannot be one, the value has more than one line, or the front matter is faulty.
    """
    document, new_line = parse(text), new_line_of(text)
    texts = [value] if isinstance(value, str) else list(value)
    if _PLAIN.fullmatch(name) is None or any("\n" in one or "\r" in one for one in texts):
        raise BadInput("A field has a name of letters, digits and underscores, and a value of one line.")
    if (fault := front_matter(document).fault) is not None:
        raise BadInput(f"The front matter cannot be changed: {fault}. Fix it first.")
    shown = _scalar(value) if isinstance(value, str) else f"[{', '.join(map(_scalar, value))}]"
    line = f"{name}: {shown}"
    if document.front is None:
        mark = BOM if text.startswith(BOM) else ""
        return f"{mark}---{new_line}{line}{new_line}---{new_line}{text[len(mark) :]}"
    for field in fields(document):
        if field.name == name:
            start, end = field.span
            # Its line's ending, blank lines and remarks stay.
            kept = text[start:end]
            return f"{text[:start]}{line}{kept[len(kept.rstrip()) :]}{text[end:]}"
    end = document.front[1]
    return f"{text[:end]}{line}{new_line}{text[end:]}"


def simple_fields(source: str) -> dict[str, Any] | None:
    """What YAML would say of fields that are plain words or lists of them; None for all else.

    Nearly every front matter is such a one, and this takes a twentieth of the time.
    """
    values: dict[str, Any] = {}
    for line in source.rstrip("\n").split("\n"):
        found = _SIMPLE.fullmatch(line)
        if found is None or found["name"] in values:
            return None
        if found["list"] is None:
            values[found["name"]] = (found["value"] or "").strip(" ")
        else:
            values[found["name"]] = [part.strip(" ") for part in found["list"].split(",")]
    return values


def _scalar(value: str) -> str:
    """A text as YAML: plain where nothing in it means anything else."""
    return value if _PLAIN.fullmatch(value) and value == value.strip() else in_quotes(value)


def in_quotes(value: str) -> str:
    """A text of one line as YAML's, whatever it holds."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _read(source: str) -> FrontMatter:
    if (simple := simple_fields(source)) is not None:
        return FrontMatter(simple)
    from bethink.vault.markdown.yaml_texts import YamlFault, read_yaml

    try:
        values = read_yaml(source)
    except YamlFault as fault:
        return FrontMatter(fault=str(fault))
    if values is None or values == "":
        return FrontMatter()
    if not isinstance(values, dict):
        return FrontMatter(fault="it is not a list of fields, `name: value`")
    by_name = cast("dict[object, object]", values)
    return FrontMatter({str(name): value for name, value in by_name.items()})


_MAX_NAMES: Final = 50
"""Aliases of one page that count; a page with more was made by a program, or to be in the way."""


class Reference(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A link of a page, as it is written, and the line in which it stands, from 1."""

    kind: LinkKind
    target: str
    section: str
    block: str
    line: int
    is_to_page: bool


class PageInfo(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a page calls itself and what it points to. `fault` is what is wrong with its front matter."""

    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    headings: tuple[str, ...]
    links: tuple[Reference, ...]
    fault: str | None = None


def other_names(document: ParsedPage) -> tuple[str, ...]:
    """The aliases that its front matter gives a page."""
    return tuple(front_matter(document).aliases[:_MAX_NAMES])


def info_of(path: str, text: str) -> PageInfo:
    """What a page's text tells of itself."""
    document = parse(text)
    front = front_matter(document)
    line_at = document.line_at
    return PageInfo(
        title_of(path, document),
        other_names(document),
        tuple(dict.fromkeys((*front.tags, *tags_of(document)))),
        tuple(heading.title for heading in document.headings),
        tuple(
            Reference(
                link.kind, link.target, link.section, link.block, line_at(link.span[0]), link.is_to_page
            )
            for link in document.links
        ),
        front.fault,
    )


def name_of(path: str) -> str:
    """The name of a page's file, as it is and in words, a line each."""
    name = path.rpartition("/")[2].removesuffix(SUFFIX)
    return f"{name}\n{name.replace('_', ' ')}"


def title_of(path: str, document: ParsedPage) -> str:
    """What a page is called: by its front matter, its first heading, or its file."""
    first = next((heading.title for heading in document.headings if heading.level == 1), "")
    return front_matter(document).title or first or path.rpartition("/")[2].removesuffix(SUFFIX)
