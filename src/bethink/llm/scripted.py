"""A model that plays a script inside the process: the test double that ships with Bethink.

Tests of the loop and of the doors give it answers; `scripted:` in the settings
makes it play the demonstration. It is deterministic and never reaches out.
A script is a list of rules, the first that fits answers; without rules the built-in demonstration
does. Nothing here understands language.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from bethink.errors import InvalidResponse, LlmError
from bethink.events import ReasoningDelta, TextDelta, Warned
from bethink.llm import Delta, Finish, FinishReason, LlmRequest, ToolCallDelta
from bethink.messages import ToolMessage, UserMessage

Fault = Literal[
    "no_answer",  # the connection is closed before any byte
    "hang",  # headers, then silence
    "hang_midstream",  # half the answer, then silence
    "close_midstream",  # half the answer, then the connection breaks
    "half_tool_call",  # the answer ends cleanly inside a call's arguments, without a finish reason
    "empty",  # a stream that says only that it is done
    "no_finish",  # all of the text, and the end of the stream without a finish reason
    "garbage",  # an event stream of bytes that mean nothing
    "html",  # a page, as a wrong address or a proxy answers
    "error_in_stream",  # half the answer, then an `error` object
    "plain_json",  # one JSON document although a stream was asked for
]

_LABEL: Final = "I am a script, not a language model."


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call to make; `arguments` is an object, or text to be sent as it is, broken or not."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""

    def arguments_text(self) -> str:
        """The arguments as a model would write them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class Reply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of the model, or one way in which its server fails.

    `status`, `headers`, `body` and `fault` exist over HTTP only; `delay_ms`
    passes before each chunk. Tokens are counted as four characters each unless
    `usage` is false.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    finish: FinishReason | None = None
    usage: bool = True
    chunk_characters: int | None = None
    delay_ms: float | None = None
    status: int = 200
    headers: dict[str, str] = {}
    body: str | None = None
    fault: Fault | None = None

    @property
    def finish_reason(self) -> FinishReason:
        """Why the answer ends."""
        return self.finish or ("tool_calls" if self.tool_calls else "stop")


