"""What an owner hides, from whom: the filters of each vault, kept in order. Doors and `views` ask.

A filter is about as much of the vault as it names: a page, in it a section, in that a
field, in that what a pattern finds. Whoever reads comes as an audience; a filter that
names none is for everybody but the owner's own eyes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from bethink.errors import BadInput, NotAllowed, UnknownId
from bethink.principal import INSIDE, OWN_EYES, Principal
from bethink.store import Collection, Put, Record, Store, retry_conflicts
from bethink.vault.files.paths import twin_key
from bethink.vault.filters.patterns import finder_of

Action = Literal["hide", "mask", "generalise"]
ACTIONS: Final[tuple[Action, ...]] = ("hide", "mask", "generalise")
MAX_RULES: Final = 200
_MAX_CHARS: Final = 300
_MAX_TEXT: Final = 2_000
_MAX_AUDIENCES: Final = 50
_ONE: Final = "filters"
_ENDING: Final = ".md"


class FilterRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One filter. What it leaves empty does not narrow it; one of `text` alone is only told to the model.

    `audiences` are patterns of audiences, `path`, `section` and `field` patterns of
    names (`*` any characters, `**` any folders). `pattern` is `email`, `phone`,
    `card`, `birth_date`, `number` or an expression. `note` is the owner's own.
    """

    id: str = ""
    action: Action = "hide"
    audiences: tuple[str, ...] = ()
    path: str = ""
    section: str = ""
    field: str = ""
    pattern: str = ""
    text: str = ""
    note: str = ""

    @property
    def is_enforced(self) -> bool:
        """Whether code sees to it; what is only told is no protection."""
        return not self.text

    @property
    def is_of_pages(self) -> bool:
        """Whether it is about whole pages."""
        return bool(self.path) and not (self.section or self.field or self.pattern)

    @property
    def is_everywhere(self) -> bool:
        """Whether it is about no page or section of the vault more than about anything else that is kept."""
        return self.is_enforced and not (self.path or self.section)

    def is_for(self, audience: str) -> bool:
        """Whether this audience is restrained by it."""
        if audience in INSIDE:
            return False
        if not self.audiences:
            return audience not in OWN_EYES
        # A pattern of a door is about its clients and agents too.
        known = audience.casefold()
        ends = [*(place for place, char in enumerate(known) if char in ":/"), len(known)]
        return any(fits(known[:end], meant.casefold()) for meant in self.audiences for end in ends)

    def is_at(self, path: str) -> bool:
        """Whether it is about something of this page."""
        return not self.path or is_under(path, self.path)

    def checked(self) -> FilterRule:
        """The rule as it is kept.

        Raises:
            BadInput: it says nothing, or what cannot be; the sentence says why.
        """
        named = {"path": self.path, "section": self.section, "field": self.field, "pattern": self.pattern}
        given = {name: value.strip() for name, value in named.items()}
        given["path"] = twin_key(given["path"]).removeprefix("./").strip("/")
        text, note = self.text.strip(), self.note.strip()
        if bool(text) == any(given.values()):
            raise BadInput("A filter needs a path, section, field or pattern, or only a text for the model.")
        if self.action not in ACTIONS:
            raise BadInput(f"There is no action {str(self.action)[:40]!r}: there are {', '.join(ACTIONS)}.")
        for name, value in given.items():
            _check(name, value, _MAX_TEXT if name == "pattern" else _MAX_CHARS)
        _check("text", text, _MAX_TEXT)
        _check("note", note, _MAX_TEXT)
        if given["pattern"]:
            finder_of(given["pattern"])
        audiences = tuple(dict.fromkeys(one.strip() for one in self.audiences if one.strip()))
        if len(audiences) > _MAX_AUDIENCES or any(len(one) > _MAX_CHARS for one in audiences):
            raise BadInput(f"A filter has at most {_MAX_AUDIENCES} audiences of {_MAX_CHARS} characters.")
        return msgspec.structs.replace(self, audiences=audiences, text=text, note=note, **given)


class RuleSet(Record, frozen=True, kw_only=True):
    """All filters of an owner, in order. `version` grows with each change, `made` counts all there were."""

    version: int = 0
    made: int = 0
    rules: tuple[FilterRule, ...] = ()

    @property
    def enforced(self) -> tuple[FilterRule, ...]:
        """Those that code sees to."""
        return tuple(rule for rule in self.rules if rule.is_enforced)

    def on(self, audience: str) -> tuple[FilterRule, ...]:
        """Those that restrain an audience."""
        return tuple(rule for rule in self.enforced if rule.is_for(audience))

    def instructions(self, audience: str) -> tuple[str, ...]:
        """What the model is asked to heed for an audience, in the owner's own words."""
        return tuple(rule.text for rule in self.rules if rule.text and rule.is_for(audience))


RULE_SETS = Collection("vault_filters", RuleSet, searchable=False)
NO_RULES: Final = RuleSet(id=_ONE)


