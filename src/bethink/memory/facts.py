"""The record of a fact, what a new one must be, and the log of their changes.

A new fact holds no secret: what is recalled goes to the model's provider and onto screens, and a secret
belongs into a password manager. Precision comes first: phone numbers, birthdays, order numbers, ISBNs and
UUIDs are none. The log names facts by ids alone, and takes back changes of many at once.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import msgspec

from bethink.assertions import OWNER, about_of
from bethink.errors import BadInput, HoldsSecret, TooLarge
from bethink.feature import Source
from bethink.masking import has_check_digit
from bethink.search.analysis import word_set
from bethink.store import Collection, Record
from bethink.telemetry import KEY_FORMS

_Finder = Callable[[str], bool]


def secret_in(text: str) -> str | None:
    """What kind of secret a text holds, in words; None where it holds none."""
    return next((kind for kind, holds in _KINDS if holds(text)), None)


_PRIVATE = re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----")
_NAMED_KEY = re.compile(
    r"\b(?:(?:api|access|secret|auth|private|encryption|licen[cs]e|client|session|bearer)[ _-]?"
    r"(?:key|token|secret)s?|(?:access|refresh|bearer|auth|bot) token)\b"
    r"(?: for [\w .-]{1,40}?)?\s*(?:is|are|was|:|=|->)?\s*['\"`]?(?P<value>[\w.+/=~-]{8,})",
    re.IGNORECASE,
)
_PASSWORD = re.compile(
    r"\b(?:pass(?:word|code|phrase)|pwd|wi-?fi key)s?\b(?: (?:for|to|of|on|at) [\w .'@-]{1,40}?)?"
    r"(?:\s*(?::|=|->)\s*|\s+(?:is|was|are)(?: now| still)?(?: set to)?:?\s+)['\"`]?(?P<value>\S.*)",
    re.IGNORECASE,
)
_PIN = re.compile(
    r"\bpin(?: code| number)?\b(?: (?:for|to|of|on) [\w .'-]{1,40}?)?\s*(?:is|was|:|=)\s*['\"]?\d{4,8}\b",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    r"\b(?:seed|recovery|mnemonic|backup) (?:phrase|words)\b[^:]{0,40}?(?:\bis\b|\bare\b|:)\s*"
    r"(?:[a-z]{3,8}[ ,]+){7,}[a-z]{3,8}",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\b(?:(?:one[- ]time|verification|confirmation|log-?in|sign-in|authentication|authenticator|2fa|mfa"
    r"|two[- ]factor|sms|otp|security) (?:code|password|passcode|pin|token)|otp)\b(?: for [\w .-]{1,30}?)?"
    r"\s*(?:is|was|:|=)?\s*['\"]?\d(?:[ -]?\d){3,7}\b(?![/.-]\d)",
    re.IGNORECASE,
)
_CVV = re.compile(r"\b(?:cvv|cvc|cvv2|card security code)\b\D{0,12}\d{3,4}\b", re.IGNORECASE)
_SOCIAL = re.compile(
    r"\b(?:ssn|social security(?: number)?)\b\D{0,12}\d{3}[- ]?\d{2}[- ]?\d{4}\b", re.IGNORECASE
)
_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,40}://[^\s:/@]+:[^\s:/@]+@", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\w+.,-])\d(?:[ -]?\d){12,18}(?![\w-]|[.,]\d)")
_NO_CARD = re.compile(
    r"\b(?:order|tracking|invoice|ticket|booking|reservation|parcel|serial|imei|isbn|ean|gtin|phone|mobile|tel"
    r"|fax|barcode|shipment|reference|case|meter|member(?:ship)?|loyalty|library)\b[^\d]*$",
    re.IGNORECASE,
)
_CARDS = (
    (re.compile(r"4"), frozenset((13, 16, 19))),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), frozenset((16,))),
    (re.compile(r"3[47]"), frozenset((15,))),
    (re.compile(r"6(?:011|4[4-9]|5|2)|35(?:2[89]|[3-8])"), frozenset(range(16, 20))),
    (re.compile(r"3(?:0[0-5]|[689])"), frozenset((14,))),
)
"""Beginnings and lengths of the numbers of the large card networks (ISO/IEC 7812)."""
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?!\w)")
_NOT_SAID = word_set("""
    a an the in on at not no very too quite so same different stored saved kept written changed expired
    strong weak long short safe secure unsafe secret private hidden unknown forgotten lost required needed
    wrong right correct reset managed protected encrypted shared public easy hard old new okay fine known my
    his her their our your it that this with by from for under inside never always something what only
    important essential visible hashed empty blank disabled enabled case one being been set due compromised
    leaked reused unique complicated simple missing optional mandatory
