"""A mixed corpus of invented documents that knows what it says: its text by page, and questions about it.

`corpus(1000)` gives 1,000 files of all formats, 166 MB, always the same; fewer files have the same mix.
Nothing is read to know the truth: a file is written from it (`formats`). `reading` compares what a reader
finds with it, `retrieval` asks the questions.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal[
    "pdf",
    "docx",
    "pptx",
    "xlsx",
    "html",
    "eml",
    "md",
    "epub",
    "csv",
    "txt",
    "odt",
    "rtf",
    "ods",
    "odp",
    "msg",
    "tsv",
    "json",
    "jsonl",
    "py",
    "png",
]
Layout = Literal["plain", "columns", "tables", "scanned", "partly scanned", "unmapped font"]
"""How a PDF is set; all others are plain."""

FILES: Final = 1_000
"""The full size."""
MIX: Final[dict[Kind, int]] = {
    "pdf": 24, "docx": 12, "pptx": 8, "xlsx": 8, "html": 8, "eml": 8, "md": 6, "epub": 4, "csv": 4, "txt": 4,
    "odt": 3, "rtf": 3, "ods": 2, "odp": 2, "msg": 1, "tsv": 1, "json": 2, "jsonl": 1, "py": 3, "png": 2,
}  # fmt: skip
"""Shares, in no unit: roughly what people keep in an office's folders."""
PAGED: Final = frozenset({"pdf", "pptx", "odp", "epub"})
"""Kinds whose pages are the file's own, so that a question knows its page."""
_PDF_LAYOUTS: Final[tuple[Layout, ...]] = (
    *("plain", "tables", "columns", "plain", "tables", "scanned", "plain", "tables"),
    *("columns", "plain", "partly scanned", "tables", "plain", "unmapped font"),
)
_PROSE: Final = frozenset({"pdf", "docx", "odt", "epub", "html", "eml", "msg", "md", "rtf"})
_SLIDES: Final = frozenset({"pptx", "odp"})
_SHEETS: Final = frozenset({"xlsx", "ods"})
_SEED: Final = 53


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; level 1 is the highest."""

    text: str
    level: int


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that stand together."""

    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of them."""
        return " ".join(self.sentences)


@dataclass(frozen=True, slots=True)
class Items:
    """A list with bullets."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first is its head."""

    rows: tuple[tuple[str, ...], ...]


Block = Heading | Paragraph | Items | Table


