"""May a call run by itself? `agent/loop` asks for every call, before it is made.

What the owner's own tools read and write is theirs; what destroys asks. What
leaves this machine asks as soon as somebody else's words stand in the context,
since those may be what asked for it: unless all that decides whom it reaches comes
from the owner, or from a listing of theirs, and what it tells is not private.
Detection of attacks plays no part here. The owner's standing decisions (`ToolRules`) and whose words
stand in a run (`evidence_of`) are here, too.

Private words are looked for plain, and as a hidden order would disguise them (`hidden_in`): backwards, in
fragments (within a text, or over several calls), inside longer words, and encoded: rotated letters, base64,
base32, hexadecimal, percent signs, numbers of characters. What else a model could agree upon with an
attacker is not: this makes leaking harder, and the rule that nothing goes to an address that the owner did
not give stays below it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote_plus

from bethink.agent.tool_selection import reads
from bethink.errors import JustForgotten
from bethink.files import Files, text_of
from bethink.messages import AssistantMessage, Attachment, ToolMessage, UserMessage
from bethink.redaction import COMMON_WORDS
from bethink.search.analysis import BASE_FORMS
from bethink.store import Collection, Delete, Put, Record, Scan, Store, retry_conflicts
from bethink.tool import Evidence, NewFile, Tool, ToolContext, leaves
from bethink.tools.memory import listed_memories

if TYPE_CHECKING:
    from bethink.agent.request import RunRequest
    from bethink.agent.toolbox import Prepared, Toolbox
    from bethink.clock import Clock
    from bethink.principal import Principal


_PART: Final = re.compile(r"[^\W_]+")
_LEAST_CHARS: Final = 3
_INSIDE_CHARS: Final = 5
"""Shorter words stand inside others by chance."""
_FRAGMENTED_CHARS: Final = 4
_LONGEST_CHARS: Final = 25
"""Longer words are found by themselves only."""
_ROTATED_CHARS: Final = 7
"""Shorter words are one another's, rotated, by chance."""
_SHORT_CHARS: Final = 2_000
_MOST_CHARS: Final = 20_000
"""Of what leaves: what is longer is not decoded."""
_MOST_LAYERS: Final = 2
"""Encodings within one another."""
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,6}")
_NUMBERS: Final = re.compile(r"(?:\b(?:0[xX])?[0-9A-Fa-f]{2,8}\b[\s,;.\\ux]*){3,}")
_NUMBER: Final = re.compile(r"\b(?:0[xX])?[0-9A-Fa-f]{2,8}\b")
_LETTERS: Final = 26
_ROT13: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_GROUP: Final = 8
"""Characters that stand for whole bytes together: four of base64, eight of base32."""


def words_in(texts: Iterable[str]) -> set[str]:
    """The words of texts that may tell something, in one case: without those that everybody uses."""
    words = {word for text in texts for word in _WORDS.findall(text.casefold()) if len(word) >= _LEAST_CHARS}
    return {word for word in words - COMMON_WORDS if BASE_FORMS.get(word) not in COMMON_WORDS}


def hidden_in(texts: Sequence[str], private: set[str], sent: Sequence[str] = ()) -> str | None:
    """A private word that the texts hold, in whatever form, alone or with what was `sent` before; or None.

    Takes some 50 ms for texts of 2,000 characters and thousands of private words.
    """
    if not private:
        return None
    sought = _Sought(frozenset(private), frozenset(map(_steps, private)) - {()})
    size = sum(map(len, texts))
    layers = _MOST_LAYERS if size <= _MOST_CHARS else 0
    seen: set[str] = set()
    for text in texts:
        for form in _forms(text, layers, is_short=size <= _SHORT_CHARS):
            if form not in seen and (found := sought.found(form)) is not None:
                return found
            seen.add(form)
    now, before = _fragments(texts), _fragments(sent)
    return next((word for word in sorted(private) if _is_spelled(word, now, now | before)), None)


@dataclass(frozen=True, slots=True)
class _Sought:
    """Private words, and the steps between their letters, which moving along the alphabet keeps."""

    words: frozenset[str]
    steps: frozenset[tuple[int, ...]]

    def found(self, form: str) -> str | None:
        """A word in the form: by itself, within another, backwards, or with its letters rotated."""
        for token in {*_WORDS.findall(form), *_PART.findall(form)}:
            for said in (token, token[::-1]):
                if said in self.words:
                    return said
                if (inside := self._within(said)) is not None:
                    return inside
                if said.translate(_ROT13) in self.words and len(said) >= _INSIDE_CHARS:
                    return said.translate(_ROT13)
                if len(said) >= _ROTATED_CHARS and _steps(said) in self.steps:
                    return said
        return None

    def _within(self, token: str) -> str | None:
        places = range(len(token) - _INSIDE_CHARS + 1)
        parts = (token[at : at + size] for at in places for size in range(_INSIDE_CHARS, _LONGEST_CHARS))
        return next((part for part in parts if part in self.words), None)