""")
_LEAST_PASSWORD = 4


def _names_key(text: str) -> bool:
    return any(
        any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
        for value in (match["value"] for match in _NAMED_KEY.finditer(text))
    )


def _tells_password(text: str) -> bool:
    """A password, not what is said of one ("my password is in the safe")."""
    for match in _PASSWORD.finditer(text):
        words = [word.strip("'\"`.,;!?()") for word in match["value"].split()]
        if len(words[0]) < _LEAST_PASSWORD or words[0].casefold() in _NOT_SAID:
            continue
        # One plain word with more behind it is what somebody says of a password.
        if len(words) == 1 or not words[0].isalpha() or not words[0].islower() or "phrase" in match.group():
            return True
    return False


def _has_card(text: str) -> bool:
    for match in _DIGITS.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        is_issued = any(begins.match(digits) and len(digits) in lengths for begins, lengths in _CARDS)
        if is_issued and has_check_digit(digits) and not _NO_CARD.search(text, 0, match.start()):
            return True
    return False


def _has_iban(text: str) -> bool:
    """Checked by remainder of 97 (ISO 7064, as ISO 13616 has it)."""
    for match in _IBAN.finditer(text):
        number = match.group().replace(" ", "")
        for end in range(len(number), _LEAST_IBAN - 1, -1):
            moved = number[4:end] + number[:4]
            if int("".join(str(int(char, 36)) for char in moved)) % 97 == 1:
                return True
    return False


_LEAST_IBAN = 15

_KINDS: tuple[tuple[str, _Finder], ...] = (
    ("a private key", lambda text: _PRIVATE.search(text) is not None),
    ("an API key or token", lambda text: KEY_FORMS.search(text) is not None or _names_key(text)),
    ("a password", lambda text: _tells_password(text) or _IN_URL.search(text) is not None),
    ("a PIN", lambda text: _PIN.search(text) is not None),
    ("a recovery phrase", lambda text: _PHRASE.search(text) is not None),
    ("a one-time code", lambda text: _CODE.search(text) is not None),
    ("a card number", lambda text: _has_card(text) or _CVV.search(text) is not None),
    ("a bank account number (IBAN)", _has_iban),
    ("a social security number", lambda text: _SOCIAL.search(text) is not None),
)


CATEGORIES = ("preferences", "personal_info", "goals", "plans", "context", "general")
"""The documented categories (spec 002, "StoreMemoryTool"); others are accepted."""

MAX_CONTENT_CHARS = 8_000
MAX_TOPICS = 32
MAX_NAMED = 32
MAX_TOPIC_CHARS = 64
_MAX_SOURCES = 100
_MAX_RAW_CHARS = 4 * MAX_CONTENT_CHARS
_MAX_RAW_TOPICS = 1_000
"""Beyond these nothing is put in order before it is refused."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u180e\u200b\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
    "|(?<![\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
)
"""Soft hyphens, fillers, direction overrides, halves of surrogate pairs, tags; and
variation selectors, but for the one that tells how an ideograph of a name is written."""

State = Literal["active", "suggested", "superseded", "corrected", "merged", "retracted"]
"""`suggested` waits for its owner's review and is not recalled; `superseded` is past truth, `corrected` was
never true; `merged` is a duplicate that was taken into the fact `superseded_by`. The last three are never
found again."""
Trust = Literal["owner", "untrusted"]


ChangeKind = Literal[
    "added", "merged", "superseded", "corrected", "suggested", "retracted", "restored", "forgotten"
]


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """Why a fact may not hold: shown wherever the fact is.

    `contradicts`: `fact` says something else of the same. `depends`: `fact`, on
    which it rests, was corrected or taken back. `unclear`: nobody can tell.
    """

    kind: Literal["contradicts", "depends", "unclear"]
    fact: str | None = None
    at: int = 0


