"""Slides as Markdown, a page each, with tables, diagrams and the speaker's notes. `reader` calls it.

Source: ECMA-376 part 1, PresentationML and DrawingML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from bethink.documents.reading.messages import MAX_CHARS, FileText, UnfitError
from bethink.documents.reading.package import Package, attribute, local
from bethink.documents.reading.tables import as_markdown
from bethink.internet.decoder import visible

_MAIN: Final = "ppt/presentation.xml"
_TITLES: Final = frozenset({"title", "ctrTitle"})
_FURNITURE: Final = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})
"""Placeholders that say the same on every slide."""
_BODIES: Final = frozenset({"body", "subTitle", "obj", ""})
_DEEPEST: Final = 20
_DEEPEST_LIST: Final = 6


def read_pptx(package: Package) -> FileText:
    """The slides in their order.

    Raises:
        UnfitError: it is damaged.
    """
    root = package.xml(_MAIN)
    if root is None:
        raise UnfitError("This PPTX file is damaged: it cannot be opened.")
    related = package.related(_MAIN)
    pages: list[str] = []
    labels: list[str] = []
    size = 0
    for listed in root.iter("{*}sldId"):
        _, name = related.get(_relation(listed), ("", ""))
        slide = package.xml(name)
        if slide is None:
            continue
        page = visible("\n\n".join(_slide(package, name, slide)))
        pages.append(page)
        hidden = ", hidden" if slide.get("show") in {"0", "false"} else ""
        labels.append(f"Slide {len(pages)}{hidden}")
        size += len(page)
        if size > MAX_CHARS:
            note = f"Only the first {len(pages)} slides are read: the text is too long."
            return FileText(pages, labels, package.title(), note)
    return FileText(pages, labels, package.title())


def _relation(element: Any) -> str:  # noqa: ANN401 - lxml's elements have no types
    """The identifier of a relation, which has a namespace; the element's own `id` has none."""
    return next((str(value) for key, value in element.attrib.items() if key.endswith("}id")), "")


def _slide(package: Package, name: str, slide: Any) -> Iterator[str]:  # noqa: ANN401 - the same
    related = package.related(name)
    tree = next(slide.iter("{*}spTree"), ())
    shapes = list(_shapes(tree, 0))
    # The title is read first wherever it was drawn.
    for shape in sorted(shapes, key=lambda shape: _placeholder(shape) not in _TITLES):
        yield from _shape(package, related, shape)
    for kind, target in related.values():
        if kind == "notesSlide" and (notes := package.xml(target)) is not None:
            said = [
                text
                for shape in _shapes(notes, 0)
                if _placeholder(shape) == "body"
                for text, _ in _lines(shape)
            ]
            if said:
                yield "Notes: " + "\n".join(said)


def _shapes(parent: Any, depth: int) -> Iterator[Any]:  # noqa: ANN401 - the same
    """Shapes and frames, those of groups among them."""
    for child in parent if depth < _DEEPEST else ():
        name = local(child)
        if name in {"sp", "graphicFrame"}:
            yield child
        elif name and name not in {"Fallback", "pic", "cxnSp"}:
            yield from _shapes(child, depth + 1)


def _placeholder(shape: Any) -> str | None:  # noqa: ANN401 - the same
    """What a shape is for; None for one of the author's own."""
    found = next(shape.iter("{*}ph"), None)
    return None if found is None else str(found.get("type", ""))


def _shape(package: Package, related: Mapping[str, tuple[str, str]], shape: Any) -> Iterator[str]:  # noqa: ANN401
    role = _placeholder(shape)
    if local(shape) == "graphicFrame":
        yield from _frame(package, related, shape)
    elif role in _TITLES:
        if text := " ".join(text for text, _ in _lines(shape)):
            yield f"# {' '.join(text.split())}"
    elif role not in _FURNITURE and (lines := list(_lines(shape))):
        if role in _BODIES:
            yield "\n".join(f"{'  ' * level}- {text}" for text, level in lines)
        else:
            yield "\n".join(text for text, _ in lines)


def _frame(package: Package, related: Mapping[str, tuple[str, str]], frame: Any) -> Iterator[str]:  # noqa: ANN401
    for element in frame.iter():
        if local(element) == "tbl":
            rows = [
                [" ".join(text for text, _ in _lines(cell)) for cell in row.iterfind("{*}tc")]
                for row in element.iterfind("{*}tr")
            ]
            if table := as_markdown(rows):
                yield table
        elif local(element) == "relIds":
            # A diagram's words stand in a part of their own.
            _, name = related.get(attribute(element, "dm"), ("", ""))
            diagram = package.xml(name)
            if diagram is not None and (lines := list(_lines(diagram))):
                yield "\n".join(f"- {text}" for text, _ in lines)


def _lines(shape: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401 - the same
    """Paragraphs that say something, and how deep each is in its list."""
    for paragraph in shape.iter("{*}p"):
        parts: list[str] = []
        level = "0"
        for element in paragraph.iter():
            match local(element):
                case "t":
                    parts.append(element.text or "")
                case "br":
                    parts.append(" ")
                case "pPr":
                    level = element.get("lvl", "0")
                case _:
                    continue
        if text := "".join(parts).strip():
            yield text, min(int(level), _DEEPEST_LIST) if level.isdecimal() else 0
