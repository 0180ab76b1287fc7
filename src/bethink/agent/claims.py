"""Receipts: what an answer claims to have done, against what the run's tool calls did.

`agent/loop` asks once, at the end of a run. The rules know English and nothing
else: they find the sentences in which an assistant says of itself, or of the
owner's things, that something was saved, changed, deleted, scheduled or sent.
Where a sentence may mean something else they are silent; `tests/evals/claims`
holds the sentences that they are measured on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.agent import claim_words as words
from bethink.conversations import UnbackedRef
from bethink.events import ClaimUnbacked
from bethink.messages import ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bethink.events import ClaimKind
    from bethink.messages import Message
    from bethink.tool import Effect

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
class Done:
    """A call that succeeded: the tool's name, and the strongest thing that it can do."""

    name: str
    effect: Effect


def unbacked(answer: str, done: Iterable[Done]) -> list[Claim]:
    """The claims in `answer` that no call in `done` can have fulfilled, in their order."""
    if not words.HINT.search(answer.lower()):
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
    done: list[Done] = []
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            break
        if isinstance(message, ToolMessage) and message.error is None:
            effect = effect_of(message.name)
            done += [Done(message.name, effect)] if effect else []
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


def _backs(call: Done) -> _Kinds:
    if call.effect == "read":
        return _NONE
    told = [kinds for words, kinds in _BACKED if re.search(words, call.name.lower())]
    return _NONE.union(*told) if told else _EVERY


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
    if not words.HINT.search(sentence.lower()):
        return ()
    said = _MARKS.sub("", sentence).replace("’", "'").strip().lower()
    if words.NOT_NOW.search(said) or words.ARTEFACT.search(said):
        return ()
    if not is_talk and not words.OWNED.search(said):
        return ()
    aside = words.ASIDE.match(said)
    return dict.fromkeys(_found(said[aside.end() :] if aside else said))


def _found(said: str) -> Iterator[ClaimKind]:
    if not said.startswith(("set ", "put ")):  # the same words tell the owner to do it
        yield from _at(0, said, words.PHRASES)
    for head in words.I_HAVE.finditer(said):
        kinds = list(_at(head.end(), said, words.PHRASES)) if _is_sure(said, head) else []
        yield from kinds
        for also in words.ALSO.finditer(said, head.end()) if kinds else ():
            yield from _at(also.end(), said, words.PHRASES)
    for head in words.IT_IS.finditer(said):
        yield from _at(head.end(), said, words.STATES) if _is_sure(said, head) else ()
    if not words.PERHAPS.search(said):
        for head in words.I_WILL.finditer(said):
            yield from _at(head.end(), said, words.PROMISES)
        for kind, pattern in words.ANYWHERE:
            if pattern.search(said):
                yield kind


def _at(place: int, said: str, rows: words.Rows) -> Iterator[ClaimKind]:
    return (kind for kind, pattern in rows if pattern.match(said, place))


def _is_sure(said: str, head: re.Match[str]) -> bool:
    return not words.PERHAPS.search(said, 0, head.start())


def place_of(claim: ClaimUnbacked, text: str) -> UnbackedRef:
    """Where in the answer's text a claim stands."""
    start = max(0, text.find(claim.text))
    return UnbackedRef(claim=claim.claim, start=start, end=start + len(claim.text))