class EarlierShape(msgspec.Struct, frozen=True, kw_only=True):
    """What a fact was before it was put anew, so that this can be taken back."""

    content: str
    category: str
    importance: float
    topics: tuple[str, ...]
    sources: tuple[Source, ...]
    trust: Trust
    pinned: bool
    valid_from: int | None = None
    valid_until: int | None = None
    told_about: str | None = None
    depends_on: tuple[str, ...] | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """What of a fact it puts back; None is what was not kept of old records."""
        kept = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in kept.items() if name != "depends_on" or value is not None}


class Fact(Record, frozen=True, kw_only=True):
    """One thing known. Times are microseconds UTC, importance is 0..1.

    `valid_from` and `valid_until` bound when it was true in the world,
    `created_at` is when it was learnt. `digest` finds the very same words
    again; `weight` is the importance in thousandths, 1,000 more for a pinned
    fact, by which what is always recalled is found. `legacy_id` is the integer
    id of a memory file of spec 000. `before` is what the last merge or edit
    changed in place. `slot` names what only one fact at a time can say, such as
    the owner's home. A fact rests on those that it `depends_on`; duplicates in
    its `merges` were taken into it. It took the place of those that it
    `supersedes`, which were true until then, and of those that it `corrects`,
    which never were; a suggestion will, once it is accepted. `told_at` of a
    correction is when what it corrects was learnt: it holds from then on,
    where nobody gave a date. `told_about` is whom it is about, if somebody said so.
    """

    content: str
    digest: str
    weight: int
    created_at: int
    state: State = "active"
    category: str = "general"
    importance: float = 0.5
    topics: tuple[str, ...] = ()
    valid_from: int | None = None
    valid_until: int | None = None
    sources: tuple[Source, ...] = ()
    trust: Trust = "owner"
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    depends_on: tuple[str, ...] = ()
    project: str | None = None
    pinned: bool = False
    legacy_id: int | None = None
    before: EarlierShape | None = None
    doubts: tuple[Doubt, ...] = ()
    slot: str | None = None
    merges: tuple[str, ...] = ()
    corrects: tuple[str, ...] = ()
    told_at: int | None = None
    told_about: str | None = None

    @property
    def about(self) -> str:
        """Whom or what it is about: as somebody said, else as its words tell. A key; see `about_of`."""
        return self.told_about or about_of(self.content)

    @property
    def earlier(self) -> tuple[str, ...]:
        """The facts whose place it took, whatever became of them since."""
        return self.merges if self.state == "suggested" else (*self.supersedes, *self.corrects, *self.merges)

    @property
    def derived(self) -> int | None:
        """1 for a fact that depends on others: a key, by which these are found."""
        return 1 if self.depends_on else None

    @property
    def doubted(self) -> int | None:
        """1 for a fact that may not hold: a key, by which these are found."""
        return 1 if self.doubts else None

    @property
    def statement(self) -> NewFact:
        """The same as somebody would state it: what a correction starts from."""
        return NewFact(
            content=self.content,
            category=self.category,
            importance=self.importance,
            topics=self.topics,
            project=self.project,
            pinned=self.pinned,
            depends_on=self.depends_on,
            about=self.told_about,
        )


