"""The memory tools of spec 002 ("Memory Tools"): same names, schemas and reply texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final
from zoneinfo import ZoneInfo

import msgspec
from pydantic import AliasChoices, Field

from bethink.assertions import parted
from bethink.clock import to_us
from bethink.conversations.records import KIND as TURN
from bethink.errors import BadInput
from bethink.events import MemoryChanged
from bethink.feature import ASSISTANT, OWNER, Surroundings
from bethink.memory import KIND as FACT
from bethink.memory import Fact, FactChange, Memory, NewFact, Source
from bethink.memory.compare import origin_of
from bethink.memory.facts import about_by_model
from bethink.recall.service import Hit, Recall, answering
from bethink.tool import Tool, ToolContext, ToolOutput, tool, tools_in
from bethink.vault import KIND as PAGE

if TYPE_CHECKING:
    from bethink.messages import ToolMessage

_RESTATED = 0.6
"""So near to a memory, what nobody said now is that memory in other words."""
_MAX_CHARS = 2_000
"""A longer text is cut: one alone must not push out the others."""
_WHO = {OWNER: "the user", ASSISTANT: "you"}
_PASTED = "Pasted by the user, written by somebody else (nothing in it is a fact about the user)"
STORE = "store_memory"
SEARCH = "search_memory"
_ALIAS = "search_memories"
_LISTED = re.compile(r"^ +(?:Content|Pasted[^:]+): (.+?)(?: \[\w+\])?$", re.MULTILINE)
_SHOWN = re.compile(r"\*\*(.+?):\*\* (.+?)(?= \| |$)", re.MULTILINE)
_NEAR_LINE = re.compile(r"^- \[\w[\w.-]*\] (.+)$", re.MULTILINE)
_NEAR_CHARS = 200
_NEAR = (
    "Stored before, near it. If one says the same, is past or was wrong, call again with this content and "
    "its id in repeats, replaces or corrects:"
)
_NEAREST = 3
"""So many are shown if none answers."""
_PATIENCE_S: Final = 30
"""Of a call: a slow machine that has just started still loads the embedding model, and late is not lost."""
NOTHING_FOUND = "No memories found matching: {query}"
NEAR_ONLY = (
    "None of these is known to answer it: they are near. If none of them says it, tell the user that you do"
    " not know."
)
KNOWN = "Already known, nothing stored: {content}"
WAITS = (
    "Not stored yet: {content}\nThese are not the user's own words, so it waits for their review. Tell them."
)
REJECTED = "Not stored: {content}\nThe user rejected this before. Store it only if they say it themselves."


def tools_of(at: Surroundings) -> list[Tool]:
    """`store_memory` and `search_memory` (alias `search_memories`)."""
    features = at.features
    return tools_in(MemoryTools(features.of(Memory), features.of(Recall), at.settings.recall_min_score))


_Content = Annotated[
    str, Field(description="The memory content to store. Should be a clear, concise fact.", min_length=1)
]
_Category = Annotated[
    str,
    Field(
        description="Category: 'preferences', 'personal_info', 'goals', 'plans', 'context'"
        " (or 'general' when none fits)."
    ),
]
_Importance = Annotated[
    float, Field(ge=0, le=1, description="Priority 0-1. Higher = more likely to be recalled and kept.")
]
_Topics = Annotated[
    list[str], Field(description="Tags for classification (e.g., ['programming', 'languages'])")
]
_Replaces = Annotated[list[str], Field(description="Ids (m3) of memories that were true until now.")]
_Corrects = Annotated[list[str], Field(description="Ids of memories that never were true.")]
_Repeats = Annotated[list[str], Field(description="Ids of memories that say the same.")]
_DependsOn = Annotated[list[str], Field(description="Ids of memories that it rests on.")]
_ValidFrom = Annotated[str, Field(description="Since when (YYYY-MM-DD).")]
_About = Annotated[str, Field(description="Whom it is about, if not the user: a name, or 'sister'.")]


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """The tools over facts and all else that is recalled.

    What was said in conversations is found where its score is `least_score` or more.
    """

    memory: Memory
    recall: Recall
    least_score: float

    @tool(
        effect="write",
        label="Remember: {content}",
        timeout_s=_PATIENCE_S,
        family="memory",
        needs_memory=True,
        echoes_arguments=True,
    )
    async def store_memory(
        self,
        context: ToolContext,
        content: _Content,
        category: _Category = "general",
        importance: _Importance = 0.5,
        topics: _Topics = [],  # noqa: B006 - a default of the schema, copied by its validation
        replaces: _Replaces = [],  # noqa: B006 - see above
        corrects: _Corrects = [],  # noqa: B006 - see above
        repeats: _Repeats = [],  # noqa: B006 - see above
        depends_on: _DependsOn = [],  # noqa: B006 - see above
        valid_from: _ValidFrom = "",
        about: _About = "",
    ) -> str | ToolOutput:
        """Store important information about the user in long-term memory.

        One clear fact a call, in the third person ("User's name is …"). Call
        it without asking for permission whenever the user tells something worth
        knowing in later conversations: name, home, work, family, preferences,
        goals, plans. Not for what only matters now, nor for what was recalled.
        """
        new = NewFact(
            content=content,
            category=category,
            importance=importance,
            topics=tuple(topics),
            source=Source(kind="conversation", id=context.conversation, message=context.message),
            replaces=_ids(context, replaces),
            corrects=_ids(context, corrects),
            repeats=_ids(context, repeats),
            depends_on=_ids(context, depends_on),
            valid_from=since_of(valid_from, context.principal.time_zone),
            about=about_by_model(about),
        )
        return await _stored(context, self.memory, new)

    @tool(
        effect="read",
        label="Search memory: {query}",
        timeout_s=_PATIENCE_S,
        family="memory",
        needs_memory=True,
        echoes_arguments=True,
        aliases=(_ALIAS,),
    )
    async def search_memory(
        self,
        context: ToolContext,
        query: Annotated[
            str,
            Field(
                description="Search query. Use natural language (e.g., 'where does user live?')", min_length=1
            ),
        ],
        top_k: Annotated[
            int,
            Field(
                ge=1,
                le=20,
                description="Number of results to return",
                validation_alias=AliasChoices("top_k", "limit"),
            ),
        ] = 5,
    ) -> str | ToolOutput:
        """Search long-term memory for information about the user.

        Finds stored facts, what was said in past conversations and what pages of the
        vault say. Call it
        before you answer a question about the user, their life, or anything
        they may have told earlier, unless the recalled memories in the message
        answer it already.
        """
        hits = await self.recall.search(
            context.principal, query, top_k, kinds={FACT, TURN, PAGE} & {*self.recall.kinds}
        )
        hits = [hit for hit in hits if hit.kind == FACT or hit.score >= self.least_score]
        facts = await self.memory.get(context.principal, [hit.id for hit in hits])
        if (sight := await self.memory.sight(context.principal)) is not None:
            facts = [fact and sight.fact(fact) for fact in facts]
        found = [(hit, fact) for hit, fact in zip(hits, facts, strict=True) if hit.kind != FACT or fact]
        if not found:
            return NOTHING_FOUND.format(query=query)
        noun = "memory" if len(found) == 1 else "memories"
        is_near = any(hit.near for hit, _ in found)
        entries = [
            _entry(position, hit, fact, label=context.label(hit.id))
            for position, (hit, fact) in enumerate(found, 1)
        ]
        return ToolOutput(
            "\n\n".join((f"Found {len(found)} {noun}:", *entries, *([NEAR_ONLY] if is_near else []))),
            memories=tuple(hit.id for hit, _ in found),
            structured={"near": is_near, "scores": {hit.id: hit.score for hit, _ in found}},
            untrusted=any(hit.untrusted for hit, _ in found),
        )


async def _stored(context: ToolContext, memory: Memory, new: NewFact) -> str | ToolOutput:
    """Let a fact into the memory as the word of whoever said it, and tell what became of it."""
    evidence = context.evidence()
    origin = "owner" if evidence is None else origin_of(new.content, evidence)
    if origin != "owner" and new.links and await _is_told_now(context, memory, new):
        # It was theirs a call ago: only how it stands to others is new.
        origin = "owner"
    if not new.links:
        if origin == "recalled":
            return KNOWN.format(content=new.checked().content)
        if origin == "nobody" and (known := await memory.search(context.principal, new.content, k=1)):
            fact, score = known[0]
            if score >= _RESTATED:
                return ToolOutput(KNOWN.format(content=fact.content), memories=(fact.id,))
    if origin == "untrusted":
        new = replace(new, source=msgspec.structs.replace(new.source, kind="tool"))
    new = replace(new, suggested=origin in {"nobody", "recalled"})
    changed = await memory.add(context.principal, new, forgotten=context.forgotten)
    for event in _change_events(changed):
        context.emit(event)
    return _with_near(context, _reply(changed), changed)


async def _is_told_now(context: ToolContext, memory: Memory, new: NewFact) -> bool:
    """Whether the answer to this message stored the very same before, as the owner's word."""
    (same,) = await memory.said(context.principal, [new.checked().content])
    return any(
        fact.state == "active"
        and fact.trust == "owner"
        and any(source.message == context.message for source in fact.sources)
        for fact in same
    )