@dataclass(frozen=True, slots=True)
class FilterStore:
    """The filters of all owners. `on_change` is told of an owner, and what held before and holds now.

    Only the owner's own eyes list and change them: `NotAllowed` for all others.
    """

    store: Store
    on_change: list[Callable[[str, RuleSet, RuleSet], None]] = field(
        default_factory=list["Callable[[str, RuleSet, RuleSet], None]"]
    )

    async def of(self, owner: str) -> RuleSet:
        """What holds for an owner's vault now. Where it cannot be read nothing may be shown.

        Raises:
            StorageError: it cannot be read.
        """
        (found,) = await self.store.get(RULE_SETS, owner, [_ONE])
        return NO_RULES if found is None else found.record

    async def rules_for(self, principal: Principal) -> tuple[FilterRule, ...]:
        """The filters that code applies to this reader; none if nothing restrains them."""
        return (await self._for_reader(principal)).on(principal.audience)

    async def instructions_for(self, principal: Principal) -> tuple[str, ...]:
        """What the model is asked to heed when it reads for them, in the owner's own words."""
        return (await self._for_reader(principal)).instructions(principal.audience)

    async def _for_reader(self, principal: Principal) -> RuleSet:
        """What was read at the start of their request, else what holds now."""
        match principal.filters:
            case (principal.owner, None):
                return NO_RULES
            case (principal.owner, RuleSet() as held):
                return held
            case _:
                return await self.of(principal.owner)

    async def hold(self, principal: Principal) -> Principal:
        """The same reader, carrying what holds now for one request or run."""
        found = await self.of(principal.owner)
        return replace(principal, filters=(principal.owner, found if found.rules else None))

    async def list(self, principal: Principal) -> Sequence[FilterRule]:
        """The filters, in their order."""
        must_be_owner(principal)
        return (await self.of(principal.owner)).rules

    async def add(self, principal: Principal, rule: FilterRule) -> FilterRule:
        """Add a filter behind the others; it holds when this returns.

        Raises:
            BadInput: the filter cannot be; the sentence says why.
        """
        must_be_owner(principal)
        checked = rule.checked()

        def added(was: RuleSet) -> RuleSet:
            if len(was.rules) >= MAX_RULES:
                raise BadInput(f"There are {MAX_RULES} filters: remove one that is not needed any more.")
            made = was.made + 1
            new = msgspec.structs.replace(checked, id=f"f{made}")
            return msgspec.structs.replace(was, made=made, rules=(*was.rules, new))

        _, now = await self._change(principal.owner, added)
        return now.rules[-1]

    async def remove(self, principal: Principal, id: str) -> FilterRule:
        """Remove a filter.

        Raises:
            UnknownId: there is none of this id.
        """
        must_be_owner(principal)

        def without(was: RuleSet) -> RuleSet:
            kept = tuple(rule for rule in was.rules if rule.id != id)
            if len(kept) == len(was.rules):
                raise UnknownId(f"There is no filter {id[:40]!r}: `bethink vault filters list` shows them.")
            return msgspec.structs.replace(was, rules=kept)

        was, _ = await self._change(principal.owner, without)
        return next(rule for rule in was.rules if rule.id == id)

    async def reset(self, principal: Principal) -> int:
        """Remove all filters; how many there were."""
        must_be_owner(principal)
        was, _ = await self._change(principal.owner, lambda was: msgspec.structs.replace(was, rules=()))
        return len(was.rules)

    @retry_conflicts
    async def _change(self, owner: str, change: Callable[[RuleSet], RuleSet]) -> tuple[RuleSet, RuleSet]:
        """What held before the change, and what holds now."""
        (found,) = await self.store.get(RULE_SETS, owner, [_ONE])
        was = NO_RULES if found is None else found.record
        now = msgspec.structs.replace(change(was), version=was.version + 1)
        await self.store.commit(owner, [Put(RULE_SETS, now, if_version=found.version if found else 0)])
        for tell in self.on_change:
            tell(owner, was, now)
        return was, now


def must_be_owner(principal: Principal) -> None:
    """Let only the owner's own eyes see and change filters: whom they restrain could lift them.

    Raises:
        NotAllowed: it is somebody else.
    """
    if principal.audience not in OWN_EYES:
        raise NotAllowed("Filters are seen and changed on the owner's own page and in their terminal only.")


def is_under(path: str, pattern: str) -> bool:
    """Whether a page is meant by a pattern of paths.

    One without a slash is about a file or folder of that name, wherever it is; a
    folder is about all that lies in it; `.md` may be left out. Case makes no difference.
    """
    names = twin_key(path).split("/")
    wanted = twin_key(pattern).split("/")
    if len(wanted) == 1:
        wanted = ["**", *wanted]
    stems = [*names[:-1], names[-1].removesuffix(_ENDING)]
    return any(
        _fits(some, wanted) for some in (names, stems, *(names[:count] for count in range(1, len(names))))
    )


def _fits(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether names fit patterns, `**` standing for any number of them."""
    reached = {0}
    for name in (*names, None):
        # `**` may stand for nothing.
        for place in sorted(reached):
            at = place
            while at < len(wanted) and wanted[at] == "**":
                at += 1
                reached.add(at)
        if name is None:
            break
        reached = {
            place + (wanted[place] != "**")
            for place in reached
            if place < len(wanted) and (wanted[place] == "**" or fits(name, wanted[place]))
        }
    return len(wanted) in reached


def fits(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern in which only `*` and `?` are signs; both in one case."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def _check(name: str, value: str, most: int) -> None:
    if len(value) > most or "\0" in value or ("\n" in value.strip() and name != "text"):
        raise BadInput(f"The {name} of a filter is one line of at most {most} characters.")