FACTS = Collection(
    "facts",
    Fact,
    (
        "state",
        "category",
        "digest",
        "weight",
        "created_at",
        "project",
        "slot",
        "derived",
        "doubted",
        "about",
    ),
    scans=(
        ("created_at",),
        ("state", "created_at"),
        ("state", "weight"),
        ("digest",),
        ("category", "created_at"),
        ("slot", "state"),
        ("derived", "state"),
        ("doubted", "created_at"),
        ("about", "created_at"),
    ),
    schema=2,
)
"""Schema 2 knows corrected facts and whom they are about; records of schema 1 are read as they are."""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to be added, as somebody states it.

    `at` is when it was said: relative dates are resolved against it, None is now.
    `trust` None is that of the source. `suggested` leaves it to the owner's review.
    Its author may know how it stands to other facts, by their ids: they say the
    same in other words (`repeats`), were true until now (`replaces`), or never
    were (`corrects`).
    """

    content: str
    category: str = "general"
    importance: float = 0.5
    topics: tuple[str, ...] = ()
    source: Source = field(default_factory=lambda: Source(kind="person"))
    project: str | None = None
    pinned: bool = False
    valid_from: int | None = None
    valid_until: int | None = None
    depends_on: tuple[str, ...] = ()
    trust: Trust | None = None
    suggested: bool = False
    at: int | None = None
    repeats: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    corrects: tuple[str, ...] = ()
    about: str | None = None

    @property
    def links(self) -> tuple[str, ...]:
        """The facts to which it says how it stands."""
        return *self.repeats, *self.displaced

    @property
    def displaced(self) -> tuple[str, ...]:
        """The facts whose place it is to take."""
        return *self.replaces, *self.corrects

    @property
    def trusted(self) -> Trust:
        """Whose word it is."""
        # A tool's word is not the owner's own, and a file's may be anybody's.
        return self.trust or ("untrusted" if self.source.kind in {"tool", "import"} else "owner")

    @property
    def is_suggested(self) -> bool:
        """Whether it waits for its owner's review: as it was asked, or since it is not the owner's word.

        What an owner imports they want recalled, whoever wrote it.
        """
        return self.suggested or (self.trusted == "untrusted" and self.source.kind != "import")

    def checked(self) -> NewFact:
        """The same with white space and control characters put in order.

        Raises:
            BadInput: no content, importance outside 0..1 or unfit topics.
            TooLarge: the content is too long for one fact.
            HoldsSecret: it holds a password, a key, a card number or the like.
        """
        if len(self.content) > _MAX_RAW_CHARS:
            raise _too_long(len(self.content))
        content = clean(self.content)
        if not content:
            raise BadInput("The memory has no content: say in a sentence what to remember.")
        if len(content) > MAX_CONTENT_CHARS:
            raise _too_long(len(content))
        if not 0 <= self.importance <= 1:
            raise BadInput(f"importance is {self.importance}: give a number from 0 to 1.")
        if len(self.depends_on) > MAX_NAMED:
            raise BadInput(f"A memory depends on at most {MAX_NAMED} others.")
        _check_links(self)
        category = category_of(self.category)
        topics = _checked_topics(self.topics)
        about = checked_about(self.about)
        if secret := secret_in(content) or secret_in(" ".join((*topics, about or ""))):
            raise HoldsSecret(secret)
        return replace(self, content=content, category=category, topics=topics, about=about)


@dataclass(frozen=True, slots=True)
class FactChange:
    """What became of a fact. `undo` is the token that takes the change back.

    `others` are facts that the change superseded or put in doubt, as they are
    now. A change of many facts shows the first of them, and their `count`.
    `near` are the facts in use that are nearest to a new one, the nearest first.
    """

    fact: Fact
    change: ChangeKind
    undo: str | None = None
    others: tuple[Fact, ...] = ()
    count: int = 1
    near: tuple[Fact, ...] = ()


def _check_links(new: NewFact) -> None:
    links = new.links
    if len(links) > MAX_NAMED:
        raise BadInput(f"A memory takes the place of at most {MAX_NAMED} others.")
    if twice := next((id for id in links if links.count(id) > 1 or id in new.depends_on), None):
        raise BadInput(
            f"{twice[:40]!r} is named twice: name a memory under one of repeats, replaces, corrects and "
            "depends_on. Nothing was changed."
        )


def checked_about(about: str | None) -> str | None:
    """Whom a fact is about, as it is kept; None if that is left to its words.

    Raises:
        BadInput: it is too long for a name.
    """
    name = clean((about or "")[:_MAX_RAW_CHARS])
    if len(name) > MAX_TOPIC_CHARS:
        raise BadInput(f"about is a name of at most {MAX_TOPIC_CHARS} characters.")
    return OWNER if name.casefold() in _OWNER_NAMES else name or None


def about_by_model(about: str) -> str | None:
    """The same as a model names it: most say "user" of all, then the fact's own words tell."""
    name = checked_about(about)
    return None if name == OWNER else name


_OWNER_NAMES = frozenset((OWNER, "user", "the user", "me", "myself", "self"))


def clean(text: str) -> str:
    """One line in Unicode form NFC, without control characters, white space folded.

    Kept: the joiners of emoji and of Indic and Persian writing, and the marks
    of direction. Dropped: overrides of direction and characters that nobody
    sees, in which text can be hidden from a person and shown to a model.
    """
    kept = _INVISIBLE.sub("", _CONTROL.sub(" ", text))
    return " ".join(unicodedata.normalize("NFC", kept).split())


def category_of(text: str) -> str:
    """A category in its one form: small letters, `_` for spaces."""
    return clean(text[:MAX_CONTENT_CHARS]).lower().replace(" ", "_")[:MAX_TOPIC_CHARS] or "general"


