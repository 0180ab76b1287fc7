"""May a call run by itself? `agent/loop` asks for every call, before it is made.

What the owner's own tools read and write is theirs; what destroys asks. What
leaves this machine asks as soon as somebody else's words stand in the context,
since those may be what asked for it: unless the owner, or a search of theirs,
gave the very address. Detection of attacks plays no part here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bethink.across.common_words import COMMON_WORDS
from bethink.agent.evidence import evidence_of
from bethink.agent.offered import reads
from bethink.tool import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bethink.agent.request import RunRequest
    from bethink.agent.rules import Decision, Rules
    from bethink.agent.toolbox import Prepared, Toolbox
    from bethink.principal import Principal
    from bethink.tool import Tool

READ_ONLY = "This key may only read."
NO_WRITE = "This key may not change anything: it has not the scope write."
NO_READ = "This key may not read: it has not the scope read."
_FINAL = "This cannot be undone."
_ASKED = "You chose to be asked about this tool."
_SENDS = "Something from outside stands in this conversation, and this would send out of this machine: {}"
_MAX_SHOWN = 200
_MANY = 3
"""So many calls of one message that change records are a bulk change: a person looks at it first."""
_BULK = "This would change {} records at once."

_BREAKS = re.compile(r"[\s<>\"'`|()\[\]{}]+")
_WORD = re.compile(r"\w+")
_MIN_WORD = 3
_TELLING = 4
"""Shorter texts stand in many a sentence by chance: alone they do not show what the owner asked for."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`auto` runs it, `ask` waits for the owner, `deny` tells the model no. `reason` is for people."""

    decision: Decision
    reason: str = ""


AUTO = Verdict("auto")


@dataclass(frozen=True, slots=True)
class Policy:
    """Judges calls. `settings` are this Bethink's own rules, by a tool's name or pattern, or by effect."""

    rules: Rules
    toolbox: Toolbox
    settings: Mapping[str, Decision]

    async def verdicts(self, request: RunRequest, calls: Sequence[Prepared]) -> list[Verdict]:
        """A verdict over each call, in order."""
        if not calls:
            return []
        own = await self.rules.among(request.principal, [call.tool for call in calls])
        changing = sum(call.tool.critical is not None for call in calls)
        return [
            judge(
                _of_many(call.tool, changing),
                call.arguments,
                request.principal,
                rule=self._rule(call.tool, own),
                evidence=lambda: evidence_of(request),
            )
            for call in calls
        ]

    async def verdict(self, principal: Principal, call: Prepared) -> Verdict:
        """A verdict over a call that another program makes for its owner: of its context nothing is known."""
        own = await self.rules.among(principal, [call.tool])
        return judge(call.tool, call.arguments, principal, rule=self._rule(call.tool, own))

    def _rule(self, tool: Tool, own: Mapping[str, Decision]) -> Decision | None:
        """The rule that holds: this Bethink's where it denies, else the owner's, else this Bethink's.

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


def _of_many(tool: Tool, changing: int) -> Tool:
    """The tool as one of so many that change records at once."""
    if tool.critical is None or changing < _MANY:
        return tool

    def critical(arguments: dict[str, object]) -> str:
        del arguments
        return _BULK.format(changing)

    return replace(tool, critical=critical)


def judge(
    tool: Tool,
    arguments: Mapping[str, object],
    principal: Principal,
    *,
    evidence: Callable[[], Evidence] = Evidence,
    rule: Decision | None = None,
) -> Verdict:
    """The verdict over one call; `evidence` is asked for only where it decides.

    A rule cannot let by itself run what destroys, nor what the key may not do.
    """
    if tool.effect in ("write", "destructive") and "write" not in principal.rights:
        return Verdict("deny", READ_ONLY if "read" in principal.rights else NO_WRITE)
    if (reads(tool) or tool.effect == "destructive") and "read" not in principal.rights:
        # What cannot be undone shows first what would go.
        return Verdict("deny", NO_READ)
    if rule == "deny":
        return Verdict("deny", f"{tool.name} is not allowed here.")
    if tool.effect == "destructive":
        return Verdict("ask", _FINAL)
    if rule is not None:
        return Verdict("ask", _ASKED) if rule == "ask" else AUTO
    if tool.critical is not None and (why := tool.critical(dict(arguments))):
        return Verdict("ask", why)
    if tool.effect != "egress":
        return AUTO
    context = evidence()
    if not (context.outside or context.untrusted):
        return AUTO
    gives = [tool.name] if tool.gives is None else tool.gives(dict(arguments))
    own = [text for text in gives if not _was_given(text, context, public=tool.public)]
    if not tool.public and all(len(text) < _TELLING for text in gives):
        # "Meet me on the 13th" is no word about file 13.
        own = [*gives]
    return Verdict("ask", _SENDS.format(_shown(own))) if own else AUTO


def _was_given(text: str, context: Evidence, *, public: bool) -> bool:
    """Whether owner or search gave it; of a `public` tool's words, whether they tell nothing private."""
    if "://" in text:
        parts = (part for said in context.said for part in (*_BREAKS.split(said), *said.split()))
        given = {_plain(part) for part in parts}
        return _plain(text) in given | {_plain(address) for address in context.addresses}
    if public:
        # In this order: what is private is little, and what strangers wrote may be fifty pages.
        private = _words([text]) & _words((*context.recalled, *context.own))
        return not private or private <= _words((*context.said, *context.untrusted))
    wanted = _phrase(text)
    return any(wanted in _phrase(said) for said in context.said)


def _phrase(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _plain(address: str) -> str:
    """An address as people write it: without its scheme, its end and the marks around it."""
    # Behind the first scheme: a second one stands inside an address that leads elsewhere.
    before, scheme, behind = address.strip(".,;:!?").partition("://")
    rest = behind if scheme else before
    host, slash, path = rest.partition("/")
    return f"{host.casefold()}{slash}{path}".rstrip("/")


def _words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _WORD.findall(text.casefold()) if len(word) >= _MIN_WORD}
    return words - COMMON_WORDS


def _shown(texts: Sequence[str]) -> str:
    shown = ", ".join(texts)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[: _MAX_SHOWN - 1]}…"