@dataclass(frozen=True, slots=True)
class Page:
    """What stands on a page, in reading order. `is_image`: its text can only be seen."""

    label: str
    blocks: tuple[Block, ...]
    is_image: bool = False
    notes: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is said outside of tables, in order."""
        found: list[str] = []
        for block in self.blocks:
            match block:
                case Heading(text):
                    found.append(text)
                case Paragraph(sentences):
                    found += sentences
                case Items(items):
                    found += items
                case Table():
                    pass
        return (*found, self.notes) if self.notes else tuple(found)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the one sentence that answers it: in `file`, on `page` where the format has pages.

    `asked` says whether it uses the answer's own words or others.
    """

    text: str
    file: str
    page: int | None
    answer: str
    asked: Literal["same words", "other words"]


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file as it is meant; `formats.written` makes its bytes."""

    number: int
    name: str
    kind: Kind
    layout: Layout
    title: str
    pages: tuple[Page, ...]
    questions: tuple[Question, ...]
    picture_bytes: int
    """So large are its pictures, which say nothing."""

    @property
    def is_readable(self) -> bool:
        """Whether its text can be had without recognising it in a picture."""
        return self.kind != "png" and self.layout not in {"scanned", "unmapped font"}


def corpus(files: int = FILES) -> Iterator[CorpusFile]:
    """So many files, in order."""
    kinds = _kinds()
    for number in range(files):
        yield _file(number, next(kinds))


def write_corpus(directory: Path, files: int = FILES) -> list[CorpusFile]:
    """The corpus as files in a directory, a folder a subject; what they say."""
    from benchmarks.documents.formats import written

    made = list(corpus(files))
    for file in made:
        path = directory / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(written(file))
    return made


def markdown(page: Page) -> str:
    """A page as a faultless reader would give it."""
    parts: list[str] = []
    for block in page.blocks:
        match block:
            case Heading(text, level):
                parts.append(f"{'#' * level} {text}")
            case Paragraph():
                parts.append(block.text)
            case Items(items):
                parts.append("\n".join(f"- {item}" for item in items))
            case Table((head, *rows)):
                lines = [head, ("---",) * len(head), *rows]
                parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
            case Table():
                pass
    return "\n\n".join([*parts, page.notes] if page.notes else parts)


def _kinds() -> Iterator[Kind]:
    """Kinds in such an order that any beginning has the mix."""
    due: dict[Kind, float] = dict.fromkeys(MIX, 0.0)
    total = sum(MIX.values())
    while True:
        for kind, share in MIX.items():
            due[kind] += share / total
        chosen = max(due, key=lambda kind: due[kind])
        due[chosen] -= 1
        yield chosen


def _file(number: int, kind: Kind) -> CorpusFile:
    luck = random.Random(_SEED * 1_000_003 + number)  # noqa: S311 - invented documents
    layout: Layout = "plain"
    if kind == "pdf":
        layout = _PDF_LAYOUTS[number // 4 % len(_PDF_LAYOUTS)]
    subject = _WORDS["subjects"][number % len(_WORDS["subjects"])]
    facts = [_fact(number * _FACTS + at) for at in range(_FACTS)]
    title = f"{subject.capitalize()}: {luck.choice(_WORDS['reports'])} {2000 + luck.randrange(26)}"
    name = f"{subject.split()[0]}/{title.split(': ')[1].replace(' ', '-')}-{number:04}.{kind}"
    pages, found = _pages(kind, layout, luck, title=title, facts=facts)
    questions = tuple(
        question
        for fact in facts
        if fact.statement in found
        for question in (
            Question(fact.question, name, _page(kind, found[fact.statement]), fact.statement, "same words"),
            Question(
                fact.paraphrase, name, _page(kind, found[fact.statement]), fact.statement, "other words"
            ),
        )
    )
    # Photographs are what makes files large; sizes of files are far from even.
    picture = 0
    if kind in {"pdf", "docx", "pptx", "odt", "odp", "epub", "eml", "msg"} and layout == "plain":
        picture = int(luck.paretovariate(1.3) * 140_000)
    return CorpusFile(number, name, kind, layout, title, pages, questions, min(picture, 4_000_000))


def _page(kind: Kind, number: int) -> int | None:
    return number if kind in PAGED else None


# --- what is said -------------------------------------------------------------------------------------

_FACTS: Final = 3
"""Of each file; two questions are asked about each."""


@dataclass(frozen=True, slots=True)
class _Fact:
    statement: str
    question: str
    paraphrase: str


_WORDS: Final[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "words.toml").read_text(encoding="utf-8")
)
_OBJECTS: Final[list[str]] = _WORDS["objects"]
_COLUMNS: Final = ("No", "Date", "Item", "Place", "Amount")


def _fact(number: int) -> _Fact:
    """Fact `number`; its names occur together in no other of its form."""
    luck = random.Random(_SEED * 7_000_003 + number)  # noqa: S311
    turn, form = divmod(number, len(_WORDS["facts"]))
    # A step that shares no factor with the number of pairs visits each pair once.
    names = _names(luck, number, person=turn * 1_007 + form * 211, company=turn * 371 + form * 77)
    said: dict[str, str] = _WORDS["facts"][form]
    return _Fact(*(said[part].format(**names) for part in ("statement", "question", "paraphrase")))


def _names(luck: random.Random, number: int, *, person: int, company: int) -> dict[str, str]:
    """What stands in the slots of a form."""
    return {
        "person": _pair("first_names", "last_names", person),
        "company": _pair("company_names", "trades", company),
        "town": luck.choice(_WORDS["towns"]),
        "code": f"{chr(65 + number % 26)}{chr(65 + number // 26 % 26)}-{1000 + number}",
        "date": f"{1 + luck.randrange(28)} {luck.choice(_WORDS['months'])} {2015 + luck.randrange(15)}",
        "number": str(11 + luck.randrange(80)),
        "small": str(2 + luck.randrange(8)),
        **{slot: luck.choice(words) for slot, words in _WORDS["slots"].items()},
    }


def _pair(first: str, second: str, number: int) -> str:
    """One of the pairs of two lists of words."""
    ones, others = _WORDS[first], _WORDS[second]
    place, one = divmod(number % (len(ones) * len(others)), len(ones))
    return f"{ones[one]} {others[place]}"


def _sentence(luck: random.Random) -> str:
    words = [luck.choice(_WORDS[part]) for part in ("actors", "verbs", "objects", "adjuncts")]
    ending = f", item {luck.randrange(10_000)}." if not luck.randrange(4) else "."
    return " ".join(words) + ending


def _paragraph(luck: random.Random, sentences: int = 5) -> list[str]:
    return [_sentence(luck) for _ in range(sentences)]


def _heading(luck: random.Random, number: int) -> str:
    return f"{number}. {luck.choice(_OBJECTS).capitalize()}"


def _row(luck: random.Random, number: int, width: int) -> tuple[str, ...]:
    cells = (
        str(number),
        f"2024-{1 + luck.randrange(12):02}-{1 + luck.randrange(28):02}",
        luck.choice(_OBJECTS).removeprefix("the ").removeprefix("a "),
        luck.choice(_WORDS["towns"]),
        f"{luck.randrange(100, 99_999) / 100:.2f}",
    )
    return cells[:width]


def _table(luck: random.Random, rows: int, width: int = 4) -> Table:
    return Table((_COLUMNS[:width], *(_row(luck, number + 1, width) for number in range(rows))))


# --- what two files say together --------------------------------------------------------------------------


def hops(count: int, start: int = 0) -> Iterator[tuple[CorpusFile, CorpusFile]]:
    """Pairs of files, and a question of the second whose words are in the first.

    The first says who or what is meant, by a name, a code or a link; only with that the answer can be told
    from those about others.
    """
    forms: list[dict[str, str]] = _WORDS["hops"]
    for number in range(start, start + count):
        luck = random.Random(_SEED * 9_000_011 + number)  # noqa: S311 - invented documents
        turn, form = divmod(number, len(forms))
        names = _names(luck, number + 7_000, person=turn * 1_013 + form * 307, company=turn * 383 + form * 83)
        said = {part: text.format(**names) for part, text in forms[form].items()}
        # Names of files tell nothing, but where a link leads.
        first, second = (
            _letter(luck, f"letters/{name or f'{luck.randrange(16**8):08x}'}.md", statement)
            for name, statement in (("", said["first"]), (said["name"], said["second"]))
        )
        question = Question(said["question"], second.name, None, said["second"], "other words")
        yield first, replace(second, questions=(question,))


def _letter(luck: random.Random, name: str, statement: str) -> CorpusFile:
    sentences = _paragraph(luck)
    sentences.insert(luck.randrange(len(sentences)), statement)
    blocks = (
        Heading(luck.choice(_OBJECTS).capitalize(), 1),
        Paragraph(tuple(sentences)),
        Paragraph(tuple(_paragraph(luck))),
    )
    return CorpusFile(0, name, "md", "plain", name, (Page("", blocks),), (), 0)


# --- how much of it, and where --------------------------------------------------------------------------


def _pages(
    kind: Kind, layout: Layout, luck: random.Random, *, title: str, facts: Sequence[_Fact]
) -> tuple[tuple[Page, ...], dict[str, int]]:
    """A file's pages, and on which of them each statement stands."""
    if kind in _SHEETS or kind in {"csv", "tsv"}:
        return _sheets(kind, luck, facts)
    if kind in _SLIDES:
        return _slides(luck, title, facts)
    if kind in {"json", "jsonl", "py", "txt", "png"}:
        count = 1
    else:
        count = min(60, int(luck.paretovariate(1.1) * (4 if kind == "pdf" else 2)))
    places = [luck.randrange(count) for _ in facts]
    pages: list[Page] = []
    for number in range(count):
        blocks: list[Block] = [Heading(title, 1)] if not number else []
        blocks.append(Heading(_heading(luck, number + 1), 2))
        told = [fact.statement for fact, place in zip(facts, places, strict=True) if place == number]
        for _ in range(3):
            sentences = _paragraph(luck)
            if told:
                sentences.insert(luck.randrange(len(sentences)), told.pop())
            blocks.append(Paragraph(tuple(sentences)))
        if kind in _PROSE:
            blocks += _shapes(luck, has_table=layout == "tables" or (kind != "pdf" and number % 2 == 0))
        is_image = kind == "png" or layout == "scanned" or (layout == "partly scanned" and number % 3 == 1)
        label = f"Chapter {number + 1}" if kind == "epub" else ""
        pages.append(Page(label, tuple(blocks), is_image))
    return tuple(pages), {fact.statement: place + 1 for fact, place in zip(facts, places, strict=True)}