def digest(content: str) -> str:
    """Equal for two contents that say the very same, whatever their case and closing marks."""
    said = clean(content).casefold().rstrip(".!… ")
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def weight(importance: float, *, pinned: bool) -> int:
    """A fact's place among those that are always recalled; see `Fact`."""
    return round(importance * 1000) + (1000 if pinned else 0)


def merged(known: Fact, new: NewFact, now: int, *, is_fuller: bool = False) -> Fact:
    """A fact that was said once more, with the sources of both.

    The owner's restatement brings its importance, if it is higher, its topics
    and time too, and its words where it `is_fuller`; the words that give way
    stay with the sources that said them. Others' add themselves as a source only.
    """
    source = msgspec.structs.replace(new.source, at=new.source.at or new.at or now)
    if new.trusted == "untrusted" and known.trust == "owner":
        return anew(known, sources=_with_source(known.sources, source))
    sources = known.sources
    if is_fuller:
        sources = tuple(msgspec.structs.replace(one, said=one.said or known.content) for one in known.sources)
    return anew(
        known,
        content=new.content if is_fuller else known.content,
        category=new.category if known.category == "general" else known.category,
        importance=max(known.importance, new.importance),
        topics=tuple(dict.fromkeys((*known.topics, *new.topics)))[:MAX_TOPICS],
        sources=_with_source(sources, source),
        trust=new.trusted,
        pinned=known.pinned or new.pinned,
        valid_from=known.valid_from if new.valid_from is None else new.valid_from,
        valid_until=known.valid_until if new.valid_until is None else new.valid_until,
    )


def taken_in(kept: Fact, gone: Sequence[Fact]) -> Fact:
    """The fact with what its duplicates bring: sources, topics, importance, pin and time."""
    sources = [*kept.sources]
    for fact in gone:
        said = None if fact.content == kept.content else fact.content
        sources += [msgspec.structs.replace(source, said=source.said or said) for source in fact.sources]
    topics = dict.fromkeys(topic for fact in (kept, *gone) for topic in fact.topics)
    categories = [fact.category for fact in (kept, *gone) if fact.category != "general"]
    changed = anew(
        kept,
        category=categories[0] if categories else kept.category,
        importance=max(fact.importance for fact in (kept, *gone)),
        topics=tuple(topics)[:MAX_TOPICS],
        sources=tuple(dict.fromkeys(sources))[:_MAX_SOURCES],
        pinned=any(fact.pinned for fact in (kept, *gone)),
        valid_from=next((fact.valid_from for fact in (kept, *gone) if fact.valid_from is not None), None),
        valid_until=next((fact.valid_until for fact in (kept, *gone) if fact.valid_until is not None), None),
    )
    return msgspec.structs.replace(changed, merges=(*kept.merges, *(fact.id for fact in gone)))


def said_at(fact: Fact) -> int:
    """When it was last said."""
    return max((source.at for source in fact.sources), default=0) or fact.created_at


def speaks_of(known: Fact, new: NewFact, now: int) -> bool:
    """Whether what is said now can be of the same time as what is known; without dates it is of today.

    What is over and is said again, or what is yet to come, is another fact.
    """
    if new.valid_from is None and new.valid_until is None:
        return holds(known, new.source.at or new.at or now)
    begun = known.valid_from if new.valid_from is None else new.valid_from
    ended = known.valid_until if new.valid_until is None else new.valid_until
    return begun is None or ended is None or begun < ended


def holds(fact: Fact, moment: int) -> bool:
    """Whether it is so at a moment, as far as its dates say."""
    begun = fact.valid_from is None or fact.valid_from <= moment
    return begun and (fact.valid_until is None or fact.valid_until > moment)


def corrected(known: Fact, correction: NewFact) -> NewFact:
    """The correction, with the dates of what it corrects where it has none that speak against them."""
    begun = known.valid_from if correction.valid_from is None else correction.valid_from
    ended = known.valid_until if correction.valid_until is None else correction.valid_until
    if begun is not None and ended is not None and begun >= ended:
        return correction
    return replace(correction, valid_from=begun, valid_until=ended)


