"""What a search in the vault asks for, as somebody wrote it. `search` reads it; pure.

A query is words, each of which a page should hold somewhere, and "phrases in
quotes"; or a regular expression. Filters narrow it: `entities/*` (a path),
`section:Health`, `tag:work`, `type:md`, and each with `-` before it the other
way round.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import TYPE_CHECKING, Any, Final

from bethink.errors import BadInput
from bethink.vault.markdown.format import parse, sections, tags_of
from bethink.vault.markdown.frontmatter import front_matter

if TYPE_CHECKING:
    from bethink.vault.markdown.lines import Span


LEAST_BYTES: Final = 3
"""A shorter text has no gram: every page may hold it."""


def folded(text: str) -> str:
    """The text as it is compared: without case, in Unicode's form NFC."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).casefold()


def folded_line(text: str) -> str:
    """The same, with single spaces for all that is white."""
    return " ".join(folded(text).split())


def sought_in(text: str) -> str:
    """What the grams of a page are taken from: its folded text, and as it stands where that differs."""
    plain = text.casefold()
    known = folded(text)
    return plain if known == plain else f"{known}\0{plain}"


MAX_QUERY_CHARS: Final = 500
MAX_LIMIT: Final = 100
MAX_CONTEXT: Final = 20
MAX_PAGE: Final = 1_000
MAX_FILTERS: Final = 20
_MAX_TERMS: Final = 16
_WORD: Final = re.compile(r'"([^"]+)"|(\S+)')
_AROUND: Final = "?!.,;:()'’“”„"
"""What stands around a word in a sentence, and is no part of it."""
_KINDS: Final = frozenset({"md", ".md", "markdown", "page"})


@dataclass(frozen=True, slots=True)
class PageSearch:
    """A search. `context` are lines shown around each hit, `page` counts from 1, `limit` are pages at once.

    Without `case` capitals do not matter; with `regex` the query is a regular expression of Python's.
    """

    query: str
    regex: bool = False
    case: bool = False
    context: int = 2
    page: int = 1
    limit: int = 20
    filters: Sequence[str] = ()

    def checked(self) -> PageSearch:
        """The same, if it can be answered.

        Raises:
            BadInput: it cannot; the sentence says why.
        """
        if len(self.query) > MAX_QUERY_CHARS:
            raise BadInput(f"Search for at most {MAX_QUERY_CHARS} characters.")
        if not self.query.strip() and not self.filters:
            raise BadInput("Search for a word or more, or filter by a path, a tag or a section.")
        bounds = ((self.page, 1, MAX_PAGE), (self.limit, 1, MAX_LIMIT), (self.context, 0, MAX_CONTEXT))
        if any(not least <= given <= most for given, least, most in bounds):
            raise BadInput(
                f"`page` is 1 to {MAX_PAGE:,}, `limit` 1 to {MAX_LIMIT}, `context` 0 to {MAX_CONTEXT} lines."
            )
        if len(self.filters) > MAX_FILTERS:
            raise BadInput(f"Give at most {MAX_FILTERS} filters.")
        return self

    @property
    def terms(self) -> list[str]:
        """The words and phrases, each once; none of a regular expression."""
        if self.regex:
            return []
        found: dict[str, str] = {}
        for phrase, word in _WORD.findall(self.query):
            term = phrase.strip() or word.strip(_AROUND) or word
            if term:
                found.setdefault(folded(term), term)
        return list(found.values())[:_MAX_TERMS]


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """Which pages and sections are searched: of each kind one must hold, and none of those turned round."""

    paths: tuple[re.Pattern[str], ...] = ()
    tags: tuple[str, ...] = ()
    sections: tuple[re.Pattern[str], ...] = ()
    no_paths: tuple[re.Pattern[str], ...] = ()
    no_tags: tuple[str, ...] = ()
    no_sections: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, written: Sequence[str]) -> SearchFilters:
        """The filters as somebody wrote them.

        Raises:
            BadInput: one is empty, or of a kind that is not known.
        """
        found: defaultdict[str, list[Any]] = defaultdict(list)
        for one in written:
            kind, value, is_turned = _read(one)
            if kind == "type":
                if folded(value) not in _KINDS:
                    raise BadInput(f"The vault holds Markdown pages only: {one!r} finds none of them.")
                continue
            # Python's translation never goes back over what it took: no pattern takes long.
            wanted = folded(value) if kind == "tag" else re.compile(translate(folded_line(value)))
            found[f"{'no_' * is_turned}{kind}s"].append(wanted)
        return cls(**{name: tuple(values) for name, values in found.items()})

    @property
    def literal(self) -> list[str]:
        """Folded texts that every page which passes holds."""
        return list(self.tags) if len(self.tags) == 1 else []

    @property
    def looks_inside(self) -> bool:
        """Whether a page's text must be read to say whether it passes."""
        return bool(self.tags or self.no_tags or self.sections or self.no_sections)

    def pass_path(self, path: str) -> bool:
        """Whether a page is searched, as far as its path tells."""
        if not self.paths and not self.no_paths:
            return True
        known = folded(path)
        return (not self.paths or any(one.match(known) for one in self.paths)) and not any(
            one.match(known) for one in self.no_paths
        )

    def parts(self, text: str) -> list[Span]:
        """The parts of a page's text that are searched; none where it does not pass."""
        if not self.looks_inside:
            return [(0, len(text))]
        document = parse(text)
        if self.tags or self.no_tags:
            tags = [folded(tag) for tag in (*front_matter(document).tags, *tags_of(document))]
            if (self.tags and not _has(tags, self.tags)) or _has(tags, self.no_tags):
                return []
        if not self.sections and not self.no_sections:
            return [(0, len(text))]
        found: list[Span] = []
        for section in sections(document):
            titles = [folded_line(title) for title in section.path]
            if self.sections and not any(one.match(title) for one in self.sections for title in titles):
                continue
            if not any(one.match(title) for one in self.no_sections for title in titles):
                found.append((section.start, section.end))
        return found


def _read(written: str) -> tuple[str, str, bool]:
    """A filter's kind and value, and whether it is turned round."""
    text = written.strip()
    bare = text.removeprefix("-")
    kind, colon, value = bare.partition(":")
    kind = kind.casefold()
    if not colon or kind not in {"tag", "section", "type", "path"}:
        kind, value = ("tag", bare) if bare.startswith("#") else ("path", bare)
    value = value.strip().lstrip("#").strip() if kind in {"tag", "section"} else value.strip()
    if not value:
        raise BadInput(
            f"The filter {written!r} is empty: write `entities/*`, `section:Health` or `tag:work`."
        )
    return kind, _whole(value) if kind == "path" else value, text != bare


def _whole(path: str) -> str:
    """A folder stands for all that is in it, a name without one for pages of that name anywhere."""
    path = path.removeprefix("/")
    if any(mark in path for mark in "*?["):
        return path
    return path if path.endswith(".md") else f"{path.rstrip('/')}/*"


def _has(tags: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether one of the tags is wanted, or lies below one that is: `work/acme` below `work`."""
    return any(tag == one or tag.startswith(f"{one}/") for one in wanted for tag in tags)