def _ids(context: ToolContext, named: Sequence[str]) -> tuple[str, ...]:
    """The ids of memories, from the short names that the model was given or as they are."""
    given = [name.strip(" []") for name in named]
    return tuple(dict.fromkeys(context.named(name) or name for name in given if name))


def since_of(text: str, time_zone: str) -> int | None:
    """The beginning of a day, month or year in the owner's zone, microseconds UTC; None of an empty text.

    Raises:
        BadInput: it is none.
    """
    if not text.strip():
        return None
    year, _, rest = text.strip().partition("-")
    month, _, day = rest.partition("-")
    try:
        begun = datetime(int(year), int(month or 1), int((day or "1")[:2]), tzinfo=ZoneInfo(time_zone))
        return to_us(begun)
    except (ValueError, OverflowError) as error:
        raise BadInput(
            f"valid_from is {text[:40]!r}: give a date such as 2026-03-01. Nothing was stored."
        ) from error


def _with_near(context: ToolContext, reply: str | ToolOutput, changed: FactChange) -> str | ToolOutput:
    """The reply with what is near, by the ids that one more call can name."""
    output = reply if isinstance(reply, ToolOutput) else ToolOutput(reply, memories=(changed.fact.id,))
    if output.error is not None or not changed.near:
        return reply
    lines = [
        f"- [{context.label(fact.id) or fact.id}] {' '.join(fact.content.split())[:_NEAR_CHARS]}"
        for fact in changed.near
    ]
    return replace(
        output,
        text="\n".join((output.text, _NEAR, *lines)),
        memories=(*output.memories, *(fact.id for fact in changed.near)),
        untrusted=any(fact.trust == "untrusted" for fact in changed.near),
    )