def in_place_of(old: Sequence[Fact], new: NewFact) -> NewFact:
    """A new fact with what those say beside whose place it takes; a correction with their dates, too."""
    for known in old:
        new = replace(
            new,
            category=known.category if new.category == "general" else new.category,
            importance=max(known.importance, new.importance),
            topics=new.topics or known.topics,
            project=new.project or known.project,
            pinned=new.pinned or known.pinned,
            about=new.about or known.told_about,
        )
        if known.id in new.corrects:
            new = corrected(known, new)
    return new


def anew(known: Fact, **changes: object) -> Fact:
    """The fact with changes of what `EarlierShape` keeps, and what it was."""
    was = EarlierShape(**{name: getattr(known, name) for name in EarlierShape.__struct_fields__})
    changed = msgspec.structs.replace(known, **changes, before=was)
    return msgspec.structs.replace(
        changed,
        digest=digest(changed.content),
        weight=weight(changed.importance, pinned=changed.pinned),
    )


def has_source(sources: Sequence[Source], source: Source) -> bool:
    """Whether the same message or import is among them."""
    return any((one.kind, one.id, one.message) == (source.kind, source.id, source.message) for one in sources)


def _with_source(sources: Sequence[Source], source: Source) -> tuple[Source, ...]:
    if has_source(sources, source):
        return tuple(sources)
    # Where it was first learnt stays, whatever number of times it was said since.
    return (*sources[:1], *sources[1:][-(_MAX_SOURCES - 2) :], source)


def _too_long(characters: int) -> TooLarge:
    return TooLarge(
        f"The memory has {characters:,} characters; a fact has at most {MAX_CONTENT_CHARS:,}. "
        "Store it as several facts."
    )


def _checked_topics(topics: tuple[str, ...]) -> tuple[str, ...]:
    if len(topics) > _MAX_RAW_TOPICS or any(len(topic) > MAX_CONTENT_CHARS for topic in topics):
        raise BadInput(f"Topics are at most {MAX_TOPICS} words of at most {MAX_TOPIC_CHARS} characters.")
    kept = dict.fromkeys(topic for topic in (clean(topic) for topic in topics) if topic)
    if len(kept) > MAX_TOPICS:
        raise BadInput(f"There are {len(kept):,} topics; a fact has at most {MAX_TOPICS}.")
    if too_long := next((topic for topic in kept if len(topic) > MAX_TOPIC_CHARS), None):
        raise BadInput(f"The topic {too_long[:20]!r}… is longer than {MAX_TOPIC_CHARS} characters.")
    return tuple(kept)


MARK: Final = "fact-"
"""How the id of a fact's line begins."""
_MARK_BYTES: Final = 10
_MARK_CHARS: Final = 10


def mark_of(fact: str) -> str:
    """The id of the line that shows a fact from its beginning: short, and the same wherever it is made."""
    digest = hashlib.blake2b(fact.encode(), digest_size=_MARK_BYTES).digest()
    return MARK + base64.b32encode(digest).decode().lower()[:_MARK_CHARS]


_DOUBTS = {
    "contradicts": "contradicted by another memory",
    "depends": "based on something that has changed",
    "unclear": "it is not certain",
}


def doubt_of(fact: Fact) -> str | None:
    """Why the fact may not hold, in a few words; None if nothing speaks against it."""
    return _DOUBTS[fact.doubts[0].kind] if fact.doubts else None


StepKind = ChangeKind | Literal["imported", "consolidated", "reflected", "expired", "undone"]


class FactStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a step did to one fact.

    `version` is what it made. Before it the fact was in the state `was`, None
    where there was none, superseded `by` another, with other duplicates in its
    `merges`; `in_place` where its `before` tells the rest. It is `objected` to by these facts since.
    """

    id: str
    version: int
    was: State | None = None
    by: str | None = None
    merges: tuple[str, ...] = ()
    in_place: bool = False
    objected: tuple[str, ...] = ()


class LogStep(Record, frozen=True, kw_only=True):
    """One change. `at` is microseconds UTC; `undo` the token that takes it back.

    Steps with the same `undo` belong together where it names many facts' change.
    """

    at: int
    change: StepKind
    undo: str | None = None
    facts: tuple[FactStep, ...] = ()


STEPS = Collection(
    "memory_steps",
    LogStep,
    ("at", "change", "undo"),
    scans=(("at",), ("change", "at"), ("undo", "at")),
    searchable=False,
)


def import_token(source: str) -> str:
    """The token that takes back what the import of this name added."""
    return f"import:{source}"
