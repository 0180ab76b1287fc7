"""Which pages an audience does not see, so that neither links nor names lead others to them. `views` asks."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from bethink.vault.filters.page_filter import hides_page
from bethink.vault.filters.rules import fits
from bethink.vault.markdown.links import Resolver, key_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bethink.vault.filters.rules import Rule

_ENDING: Final = ".md"
_TELLING: Final = frozenset("_-/0123456789")
"""A file's name with one of these is no common word: it stands in a text for the page."""


@dataclass(frozen=True)
class HiddenPages:
    """The pages of a vault that these rules hide. `aliases` are other names of pages, with their paths."""

    rules: tuple[Rule, ...]
    paths: Collection[str]
    aliases: Mapping[str, str]

    @cached_property
    def hidden(self) -> frozenset[str]:
        """Their paths."""
        telling = [rule for rule in self.rules if not (rule.section or rule.field)]
        return frozenset(path for path in self.paths if any(hides_page(rule, path) for rule in telling))

    @cached_property
    def matters(self) -> bool:
        """Whether a link may lead to something hidden."""
        return bool(self.hidden or self.sections or any(rule.is_of_pages for rule in self.rules))

    def links_of(self, path: str) -> LinksOf:
        """The links of a page, judged."""
        return LinksOf(self, path)

    def is_hidden(self, path: str) -> bool:
        """Whether a page of this path is hidden, whether it is there or not."""
        return path in self.hidden or any(hides_page(rule, path) for rule in self.rules)

    @cached_property
    def resolver(self) -> Resolver:
        """What a link means."""
        return Resolver(self.paths, self.aliases)

    @cached_property
    def visible(self) -> Resolver:
        """What a link means to those who see no more."""
        seen = [path for path in self.paths if path not in self.hidden]
        aliases = {alias: path for alias, path in self.aliases.items() if path not in self.hidden}
        return Resolver(seen, aliases)

    @cached_property
    def names(self) -> frozenset[str]:
        """The hidden pages' names as their files have them, and as a text may have them."""
        found: set[str] = set()
        for path in self.hidden:
            key, name = path.casefold(), path.casefold().rpartition("/")[2]
            stem = name.removesuffix(_ENDING)
            found |= {key, name}
            found |= {word for word in (key.removesuffix(_ENDING), stem) if not _TELLING.isdisjoint(word)}
        return frozenset(found)

    @cached_property
    def sections(self) -> tuple[Rule, ...]:
        """The rules that hide sections."""
        return tuple(rule for rule in self.rules if rule.section and rule.action == "hide" and not rule.field)


@dataclass(frozen=True, slots=True)
class LinksOf:
    """The links on one page."""

    unseen: HiddenPages
    path: str

    def is_hidden(self, target: str) -> bool:
        """Whether a link leads to a hidden page or section, or would if there were one of its name."""
        said = unquote(target).partition("|")[0].rstrip("\\").strip()
        name, _, place = said.partition("#")
        unseen = self.unseen
        found = unseen.resolver.resolve(name, self.path)
        if found is not None and found != self.path and found in unseen.hidden:
            return True
        if place and any(
            fits(place.rpartition("#")[2].casefold(), rule.section.casefold()) for rule in unseen.sections
        ):
            return True
        if found is not None or not name or "://" in name:
            return False
        folder = posixpath.dirname(self.path)
        forms = (name.lstrip("/"), posixpath.normpath(posixpath.join(folder, name)))
        return any(unseen.is_hidden(form if form.endswith(_ENDING) else f"{form}{_ENDING}") for form in forms)

    def is_name(self, word: str) -> bool:
        """Whether a word is a hidden page's name."""
        known = key_of(word) if not word.casefold().endswith(_ENDING) else word.casefold()
        names = self.unseen.names
        return word.casefold().rstrip(".") in names or known in names
