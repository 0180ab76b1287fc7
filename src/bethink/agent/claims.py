"""What an answer says: claims that no tool call of the run backs, and whether it tells anything new.

`agent/loop` asks for claims once, at the end of a run. Their rules know English and nothing else: they find
the sentences in which an assistant says of itself, or of the owner's things, that something was saved,
changed, deleted, scheduled or sent. Where a sentence may mean something else they are silent;
`tests/evals/claims` holds the sentences that they are measured on. `agent/runs` asks whether a turn only
looked something up (`is_lookup`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from bethink.agent.policy import evidence_of
from bethink.conversations.records import UnbackedRef
from bethink.errors import StorageError
from bethink.events import ClaimKind, ClaimUnbacked
from bethink.messages import AssistantMessage, Message, ToolMessage, UserMessage
from bethink.recall.ranking import MARK, SENTENCE, only_asks
from bethink.search.analysis import Analyzer

if TYPE_CHECKING:
    from bethink.agent.context import Context
    from bethink.agent.request import RunRequest
    from bethink.tool import Effect


Rows: TypeAlias = "tuple[tuple[ClaimKind, re.Pattern[str]], ...]"

# --- the owner's things ---

_THAT = r"(?:that|this|it|these|those|them|both(?: of them)?|everything|all of (?:it|that|this|them|these))\b"
_NOTE = r"(?:memor(?:y|ies)|notes?|preferences?)\b"
_KEPT = (
    r"(?:memor(?:y|ies)|notes?|preferences?|address(?:es)?|numbers?|profile|birthday|anniversary|details?"
    r"|information|info|data|facts?|names?|records?|entry|entries|lists?|city|settings?|diet|allerg(?:y|ies)"
    r"|job(?: title)?|history)\b"
)
_PLAN = (
    r"(?:reminders?|alarms?|timers?|tasks?|to-?dos?|events?|appointments?|meetings?|calendar entr(?:y|ies)"
    r"|bookings?|reservations?)\b"
)
_MAIL = r"(?:messages?|e-?mails?|invitations?|invites?|repl(?:y|ies)|forms?|texts?|reports?)\b"
_PAPER = (
    r"(?:files?|links?|documents?|invoices?|summar(?:y|ies)|photos?|contracts?|details|money|payments?)\b"
)
_MINE = r"(?:(?:my|your|the) )?(?:long-term )?(?:memory|memories|notes?|records?|profile|journal|diary)\b"
_PLANNER = r"(?:calendar|agenda|schedule|to-?do(?: list|s)?|task list|tasks|planner)\b"

# --- the words around them ---

_STORED = r"(?:saved|stored|recorded|logged|noted|bookmarked|memori[sz]ed)"
_END = r"\s*(?:$|[.!,;:(—–]| - )"
_FUTURE = r"for (?:next time|later|the future|(?:our |any )?future \w+|you)"
_SOON = rf"(?: (?:for you|down|away|now|too|as well|{_FUTURE}))*"
_ALL = r"all(?: of)?(?: your| the| those| these)?"
_A = rf"(?:an?|the|your|this|that|another|each|every|both|two|three|four|{_ALL})"
_FEW = r"(?:(?!(?:with|from|in|on|of|to|for|by|sample|example|mock|fictional)\b)[\w'/-]+ ){0,3}?"
_THING = rf"(?:{_A} {_FEW}(?:{_NOTE}|{_PLAN})|(?:all(?: of)? )?your {_FEW}{_KEPT})"
_ONWARD = (  # behind the whole of what is named: "a task", not "a task force"
    r"(?=\s*(?:$|[.!,;:(—–“\"-]|(?:for|to|at|on|every|called|named|titled|about|that|in|with|and|so|next"
    r"|tomorrow|tonight|this|from|before|by|now)\b))"
)
_CLAUSE = r"(?:^|[,;:—–(] ?| - |\b(?:and|so|but|then|okay|ok|now) )"
_SET_UP = r"(?:set|created|started|arranged|reserved|entered)"
_SAVING = r"(?:saving|storing|noting|recording|adding)"
_ADVERBS = r"(?:just |now |also |successfully |safely |gone ahead and |went ahead and )*"


def _rows(*rows: tuple[ClaimKind, str]) -> Rows:
    return tuple((kind, re.compile(pattern)) for kind, pattern in rows)


# --- what is said to be done ---

PHRASES: Final = _rows(
    ("saved", rf"{_STORED}(?:{_SOON}{_END}| and (?:saved|stored|noted)\b| (?:in|to) {_MINE})"),
    (
        "saved",
        rf"{_STORED} (?:{_THAT}{_SOON}(?:{_END}| (?:and|in|to|as|under) )|{_THING}|that your?\b|your\b)",
    ),
    ("saved", rf"{_STORED} (?:this information|the following (?:facts|details))"),
    ("saved", rf"{_STORED} (?:these|those|both|all)(?: of)? {_FEW}(?:{_KEPT}|{_NOTE})"),
    ("saved", rf"(?:written|wrote|jotted|noted) (?:{_THAT} down|down\b)"),
    ("saved", rf"got {_THAT} (?:noted|saved|stored|written|down){_SOON}{_END}"),
    ("saved", r"registered your\b"),
    ("saved", r"(?:made|taken|took|kept) (?:a |careful )?(?:mental )?(?:note|record) (?:of|that you)\b"),
    (
        "saved",
        rf"(?:added|put|placed|entered|committed|filed|captured) .{{1,80}}? (?:to|in|into|under) {_MINE}",
    ),
    ("saved", r"(?:added|put) .{1,60}? (?:to|on) your (?:\w+ )?list\b"),
    ("changed", rf"(?:updated|changed|corrected|edited|amended|adjusted) (?:{_MINE}|what i know)"),
    ("changed", rf"(?:updated|changed|corrected|edited|amended|replaced|renamed|switched) {_THING}"),
    ("changed", r"(?:updated|corrected) the (?:record|information|entry|details) (?:of|on|about|i have)\b"),
    ("changed", rf"(?:updated|changed|corrected) {_THAT} in {_MINE}"),
    (
        "changed",
        rf"(?:moved|rescheduled|postponed|renamed) (?:the|your) {_FEW}(?:{_PLAN}|(?:call|lunch|dinner)\b)",
    ),
    ("changed", r"(?:marked|checked|ticked) .{1,60}? (?:as (?:done|complete|completed|finished)|off)\b"),
    (
        "deleted",
        r"(?:deleted|erased|removed) all (?:the )?(?:information|facts|data|memories) (?:i had|about|on) ",
    ),
    ("deleted", rf"(?:deleted|erased|forgotten|wiped|purged)(?:{_SOON}{_END}| {_THAT}{_SOON}{_END})"),
    (
        "deleted",
        rf"(?:deleted|erased|wiped|purged|cleared|forgotten) (?:all|everything|{_THAT} from|{_MINE})",
    ),
    ("deleted", rf"(?:deleted|erased|removed|cleared|cancell?ed|dropped) (?:{_THING}|what i knew)"),
    (
        "deleted",
        rf"(?:deleted|erased|removed|cleared) .{{1,60}}? from (?:{_MINE}|your (?:(?:\w+ )?list|{_PLANNER}))",
    ),
    ("deleted", r"(?:taken|took|crossed) .{1,60}? off (?:your|the) (?:\w+ )?list\b"),
    (
        "scheduled",
        r"(?:scheduled|booked) (?:it|your|the|an?|you|us|for|lunch|dinner)\b(?! (?:tasks|jobs|steps)\b)",
    ),
    ("scheduled", rf"{_SET_UP} (?:up )?{_A} {_FEW}(?:{_PLAN}|slots?\b){_ONWARD}"),
    (
        "scheduled",
        rf"(?:added|made) {_A} {_FEW}{_PLAN}(?:{_END}| (?:for|at|on|every|called|and|to (?:your|call))\b)",
    ),
    ("scheduled", rf"(?:added|put|placed|entered|pencilled) .{{1,80}}? (?:to|on|in|into) your {_PLANNER}"),
    ("scheduled", r"blocked (?:out|off)\b"),
    ("sent", rf"sent(?:{_SOON}{_END}| (?:it|that|this|them|him|her|out|off|everyone)\b)"),
    ("sent", rf"sent (?:the|your|an?) {_FEW}(?:{_MAIL}|{_PAPER})"),
    ("sent", r"(?:e-?mailed|messaged|texted|notified|forwarded|replied to) \w"),
    ("sent", rf"(?:published your\b|invited .{{1,60}}? to (?:the|your) {_FEW}{_PLAN})"),
    (
        "sent",
        rf"(?:posted|shared|submitted|published) (?:{_THAT}|the|your)\b.{{0,60}}? (?:with|to|on) ",
    ),
)
"""Behind "I have", or at the start: "Got it, updated your address"."""

STATES: Final = _rows(
    ("saved", rf"(?:saved|stored|noted|recorded|logged)(?:{_SOON}{_END}| (?:in|to) {_MINE})"),
    ("saved", rf"(?:added to|in) {_MINE}{_SOON}{_END}"),
    ("deleted", rf"(?:deleted|erased|forgotten|cancell?ed|wiped){_SOON}{_END}"),
    ("deleted", rf"(?:deleted|erased|removed|gone|cleared) from {_MINE}"),
    ("scheduled", rf"(?:scheduled|booked){_SOON}{_END}"),
    ("scheduled", rf"(?:added to |on |in )(?:your|the) {_PLANNER}{_SOON}{_END}"),
    ("sent", rf"(?:sent|submitted|forwarded){_SOON}{_END}"),
)
"""Behind "that is now"."""

PROMISES: Final = _rows(
    ("saved", rf"remember(?:{_END}| (?:{_THAT}{_SOON}{_END}|(?:that )?you\b|your\b|for next time))"),
    ("saved", rf"keep (?:{_THAT}|your .{{1,40}}?) in mind{_SOON}{_END}"),
    ("saved", rf"(?:note|save|store|record|log|jot) {_THAT}(?:{_SOON}{_END}| (?:in|to) {_MINE})"),
    ("saved", rf"(?:note|save|store|record|log) (?:your|that your?)\b|write {_THAT} down\b"),
    ("saved", r"make (?:a )?(?:mental )?note (?:of|that you)\b"),
    ("scheduled", r"(?:remind|ping|nudge|alert|notify) you\b(?! (?:of|that|why|how|what)\b)"),
    ("scheduled", r"send you a (?:\w+ )?reminder"),
)
"""Behind "I will": nothing happens later that no call of this run has arranged."""


_BEHIND: Final[dict[ClaimKind, str]] = {
    "saved": "(?:under|to)",
    "changed": "to",
    "deleted": "from",
    "scheduled": "(?:for|at|on)",
    "sent": "to",
}


def _done_to(kind: ClaimKind, thing: str, done: str) -> tuple[ClaimKind, str]:
    """Such as "Your address has been updated", "Note saved", "Reminder set for 5 pm"."""
    whose = (
        rf"(?:(?:all (?:of )?)?your {_FEW}{thing}|an? {_FEW}{_PLAN}|this (?:information|detail)"
        rf"|(?:the|this|that|all|both) {_FEW}(?:{_NOTE}|{_PLAN}|{_MAIL}))"
    )
    been = r"(?:'s| is| are| has| have) (?:now |been |all |also |both |successfully )+"
    return kind, (
        rf"(?:^|[;:—–] ?){whose}{been}{done}\b"
        rf"|^(?:new )?{thing} (?:successfully )?{done}{_END}"
        rf"|^(?:new )?{thing}(?<!s) {done} {_BEHIND[kind]} "
    )


_MADE = r"(?:set|scheduled|created|added|booked|confirmed|started)"
ANYWHERE: Final = _rows(
    _done_to("saved", _KEPT, r"(?:saved|stored|noted|recorded|logged)"),
    _done_to("changed", rf"(?:{_KEPT}|{_PLAN})", r"(?:updated|changed|corrected|moved|rescheduled|renamed)"),
    _done_to(
        "deleted", rf"(?:{_KEPT}|{_PLAN})", r"(?:deleted|removed|erased|forgotten|cleared|cancell?ed|wiped)"
    ),
    _done_to("scheduled", _PLAN, _MADE),
    (
        "scheduled",
        rf"^(?:your|the) {_FEW}(?:{_PLAN}|call\b) (?:is|are) {_MADE}(?:{_END}| (?:for|at|and|on) )",
    ),
    _done_to("sent", _MAIL, r"(?:sent|submitted|forwarded|delivered)"),
    ("saved", rf"{_CLAUSE}i (?:won't|will not|will never) forget(?:{_END}| (?:{_THAT}|you))"),
    (
        "saved",
        rf"^(?:i'm )?(?:now )?{_SAVING} {_THAT}(?: to {_MINE}|{_SOON}{_END})",
    ),
    ("deleted", rf"^(?:i'm )?(?:now )?(?:deleting|erasing|removing) {_THAT}(?: from {_MINE}|{_SOON}{_END})"),
    (
        "scheduled",
        rf"^(?:i'm )?(?:now )?(?:setting|creating|adding) {_A} {_FEW}{_PLAN}(?:{_END}| (?:for|at|now)\b)",
    ),
    ("scheduled", rf"{_CLAUSE}you(?:'ll| will) (?:get|receive|have) an? (?:\w+ )?(?:reminder|alert)"),
    ("scheduled", rf"{_CLAUSE}you(?:'ll| will) be (?:reminded|notified)"),
)
"""Whole, by themselves."""

# --- how a sentence begins ---

ASIDE: Final = re.compile(
    r"(?:(?:got it|okay|ok|sure thing|sure|of course|all set|all done|done|there you go|perfect|great news"
    r"|great|alright|all right|no problem|no worries|understood|thank you|thanks|absolutely|certainly|yes|yep"
    r"|good news|good|lovely|excellent|wonderful|awesome|duly|congratulations|nice to meet you|you got it"
    r"|will do|consider it)\b\s*[,.!:;—–-]*\s*)+(?=\w)"
)
I_HAVE: Final = re.compile(rf"{_CLAUSE}i(?:'ve| have)? {_ADVERBS}")
ALSO: Final = re.compile(rf"\band {_ADVERBS}")
I_WILL: Final = re.compile(
    rf"{_CLAUSE}i(?:'ll| will| shall) (?:be sure to |make sure to |definitely |always |certainly |also )*"
)
IT_IS: Final = re.compile(
    rf"{_CLAUSE}(?:that|this|it|everything|they|these|both|all of it)(?:'s|'re| is| are| has| have) "
    r"(?:now |been |all |safely )*"
)

# --- what makes it another thing to say ---

NOT_NOW: Final = re.compile(
    r"\?$|\b(?:already|earlier|previously|yesterday|ago|last (?:time|week|month|year|night|session)"
    r"|back (?:in|then)|below|above|here it is|here's|here is|as follows|according to|from what|based on"
    r"|privacy policy|(?:this|our|the) (?:conversation|chat|session|essay|story|code)"
    r"|by (?:the|an?) (?!way)\w+)\b"
)
"""Words of other times and other doers, or that point at the answer's own text."""
ARTEFACT: Final = re.compile(
    r"\b(?:code|variables?|arrays?|dictionar(?:y|ies)|functions?|loops?|scripts?|formulas?|equations?"
    r"|columns?|rows?|paragraphs?|sentences?|sections?|chapters?|essays?|articles?|drafts?|letters?|poems?"
    r"|stor(?:y|ies)|scenes?|speech|texts?|proofs?|schemas?|components?|plots?|versions?|examples?|tone"
    r"|wording|outline|syntax|strings?|json|values?|concerns?|questions?|points?|arguments?"
    r"|feedback|request|steps?)\b"
)
"""What an assistant makes in its answer: it may be saved, changed or deleted there without any call."""
OWNED: Final = re.compile(r"\b(?:your|memor(?:y|ies)|notes|reminders?|calendar|profile)\b")
PERHAPS: Final = re.compile(
    r"\b(?:if|unless|once|when|whenever|after|until|suppose|would|could|might|what|which|as|how)\b"
)
HINT: Final = re.compile(
    r"\b(?:sav|stor|not(?:e|ing)|record|log|remember|forg|memor|mind|writ|jot|kept|bookmark|updat|chang|correct"
    r"|edit|mov|renam|replac|mark|delet|remov|eras|clear|cancel|wip|(?:re)?schedul|set|creat|add|book|remind"
    r"|calendar|alarm|timer|block|sent|e-?mail|text|messag|shar|post|submit|forward|notif|repl|ping|arrang"
    r"|reserv|alert|captur|regist|publish|switch|invit|tick|put|take|took)"
)
"""Without one of these nothing above matches: most answers are let go by it."""


