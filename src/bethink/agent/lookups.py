"""Whether a turn only looked something up in memory: asked, and was told what is known, or that nothing is.

`agent/runs` asks at the end of a run. Such a turn is no knowledge: recall ranks it
below what it asked about (`recall/service`), so that asking does not crowd out the
answer. What speaks for it is its structure: nothing was stored in it, and what the
answer says was recalled for it, said before, or is remembered anyway. Only an
answer that nothing is known has to be read by its words: those that negate.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from bethink.agent.evidence import evidence_of
from bethink.errors import StorageError
from bethink.messages import AssistantMessage, UserMessage
from bethink.recall.question import MARK, SENTENCE, only_asks
from bethink.search.analysis import Analyzer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bethink.agent.context import Context
    from bethink.agent.request import RunRequest

_MOST_WORDS: Final = 40
"""A longer question tells of its own what it is about."""
_MOST_CHARS: Final = 1_000
"""A longer answer tells something."""
_NEW: Final = 0.5
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
    if not only_asks(asked.content) or len(answer) > _MOST_CHARS:
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


def reports(answer: str, asked: str, known: Iterable[str]) -> bool:
    """Whether an answer tells nothing but what is known, or that it is not; an empty one does."""
    if not answer.strip():
        return True
    analyzer = Analyzer()
    told = analyzer.words("\n".join((asked, *known)))
    sentences = [found.group().strip() for found in SENTENCE.finditer(answer)]
    kinds = [_kind(sentence, told, analyzer) for sentence in sentences]
    return "new" not in kinds and ("known" in kinds or "negated" in kinds)


def _kind(sentence: str, told: set[str], analyzer: Analyzer) -> str:
    """What a sentence tells: what is "known", that this is not ("negated"), nothing ("idle"), or "new"."""
    words = analyzer.words(sentence)
    if words and len(words - told) <= _NEW * len(words):
        return "known"
    if _NEGATED.search(sentence):
        return "negated"
    particulars = analyzer.words(" ".join(_PARTICULAR.findall(sentence)))
    if not particulars or MARK.search(sentence):
        return "idle"
    return "known" if particulars <= told else "new"
