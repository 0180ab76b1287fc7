"""A model that plays a script inside the process: the test double that ships with Bethink.

Tests of the loop and of the doors give it answers; `scripted:` in the settings
makes it play the demonstration. It is deterministic and never reaches out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from bethink.errors import InvalidResponse, LlmError
from bethink.events import ReasoningDelta, TextDelta, Warned
from bethink.llm import Delta, Finish, LlmRequest, ToolCallDelta
from bethink.llm.script import Asked, Reply, ScriptedCall, demonstration
from bethink.messages import ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

CHUNK_CHARACTERS = 8
"""How much text a delta carries unless told: several deltas for most sentences."""
_CHARACTERS_A_TOKEN = 4


@runtime_checkable
class Gate(Protocol):
    """Something to wait for, such as `anyio.Event`: holds an answer where a test wants it held."""

    async def wait(self) -> object:
        """Return once the answer may go on."""
        ...


Part: TypeAlias = str | ReasoningDelta | ScriptedCall | Warned | Finish | LlmError | Gate
Answer: TypeAlias = Part | Reply | Sequence[Part]
"""Text, calls, errors to raise and gates to wait for, in the order they happen."""


class ScriptedLlm:
    """Answers from `script`: a list used up in order, rules, or a function.

    A mapping's keys are regular expressions searched in the last user message,
    in order. `requests` holds what was asked, `closed` whether `close` was
    called. An answer without a `Finish` of its own ends in a fitting one.
    """

    def __init__(
        self,
        script: Sequence[Answer] | Mapping[str, Answer] | Callable[[LlmRequest], Answer] | None = None,
        *,
        name: str = "scripted:demo",
        context_tokens: int = 32_768,
        chunk_characters: int = CHUNK_CHARACTERS,
        sees: bool = False,
        unreachable: str | None = None,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.sees = sees
        self.requests: list[LlmRequest] = []
        self.closed = False
        self._chunk_characters = chunk_characters
        self._unreachable = unreachable
        self._call_numbers = itertools.count(1)
        self._answer = _answers(script)

    async def learn(self) -> None:
        """Nothing is to be learned of it."""

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """The script's answer to this request.

        Raises:
            InvalidResponse: the script has no answer to this.
            LlmError: what the script says.
        """
        self.requests.append(request)
        finished = False
        written = calls = 0
        for part in _parts(self._answer(request)):
            for delta in self._deltas(part, calls):
                finished = finished or isinstance(delta, Finish)
                written += len(delta.text) if isinstance(delta, TextDelta) else 0
                yield delta
            calls += isinstance(part, ScriptedCall)
            if isinstance(part, LlmError):
                raise part
            if isinstance(part, Gate):
                await part.wait()
        if not finished:
            yield self._finish(request, written, calls)

    async def probe(self) -> str | None:
        """What the constructor was told."""
        return self._unreachable

    async def close(self) -> None:
        """Remember that it was called."""
        self.closed = True

    def _deltas(self, part: Part, index: int) -> Iterator[Delta]:
        match part:
            case str():
                for start in range(0, len(part), self._chunk_characters):
                    yield TextDelta(text=part[start : start + self._chunk_characters])
            case ScriptedCall():
                call_id = part.id or f"call_{next(self._call_numbers)}"
                arguments = part.arguments_text()
                half = len(arguments) // 2
                yield ToolCallDelta(index, call_id, part.name, arguments[:half])
                yield ToolCallDelta(index, arguments=arguments[half:])
            case ReasoningDelta() | Warned() | Finish():
                yield part
            case _:
                return

    def _finish(self, request: LlmRequest, written: int, calls: int) -> Finish:
        read = len(request.system) + sum(len(message.content) for message in request.messages)
        return Finish(
            "tool_calls" if calls else "stop",
            self.name,
            input_tokens=read // _CHARACTERS_A_TOKEN,
            output_tokens=written // _CHARACTERS_A_TOKEN,
        )


def asked_of(request: LlmRequest) -> Asked:
    """What a script sees of a request."""
    user = ""
    results: list[str] = []
    for message in request.messages:
        if isinstance(message, UserMessage):
            user, results = message.content, []
        elif isinstance(message, ToolMessage):
            results.append(message.content)
    return Asked(user, tuple(results), frozenset(tool.name for tool in request.tools))


def _answers(
    script: Sequence[Answer] | Mapping[str, Answer] | Callable[[LlmRequest], Answer] | None,
) -> Callable[[LlmRequest], Answer]:
    if script is None:
        return lambda request: demonstration(asked_of(request))
    if callable(script):
        return script
    if isinstance(script, Mapping):
        rules = script
        return lambda request: _first_match(rules, asked_of(request).user)
    rest = iter(script)
    return lambda _: _next(rest)


def _first_match(rules: Mapping[str, Answer], user: str) -> Answer:
    for pattern, answer in rules.items():
        if re.search(pattern, user, re.IGNORECASE):
            return answer
    raise InvalidResponse(f"The script has no answer to {user[:80]!r}.")


def _next(rest: Iterator[Answer]) -> Answer:
    for answer in rest:
        return answer
    raise InvalidResponse("The script has no further answer.")


def _parts(answer: Answer) -> Sequence[Part]:
    if isinstance(answer, Reply):
        return _parts_of_reply(answer)
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return answer
    return (answer,)


def _parts_of_reply(reply: Reply) -> list[Part]:
    parts: list[Part] = []
    if reply.reasoning:
        parts.append(ReasoningDelta(text=reply.reasoning))
    if reply.text:
        parts.append(reply.text)
    parts.extend(reply.tool_calls)
    if reply.finish is not None:
        parts.append(Finish(reply.finish, "scripted"))
    return parts