_Kinds = frozenset["ClaimKind"]
_NONE: Final[_Kinds] = frozenset()
_EVERY: Final[_Kinds] = frozenset(("saved", "changed", "deleted", "scheduled", "sent"))


@dataclass(frozen=True, slots=True)
class Claim:
    """What a sentence says was done; `start` and `end` are the sentence's place in the answer."""

    kind: ClaimKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """A call that succeeded: the tool's name, and the strongest thing that it can do."""

    name: str
    effect: Effect


def unbacked(answer: str, done: Iterable[CompletedCall]) -> list[Claim]:
    """The claims in `answer` that no call in `done` can have fulfilled, in their order."""
    if not HINT.search(answer.lower()):
        return []
    backed = _NONE.union(*map(_backs, done))
    if backed == _EVERY:
        return []
    is_talk = "```" not in answer
    return [
        Claim(kind, sentence.start(), sentence.end())
        for sentence in _SENTENCE.finditer(_without_quoted(answer))
        for kind in _claimed(sentence[0], is_talk=is_talk)
        if kind not in backed
    ]


def receipts(messages: Sequence[Message], effect_of: Callable[[str], Effect | None]) -> list[ClaimUnbacked]:
    """What the last of `messages` claims and no call since the owner's last message did."""
    answer = messages[-1].content
    done: list[CompletedCall] = []
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            break
        if isinstance(message, ToolMessage) and message.error is None:
            effect = effect_of(message.name)
            done += [CompletedCall(message.name, effect)] if effect else []
    return [
        ClaimUnbacked(text=answer[claim.start : claim.end], claim=claim.kind)
        for claim in unbacked(answer, done)
    ]