class Rule(Reply, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reply and when it is given.

    `when` is a regular expression searched in the last user message (without
    case), `after_tool` asks whether tools have answered since that message,
    and `times` says how often the rule applies before it is used up.
    """

    when: str = ""
    after_tool: bool | None = None
    times: int | None = None

    def fits(self, asked: ScriptInput) -> bool:
        """Whether this rule answers; its `times` apart."""
        if self.after_tool is not None and self.after_tool != bool(asked.tool_results):
            return False
        return re.search(self.when, asked.user, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class ScriptInput:
    """What a script may look at: the last user message, what tools answered since, tools offered."""

    user: str
    tool_results: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()


Script: TypeAlias = Callable[[ScriptInput], Reply]


class Rules:
    """A script of rules; what none of them answers goes to the demonstration.

    Raises:
        re.error: a rule's `when` is no regular expression.
    """

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        for rule in rules:
            re.compile(rule.when)
        self._rules = rules
        self._used = [0] * len(rules)

    @classmethod
    def decode(cls, data: bytes) -> Rules:
        """Rules from a JSON array.

        Raises:
            msgspec.ValidationError: it is not such an array.
            re.error: see above.
        """
        return cls(msgspec.json.decode(data, type=tuple[Rule, ...]))

    def __call__(self, asked: ScriptInput) -> Reply:
        """The reply of the first rule that fits and is not used up."""
        for place, rule in enumerate(self._rules):
            if rule.fits(asked) and (rule.times is None or self._used[place] < rule.times):
                self._used[place] += 1
                return rule
        return demonstration(asked)


# The demonstration

_NAME = re.compile(r"\bmy name(?:'s|’s| is) ([^\W\d_][\w'’-]*)", re.IGNORECASE)
_CITY = re.compile(r"\bI(?: now)? live in ([^\W\d_][\w'’ -]*?)(?= and |[.,;!?\n]|$)", re.IGNORECASE)
_REMEMBER = re.compile(r"\b(?:please )?remember(?: that|:)? (.{1,400})", re.IGNORECASE)
_BLOCK = re.compile(r"<recalled_memories[^>]*>(.*?)</recalled_memories>", re.DOTALL)
_QUESTION = re.compile(r"\?|^\s*(?:who|what|where|when|which|how|do|does|did|is|are|am)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]{3,}")
_COMMON: Final = frozenset(
    {
        *("the", "and", "are", "was", "what", "where", "when", "which", "who", "how", "does", "did"),
        *("you", "your", "know", "about", "have", "has", "tell", "user", "can"),
    }
)
_STEM: Final = 4
"""Words that begin with the same letters count as one: `live` finds `lives`."""


class _Line(msgspec.Struct):
    text: str


_LEARNING: Final = '{"known":'
"""How a request for facts begins: the demonstration stores them when they are told."""


def demonstration(asked: ScriptInput) -> Reply:
    """The built-in script: stores what it is told, quotes what it is given, and says what it is."""
    if asked.user.startswith(_LEARNING):
        return Reply(text='{"changes": []}')
    said = _BLOCK.sub("", asked.user)
    facts = _facts(said)
    if asked.tool_results:
        answered = " / ".join(result.strip().partition("\n")[0] for result in asked.tool_results)
        noted = " ".join(facts) or "Done."
        return Reply(text=f"{noted} The tools answered: {answered} ({_LABEL})")
    if facts and "store_memory" in asked.tools:
        return Reply(tool_calls=tuple(_store(fact) for fact in facts))
    if _QUESTION.search(said):
        return Reply(text=_quote(said, recalled_texts(asked.user)))
    return Reply(text=f"{_LABEL} Tell me your name or where you live, or ask me about it.")


def recalled_texts(message: str) -> list[str]:
    """The texts of the recalled memories inside a user message, in order."""
    texts: list[str] = []
    for block in _BLOCK.findall(message):
        for line in block.splitlines():
            try:
                texts.append(msgspec.json.decode(line, type=_Line).text)
            except msgspec.DecodeError:
                continue
    return texts


def _facts(said: str) -> list[str]:
    """What is told about the speaker, as sentences about the user."""
    if _QUESTION.search(said):
        return []
    facts: list[str] = []
    if name := _NAME.search(said):
        facts.append(f"User's name is {name[1]}.")
    if city := _CITY.search(said):
        facts.append(f"User lives in {city[1].strip()}.")
    if not facts and (other := _REMEMBER.search(said)):
        facts.append(other[1].strip())
    return facts


def _store(fact: str) -> ScriptedCall:
    return ScriptedCall(
        "store_memory", {"content": fact, "category": "personal_info", "importance": 0.9, "topics": []}
    )


def _quote(question: str, texts: list[str]) -> str:
    """The text that shares the most words with the question."""
    wanted = _stems(question)
    best = max(texts, key=lambda text: len(wanted & _stems(text)), default="")
    if not wanted & _stems(best):
        return f"I do not know: nothing that I was given about you answers this. ({_LABEL})"
    return f"From what I remember: {best} ({_LABEL})"


def _stems(text: str) -> set[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return {word[:_STEM] for word in words if word not in _COMMON}


CHUNK_CHARACTERS = 8
"""How much text a delta carries unless told: several deltas for most sentences."""
_CHARACTERS_A_TOKEN = 4


@runtime_checkable
class AnswerGate(Protocol):
    """Something to wait for, such as `anyio.Event`: holds an answer where a test wants it held."""

    async def wait(self) -> object:
        """Return once the answer may go on."""
        ...


Part: TypeAlias = str | ReasoningDelta | ScriptedCall | Warned | Finish | LlmError | AnswerGate
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
            if isinstance(part, AnswerGate):
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


def asked_of(request: LlmRequest) -> ScriptInput:
    """What a script sees of a request."""
    user = ""
    results: list[str] = []
    for message in request.messages:
        if isinstance(message, UserMessage):
            user, results = message.content, []
        elif isinstance(message, ToolMessage):
            results.append(message.content)
    return ScriptInput(user, tuple(results), frozenset(tool.name for tool in request.tools))


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