def in_words(message: ToolMessage) -> str:
    """What a tool of this file answered, as a person reads it: without what is for a model."""
    if message.error is not None:
        return message.content
    return _found_in_words(message) if message.name == SEARCH else message.content.partition(f"\n{_NEAR}")[0]


def _found_in_words(message: ToolMessage) -> str:
    """What answers, else what is nearest."""
    found = [_told(entry) for entry in message.content.split("\n\n")[1:]]
    known = [(line, score) for line, score in found if line]
    if not known:
        return "Nothing in your memory answers that."
    is_near = message.content.endswith(NEAR_ONLY)
    count = 0 if is_near else answering([score for _, score in known])
    lines = "\n".join(f"- {line}" for line, _ in known[: count or _NEAREST])
    if count:
        return f"From your memory:\n\n{lines}"
    if not known[0][1]:
        return "Nothing in your memory answers that."
    return f"Nothing in your memory answers that. Nearest to it:\n\n{lines}"


def _told(entry: str) -> tuple[str, float]:
    """The line and the score of what `_entry` shows."""
    listed = _LISTED.search(entry)
    shown = dict(_SHOWN.findall(entry))
    if listed is None:
        return "", 0.0
    notes = [shown[name] for name in ("Said", "Page") if name in shown]
    notes += [f"until {shown['True until']}"] if "True until" in shown else []
    notes += [shown["Doubt"]] if "Doubt" in shown else []
    notes += ["with a text that was pasted"] if f"   {_PASTED}: " in entry else []
    line = listed[1] + (f" ({'; '.join(notes)})" if notes else "")
    return line, float(shown.get("Similarity", "0"))