def _steps(word: str) -> tuple[int, ...]:
    """From letter to letter; of what is not written in ASCII letters alone nothing."""
    if not (word.isascii() and word.isalpha()):
        return ()
    return tuple((ord(after) - ord(before)) % _LETTERS for before, after in pairwise(word))


def _forms(text: str, layers: int, *, is_short: bool) -> Iterator[str]:
    """The text in one case, and what it says when it is decoded; of a short one also with blanks within."""
    yield text.casefold()
    if not layers:
        return
    if (plain := unquote_plus(text)) != text:
        yield from _forms(plain, layers - 1, is_short=is_short)
    encodings = {*_ENCODED.findall(text)}
    if is_short:
        # Blanks may stand within what is encoded, and other words right before it.
        joined = _ENCODED.findall("".join(text.split()))
        encodings |= {one[skipped:] for one in joined for skipped in range(_GROUP)}
    for encoded in encodings:
        for decode in _DECODERS:
            decoded = _decoded(encoded, decode)
            yield from _forms(decoded, layers - 1 if decoded.isprintable() else 0, is_short=False)
    for numbers in _NUMBERS.findall(text):
        for base in (10, 16, 8, 2):
            if (decoded := _spelled(numbers, base)) is not None:
                yield from _forms(decoded, layers - 1, is_short=False)


def _base64(text: str) -> bytes:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


def _base32(text: str) -> bytes:
    plain = text.rstrip("=").upper()
    return base64.b32decode(plain + "=" * (-len(plain) % 8))


_DECODERS: Final[tuple[Callable[[str], bytes], ...]] = (_base64, _base32, bytes.fromhex)


def _decoded(text: str, decode: Callable[[str], bytes]) -> str:
    try:
        return decode(text).decode("utf-8", "ignore")
    except (ValueError, binascii.Error):
        return ""


def _spelled(numbers: str, base: int) -> str | None:
    try:
        return "".join(chr(int(number, base)) for number in _NUMBER.findall(numbers))
    except (ValueError, OverflowError):
        return None