def _shapes(luck: random.Random, *, has_table: bool) -> Iterator[Block]:
    if luck.randrange(3) == 0:
        yield Items(tuple(luck.choice(_OBJECTS).capitalize() for _ in range(4)))
    if has_table:
        yield _table(luck, 6 + luck.randrange(6))
        yield Paragraph(tuple(_paragraph(luck, 2)))


def _slides(
    luck: random.Random, title: str, facts: Sequence[_Fact]
) -> tuple[tuple[Page, ...], dict[str, int]]:
    count = 4 + luck.randrange(16)
    places = [luck.randrange(1, count) for _ in facts]
    pages: list[Page] = []
    for number in range(count):
        blocks: list[Block] = [Heading(title if not number else _heading(luck, number), 1)]
        told = [fact.statement for fact, place in zip(facts, places, strict=True) if place == number]
        items = [*(luck.choice(_OBJECTS).capitalize() for _ in range(3)), *told]
        blocks.append(Items(tuple(items)))
        if number % 4 == 1:
            blocks.append(_table(luck, 4))
        notes = _sentence(luck) if number % 2 else ""
        pages.append(Page(f"Slide {number + 1}", tuple(blocks), notes=notes))
    return tuple(pages), {fact.statement: place + 1 for fact, place in zip(facts, places, strict=True)}


def _sheets(
    kind: Kind, luck: random.Random, facts: Sequence[_Fact]
) -> tuple[tuple[Page, ...], dict[str, int]]:
    count = 1 + luck.randrange(3) if kind in _SHEETS else 1
    places = [luck.randrange(count) for _ in facts]
    pages: list[Page] = []
    for number in range(count):
        told = [fact.statement for fact, place in zip(facts, places, strict=True) if place == number]
        size = min(8_000, int(luck.paretovariate(0.9) * 40))
        at = {luck.randrange(size): text for text in told}
        told = [*set(told) - set(at.values())]
        rows = [(*_row(luck, row + 1, 5), at.get(row, "")) for row in range(size)]
        rows += [(*_row(luck, size + 1 + more, 5), text) for more, text in enumerate(told)]
        table = Table(((*_COLUMNS, "Note"), *rows))
        pages.append(Page(f"{_WORDS['company_names'][number]} {number + 1}", (table,)))
    return tuple(pages), {fact.statement: place + 1 for fact, place in zip(facts, places, strict=True)}