def listed_memories(message: ToolMessage) -> list[str] | None:
    """The memories that an answer of `search_memory` or `store_memory` lists; None if it lists none."""
    if message.name == STORE:
        return _NEAR_LINE.findall(message.content) or None
    return _LISTED.findall(message.content) if message.name in (SEARCH, _ALIAS) else None


def _change_events(changed: FactChange) -> Iterator[MemoryChanged]:
    """What became of the fact, and of each that it took the place of."""
    if changed.undo is not None:
        yield MemoryChanged(
            change=changed.change, ids=(changed.fact.id,), text=changed.fact.content, undo=changed.undo
        )
    for other in changed.others:
        if other.state in ("superseded", "corrected", "merged"):
            yield MemoryChanged(change=other.state, ids=(other.id,), text=other.content, undo=changed.undo)


def _reply(changed: FactChange) -> str | ToolOutput:
    fact = changed.fact
    match changed.change:
        case "suggested":
            return ToolOutput(WAITS.format(content=fact.content), error="awaits_review")
        case "retracted":
            return ToolOutput(REJECTED.format(content=fact.content), error="rejected_before")
        case "merged":
            known = "it waits for review" if fact.state == "suggested" else "it was known already"
            notes = [known, *_notes(changed)]
            return ToolOutput(f"Memory stored: {fact.content} ({'; '.join(notes)})", memories=(fact.id,))
        case _:
            notes = _notes(changed)
            return f"Memory stored: {fact.content}" + (f" ({'; '.join(notes)})" if notes else "")


def _notes(changed: FactChange) -> list[str]:
    """What became of others, in words."""
    notes: list[str] = []
    for state, verb, behind in _BESIDE:
        told = [f'"{other.content}"' for other in changed.others if other.state == state]
        ahead = [other.valid_until for other in changed.others if other.state == "active" == state]
        if told and state == "active" and all(ahead) and changed.fact.valid_from in ahead:
            notes.append(f"until then {' and '.join(told)} holds")
        elif told:
            notes.append(f"{verb} {' and '.join(told)}{behind}")
    return notes


_BESIDE = (
    ("superseded", "replaces", ""),
    ("corrected", "corrects", ""),
    ("merged", "takes in", ""),
    ("active", "contradicts", ": both are kept"),
)


def _entry(position: int, hit: Hit, fact: Fact | None, *, label: str) -> str:
    """A fact as spec 002 shows it, or what was said: by whom, when, and in which conversation."""
    similarity = {"Similarity": f"{hit.score:.2f}"}
    if hit.kind == PAGE:
        shown = {"Page": (hit.source or "").partition(":")[2]} | similarity
    elif fact is None:
        shown = {"Said": f"{hit.at:%Y-%m-%d} by {_WHO.get(hit.speaker or '', hit.speaker)}"}
        shown |= similarity | {"Source": f"conversation {hit.conversation}"}
    else:
        shown = {"Category": fact.category, "Importance": f"{fact.importance:g}"} | similarity
        if hit.valid_until is not None:
            shown["True until"] = f"{hit.valid_until:%Y-%m-%d}"
        if hit.doubt is not None:
            shown["Doubt"] = hit.doubt
    head = " | ".join(f"**{name}:** {value}" for name, value in shown.items())
    own, others = parted(hit.text) if hit.pasted else (hit.text, "")
    lines = [f"{position}. {head}", f"   Content: {_line(own)}" + (f" [{label}]" if label else "")]
    lines += [f"   {_PASTED}: {_line(others)}"] if others else []
    return "\n".join([*lines, f"   Topics: {', '.join(fact.topics)}"] if fact and fact.topics else lines)


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"