def _fragments(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(part for text in texts for part in _PART.findall(text.casefold()[:_MOST_CHARS]))


def _is_spelled(word: str, now: frozenset[str], all_fragments: frozenset[str]) -> bool:
    """Whether fragments make a word: one of them leaves now, and not all are usual words."""
    if len(word) < _FRAGMENTED_CHARS:
        return False
    for target in (word, word[::-1]):
        if not any(target[:size] in all_fragments for size in range(1, len(target))):
            continue
        # For each place: whether it is reached with a fragment of now, and with one that is no usual word.
        reached: dict[int, set[tuple[bool, bool]]] = {0: {(False, False)}}
        for start in range(len(target)):
            for end in range(start + 1, len(target) + 1):
                part = target[start:end]
                if start in reached and len(part) < len(target) and part in all_fragments:
                    marks = (part in now, part not in COMMON_WORDS)
                    reached.setdefault(end, set()).update(
                        (was[0] or marks[0], was[1] or marks[1]) for was in reached[start]
                    )
        if (True, True) in reached.get(len(target), ()):
            return True
    return False


Decision = Literal["auto", "ask", "deny"]
READ_ONLY = "This key may only read."
NO_WRITE = "This key may not change anything: it does not have the scope write."
NO_READ = "This key may not read: it does not have the scope read."
_FINAL = "This cannot be undone."
_ASKED = "You chose to be asked about this tool."
_SENDS = "This conversation contains content from outside, and this call would send out of this machine: {}"
_TELLS = "This conversation contains content from outside, and this call would reveal what only you know: {}"
_MAX_SHOWN = 200
_MANY = 3
"""So many calls of one message that change records are a bulk change: a person looks at it first."""
_BULK = "This would change {} records at once."
_BREAKS = re.compile(r"[\s<>\"'`|()\[\]{}]+")
_WORDS = re.compile(r"\w+")
_LINK = re.compile(
    # Each begins where a run of its characters does: sought from within, long runs take minutes.
    r"(?<!\w)\w++://\S+|(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w-])(?<![\w-]\.)(?:[\w-]++\.)+[^\W\d_]{2,}(?:/\S*)?"
)
_TELLING = 4
"""Shorter texts stand in many a sentence by chance: alone they do not show what the owner asked for."""


@dataclass(frozen=True, slots=True)
class ApprovalVerdict:
    """`auto` runs it, `ask` waits for the owner, `deny` tells the model no. `reason` is for people."""

    decision: Decision
    reason: str = ""


AUTO = ApprovalVerdict("auto")


@dataclass(slots=True)
class Policy:
    """Judges calls. `settings` are this Bethink's own rules, by a tool's name or pattern, or by effect."""

    rules: ToolRules
    toolbox: Toolbox
    settings: Mapping[str, Decision]

    async def verdicts(self, request: RunRequest, calls: Sequence[Prepared]) -> list[ApprovalVerdict]:
        """A verdict over each call, in order."""
        if not calls:
            return []
        own = await self.rules.among(request.principal, [call.tool for call in calls])
        changing = sum(call.tool.critical is not None for call in calls)
        return [
            judge(
                call.tool,
                call.arguments,
                request.principal,
                rule=self._rule(call.tool, own),
                changing=changing,
                evidence=partial(self._evidence, request, calls, call),
            )
            for call in calls
        ]

    def _evidence(self, request: RunRequest, calls: Sequence[Prepared], call: Prepared) -> Evidence:
        """Whose words stand in the run, and what has left, or is about to leave, beside this call."""
        beside = [one.call for one in calls if one is not call]
        before = [one for said in request.messages for one in getattr(said, "tool_calls", ())]
        sent = {one.id: one for one in (*before, *beside) if one.id != call.call.id}
        texts = (one.arguments for one in sent.values() if self.toolbox.effect_of(one.name) == "egress")
        return replace(evidence_of(request), sent=tuple(texts))

    async def verdict(self, principal: Principal, call: Prepared) -> ApprovalVerdict:
        """A verdict over a call that another program makes for its owner: of its context nothing is known."""
        own = await self.rules.among(principal, [call.tool])
        return judge(call.tool, call.arguments, principal, rule=self._rule(call.tool, own))

    def postponed(self, call: Prepared, reason: str) -> ApprovalVerdict:
        """A verdict over a call that found out, as it ran, that its owner must agree to it."""
        del call
        return ApprovalVerdict("ask", reason)

    def _rule(self, tool: Tool, own: Mapping[str, Decision]) -> Decision | None:
        """The rule that holds: this Bethink's if it denies, else the owner's, else this Bethink's.

        Of its own a deny holds before all others, then a tool's name, the longest pattern, the effect.
        """
        fitting: list[tuple[str, Decision]] = [
            (name, rule) for name, rule in self.settings.items() if self._is_meant(tool, name)
        ]
        if any(rule == "deny" for _, rule in fitting):
            return "deny"
        if tool.name in own:
            return own[tool.name]
        fitting.sort(key=lambda one: (one[0] != tool.effect, "*" not in one[0], len(one[0])))
        return fitting[-1][1] if fitting else None

    def _is_meant(self, tool: Tool, name: str) -> bool:
        """Whether a name, alias, pattern or effect of the settings means the tool."""
        return fnmatchcase(tool.name, name) or name == tool.effect or self.toolbox.get(name) == tool


def judge(
    tool: Tool,
    arguments: Mapping[str, object],
    principal: Principal,
    *,
    evidence: Callable[[], Evidence] = Evidence,
    rule: Decision | None = None,
    changing: int = 1,
) -> ApprovalVerdict:
    """The verdict over one call, of `changing` ones; `evidence` is asked for only if it decides.

    A rule cannot let by itself run what destroys, nor what the key may not do.
    """
    if tool.effect in ("write", "destructive") and "write" not in principal.rights:
        return ApprovalVerdict("deny", READ_ONLY if "read" in principal.rights else NO_WRITE)
    if (reads(tool) or tool.effect == "destructive") and "read" not in principal.rights:
        # What cannot be undone shows first what would go.
        return ApprovalVerdict("deny", NO_READ)
    if rule == "deny":
        return ApprovalVerdict("deny", f"{tool.name} is not allowed here.")
    if tool.effect == "destructive":
        is_ordered = rule != "ask" and _is_ordered(tool, dict(arguments), evidence)
        return AUTO if is_ordered else ApprovalVerdict("ask", _FINAL)
    if rule is not None:
        return ApprovalVerdict("ask", _ASKED) if rule == "ask" else AUTO
    if tool.critical is not None:
        why = _BULK.format(changing) if changing >= _MANY else tool.critical(dict(arguments))
        if why:
            return ApprovalVerdict("ask", why)
    if tool.effect != "egress":
        return AUTO
    context = evidence()
    if not context.is_untrusted:
        return AUTO
    return _of_sending(tool, dict(arguments), context)


def _is_ordered(tool: Tool, arguments: dict[str, object], evidence: Callable[[], Evidence]) -> bool:
    """Whether the owner's last message names all that decides about a call, if rules say what does."""
    if not tool.decisive:
        return False
    deciding = [text for name in tool.decisive for text in leaves({name: arguments.get(name)})]
    if all(len(text) < _TELLING for text in deciding):
        return False
    # What was said before was about something else: it is no order for what cannot be undone.
    said = evidence().said[-1:]
    return all(_was_said(text, said) for text in deciding)


def _of_sending(tool: Tool, arguments: dict[str, object], context: Evidence) -> ApprovalVerdict:
    """The verdict over a call that leaves, beside words from outside: these may be what asked for it."""
    gives = [tool.name] if tool.gives is None else tool.gives(arguments)
    if not gives:
        return AUTO
    deciding, content = _divided(tool, arguments, gives)
    foreign = [text for text in deciding if not _was_given(text, context)]
    if deciding and tool.decisive is None and all(len(text) < _TELLING for text in deciding):
        # "Meet me on the 13th" is no word about file 13.
        foreign = [*deciding]
    foreign += [] if tool.public else [link for link in _links(content) if not _was_given(link, context)]
    if foreign:
        return ApprovalVerdict("ask", _SENDS.format(_shown(foreign)))
    private = words_in((*context.recalled, *context.own)) - words_in((*context.said, *context.untrusted))
    if not tool.public and deciding and all(_was_said(text, context.said) for text in deciding):
        # Whom the owner named may be told of them; what they are known or pay by still asks.
        private = {word for word in private if any(char.isdigit() for char in word)}
    if (word := hidden_in(content, private, context.sent)) is not None:
        return ApprovalVerdict("ask", _TELLS.format(_shown([word])))
    return AUTO


def _divided(
    tool: Tool, arguments: dict[str, object], gives: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """What decides whom a call reaches or what it costs; what else it tells. Unruled, all decides."""
    if tool.public:
        return [text for text in gives if "://" in text], gives
    if tool.decisive is None:
        return gives, ()
    deciding = {name: value for name, value in arguments.items() if name in tool.decisive}
    rest = {name: value for name, value in arguments.items() if name not in tool.decisive}
    return leaves(deciding), leaves(rest)


def _was_given(text: str, context: Evidence) -> bool:
    """Whether the owner, their own things or a listing gave it: nobody from outside chose it."""
    listed = {_plain(address) for address in context.addresses}
    if _plain(text) in listed or ("://" not in text and _was_said(text, context.said)):
        return True
    if not _LINK.fullmatch(text):
        return _is_composed(text, context)
    own = (*context.said, *context.vouched)
    return _plain(text) in {_plain(part) for said in own for part in (*_BREAKS.split(said), *said.split())}


def _is_composed(text: str, context: Evidence) -> bool:
    """Whether a text is words of the owner around names of a listing: "Dinner at" one of the restaurants."""
    names = sorted({one for one in context.addresses if len(one) >= _TELLING}, key=len, reverse=True)
    found = [name for name in names if name in text]
    if not found:
        return False
    parts = re.split("|".join(map(re.escape, found)), text)
    return all(_was_said(part, context.said) for part in parts if _WORDS.search(part))


def _was_said(text: str, said: Sequence[str]) -> bool:
    """Whether the owner said these words, in a row; a short name as it is written."""
    if len(text) < _TELLING and not text.isdigit():
        return any(re.search(rf"\b{re.escape(text)}\b", one) for one in said)
    wanted = _phrase(text)
    return bool(wanted.strip()) and any(wanted in _phrase(one) for one in said)


def _links(texts: Iterable[str]) -> list[str]:
    return [link.rstrip(".,;:!?)") for text in texts for part in text.split() for link in _links_in(part)]


def _links_in(part: str) -> Iterator[str]:
    while (found := _LINK.search(part)) is not None:
        yield found.group()
        part = part[found.end() :]  # what is glued to an address may be another


def _phrase(text: str) -> str:
    return f" {' '.join(_WORDS.findall(text.casefold()))} "


def _plain(address: str) -> str:
    """An address as people write it: without its scheme, its end and the marks around it."""
    # Behind the first scheme: a second one stands inside an address that leads elsewhere.
    before, scheme, behind = address.strip(" .,;:!?").partition("://")
    rest = behind if scheme else before
    host, slash, path = rest.partition("/")
    return f"{host.casefold()}{slash}{path}".rstrip("/")


def _shown(texts: Sequence[str]) -> str:
    shown = ", ".join(texts)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[: _MAX_SHOWN - 1]}…"


_MAX_RULES = 1_000


class OwnersRule(Record, frozen=True, kw_only=True):
    """That calls of the tool `id` run, ask or are refused by themselves. `at` is microseconds UTC.

    It was decided about what had this `origin`: for another that comes under the
    same name only a denial holds.
    """

    decision: Decision
    at: int
    origin: str = ""

    def holds(self, tool: Tool) -> bool:
        """Whether it speaks of this tool, and not of another of its name."""
        return self.decision == "deny" or self.origin == tool.origin


RULES = Collection("tool_rules", OwnersRule, searchable=False)


@dataclass(frozen=True, slots=True)
class ToolRules:
    """The rules of all owners."""

    store: Store
    clock: Clock

    async def among(self, principal: Principal, tools: Iterable[Tool]) -> Mapping[str, Decision]:
        """The decisions that hold for these tools, by name."""
        named = {tool.name: tool for tool in tools}
        found = await self.store.get(RULES, principal.owner, [*named])
        rules = [item.record for item in found if item is not None]
        return {rule.id: rule.decision for rule in rules if rule.holds(named[rule.id])}

    async def list(self, principal: Principal) -> Sequence[OwnersRule]:
        """All of the owner's rules, by the tool's name."""
        (page,) = await self.store.scan(principal.owner, Scan(RULES, limit=_MAX_RULES))
        return [item.record for item in page.items]

    async def set(
        self, principal: Principal, tool: str, decision: Decision | None, *, origin: str = ""
    ) -> None:
        """Decide about a tool for always; None goes back to what holds without a rule."""
        if decision is None:
            await self.store.commit(principal.owner, [Delete(RULES, tool)])
            return
        rule = OwnersRule(id=tool, decision=decision, at=self.clock.now_us(), origin=origin)
        await self.store.commit(principal.owner, [Put(RULES, rule)])


_LATELY = 50
"""So many of the owner's last messages tell what they said."""


def tool_context(request: RunRequest, files: Files) -> ToolContext:
    """The context of a run's calls."""
    principal, conversation = request.principal, request.conversation
    context = ToolContext(
        principal=principal,
        conversation=conversation,
        run=request.run,
        message=request.message,
        label=request.labels.of,
        named=request.labels.named,
        evidence=partial(evidence_of, request),
        forgotten=request.forgotten,
        keep=partial(_keep, request, files),
        files=partial(files.held, principal, conversation),
    )
    return replace(context, ask=request.ask) if request.ask is not None else context


@retry_conflicts
async def _keep(request: RunRequest, files: Files, file: NewFile) -> Attachment:
    """Keep a file, unless it says what was forgotten since the run began."""
    forgotten = request.forgotten
    if forgotten is None:
        return (await files.add(request.principal, request.conversation, file, made_by="tool")).attachment
    await forgotten.listen()
    if (text := text_of(file.content)) is not None and forgotten.says(text):
        raise JustForgotten
    expected = forgotten.expected
    kept = await files.add(request.principal, request.conversation, file, made_by="tool", expecting=expected)
    return kept.attachment


def evidence_of(request: RunRequest) -> Evidence:
    """Whose words stand in the run's context now."""
    said: list[str] = []
    asked = answered = ""
    recalled = [item.text for item in request.recalled]
    untrusted = [item.text for item in request.recalled if item.untrusted]
    own: list[str] = []
    vouched: list[str] = []
    addresses: list[str] = []
    for message in request.messages:
        match message:
            case UserMessage():
                (untrusted if message.untrusted else said).append(message.content)
                # A file that its owner gives may have been written, and named, by anybody.
                untrusted += [file.name for file in message.attachments]
                asked = answered
            case AssistantMessage():
                answered = message.content
            case ToolMessage() if (found := listed_memories(message)) is not None:
                recalled += found
                untrusted += found if message.untrusted else []
            case ToolMessage():
                (untrusted if message.untrusted else own).append(message.content)
                addresses += message.addresses
                if not (untrusted or request.outside):
                    vouched.append(message.content)
    return Evidence(
        said=tuple(said[-_LATELY:]),
        asked=asked,
        recalled=tuple(recalled),
        untrusted=tuple(untrusted),
        own=tuple(own),
        vouched=tuple(vouched),
        addresses=tuple(addresses),
        outside=request.outside or bool(untrusted),
    )