# --- what a call can have done ---

_BACKED: Final[tuple[tuple[str, _Kinds], ...]] = (
    (r"delete|remove|forget|clear|cancel|erase", frozenset({"deleted", "changed"})),
    (
        r"task|event|calendar|remind|schedul|alarm|timer|todo|book",
        frozenset({"scheduled", "saved", "changed"}),
    ),
    (r"send|mail|post|publish|share|notify|reply", frozenset({"sent", "saved"})),
    (r"memory|note|store|save|add|write|update|edit|set|rename|move", frozenset({"saved", "changed"})),
)
"""What may truly be said after a call whose name has such a word."""


def _backs(call: CompletedCall) -> _Kinds:
    if call.effect == "read":
        return _NONE
    named = [kinds for words, kinds in _BACKED if re.search(words, call.name.lower())]
    return _NONE.union(*named) if named else _EVERY


# --- which part of an answer is its own word ---

_QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`"  # code
    r"|^[ \t]*>[^\n]*"  # a quotation
    r"|[“\"«][^“”\"»\n]{16,}[”\"»]"  # what somebody says; what is shorter is a title
    r"|^(?:subject:|(?:dear|hi|hello|hey) [^\n!?]{1,40},[ \t]*$)"  # a letter, to the line that signs it
    r".*?(?:^(?:best|kind|warm|thanks|thank you|sincerely|yours|cheers|regards)[^\n]*\n?[^\n]*|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"\S(?:[^.!?\n]|[.!?](?![\s)*_”\"]|$))*[.!?]*")
_MARKS: Final = re.compile(r"^(?:[-+•]|\d+[.)])\s+|[*_]|[^\x00-\u024f‐-‧’“”]")
"""Bullets, emphasis, emoji."""


def _without_quoted(answer: str) -> str:
    """The answer with signs in place of what it quotes: places stay the same."""
    return _QUOTED.sub(lambda quoted: re.sub(r"[^\n]", "¤", quoted[0]), answer)


# --- what a sentence claims ---


def _claimed(sentence: str, *, is_talk: bool) -> Iterable[ClaimKind]:
    """The kinds of what a sentence claims, each once; beside code, "I've deleted it" speaks of that."""
    if not HINT.search(sentence.lower()):
        return ()
    said = _MARKS.sub("", sentence).replace("’", "'").strip().lower()
    if NOT_NOW.search(said) or ARTEFACT.search(said):
        return ()
    if not is_talk and not OWNED.search(said):
        return ()
    aside = ASIDE.match(said)
    return dict.fromkeys(_found(said[aside.end() :] if aside else said))


def _found(said: str) -> Iterator[ClaimKind]:
    if not said.startswith(("set ", "put ")):  # the same words tell the owner to do it
        yield from _at(0, said, PHRASES)
    for head in I_HAVE.finditer(said):
        kinds = list(_at(head.end(), said, PHRASES)) if _is_sure(said, head) else []
        yield from kinds
        for also in ALSO.finditer(said, head.end()) if kinds else ():
            yield from _at(also.end(), said, PHRASES)
    for head in IT_IS.finditer(said):
        yield from _at(head.end(), said, STATES) if _is_sure(said, head) else ()
    if not PERHAPS.search(said):
        for head in I_WILL.finditer(said):
            yield from _at(head.end(), said, PROMISES)
        for kind, pattern in ANYWHERE:
            if pattern.search(said):
                yield kind


def _at(place: int, said: str, rows: Rows) -> Iterator[ClaimKind]:
    return (kind for kind, pattern in rows if pattern.match(said, place))


def _is_sure(said: str, head: re.Match[str]) -> bool:
    return not PERHAPS.search(said, 0, head.start())


def place_of(claim: ClaimUnbacked, text: str) -> UnbackedRef:
    """Where in the answer's text a claim stands."""
    start = max(0, text.find(claim.text))
    return UnbackedRef(claim=claim.claim, start=start, end=start + len(claim.text))


_MOST_WORDS: Final = 40
"""A longer question tells of its own what it is about."""
_MOST_ANSWER_CHARS: Final = 1_000
"""A longer answer tells something."""
_MOST_NEW: Final = 0.5
"""Of the words of a sentence: if more are new, it tells something."""
_LIKE_IT: Final = 5
"""Memories that are looked at for what an answer says."""
_NEGATED: Final = re.compile(
    r"\b(?:not|no|nothing|none|never|unknown|unsure|cannot|\w+n['’]t|dont|nicht|nichts|kein\w*|pas|rien|aucune?"
    r"|nada|ning[uú]n\w*|non|nulla|nessun\w*|não|nenhum\w*|niet|niets|geen|nie|нет|не|ничего|немає|yok|değil"
    r"|bilmiyorum|لا|لم|ليس|لست|नहीं)\b"
    r"|不|没|沒|未|无|無|ません|ない|知らな|없|모르|않|못|ไม่",
    re.IGNORECASE,
)


_PARTICULAR: Final = re.compile(r"(?<=[\w,;:] )(?!I\b)[^\W\d_]*[A-Z]\w*|\w*\d\w*")
"""Names within a sentence, and numbers: what a polite remark has none of."""


async def is_lookup(request: RunRequest, context: Context) -> bool:
    """Whether the run that has ended did no more; whether it changed memory is the caller's to know."""
    asked = next((one for one in reversed(request.messages) if isinstance(one, UserMessage)), None)
    if asked is None or asked.attachments or len(asked.content.split()) > _MOST_WORDS:
        return False
    last = request.messages[-1]
    answer = last.content if isinstance(last, AssistantMessage) else ""
    if not only_asks(asked.content) or len(answer) > _MOST_ANSWER_CHARS:
        return False
    before = [one.content for one in request.messages if isinstance(one, UserMessage | AssistantMessage)]
    known = (*evidence_of(request).recalled, *before[:-1])
    return reports(answer, asked.content, known) or (
        reports(answer, asked.content, await _remembered(request, context, answer))
    )


async def _remembered(request: RunRequest, context: Context, answer: str) -> list[str]:
    """What memory holds of an answer, wherever the model had it from."""
    if not context.remembers or "read" not in request.principal.rights:
        return []
    try:
        async with asyncio.timeout(context.recall_timeout_s):
            return [hit.text for hit in await context.recall.search(request.principal, answer, _LIKE_IT)]
    except (StorageError, TimeoutError):
        return []


def says_no(answer: str) -> bool:
    """Whether one of the sentences of an answer denies something."""
    return any(_NEGATED.search(found.group()) for found in SENTENCE.finditer(answer))


def reports(answer: str, asked: str, known: Iterable[str]) -> bool:
    """Whether an answer tells nothing but what is known, or that it is not; an empty one does."""
    if not answer.strip():
        return True
    analyzer = Analyzer()
    known_words = analyzer.words("\n".join((asked, *known)))
    sentences = [found.group().strip() for found in SENTENCE.finditer(answer)]
    kinds = [_kind(sentence, known_words, analyzer) for sentence in sentences]
    return "new" not in kinds and ("known" in kinds or "negated" in kinds)


def _kind(sentence: str, known_words: set[str], analyzer: Analyzer) -> str:
    """What a sentence tells: what is "known", that this is not ("negated"), nothing ("idle"), or "new"."""
    words = analyzer.words(sentence)
    if words and len(words - known_words) <= _MOST_NEW * len(words):
        return "known"
    if _NEGATED.search(sentence):
        return "negated"
    particulars = analyzer.words(" ".join(_PARTICULAR.findall(sentence)))
    if not particulars or MARK.search(sentence):
        return "idle"
    return "known" if particulars <= known_words else "new"
