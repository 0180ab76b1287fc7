"""Thoughts and calls that a model wrote into its text, because its server has no parser for them.

`llm/models.py` puts `MarkupLlm` around every model that is not spoken to by tags of its own (`tagged`). The
loop then sees reasoning and calls, like of any other model.

A `<think>` at the beginning of a line begins thoughts. Templates that write it into the prompt leave
only its end in the answer: what stood before it were thoughts. Both count outside of code alone, and,
where the person spoke of such tags, at the answer's beginning alone.

Each family of models writes calls in a shape of its own. Sources: the chat templates and model cards of
Hermes, Qwen, Qwen3-Coder, GLM, Llama, Mistral, DeepSeek, Kimi and MiniMax; vLLM's documentation of its
tool parsers names them all.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, cast

import msgspec

from bethink.errors import InvalidResponse
from bethink.events import ReasoningDelta, TextDelta, TextSoFar
from bethink.llm import Delta, Finish, Llm, LlmRequest, LlmWrapper, ToolCallDelta, ToolSchema
from bethink.llm.capabilities import Capabilities, Learnt
from bethink.messages import Message, ToolMessage, UserMessage

OPENERS: Final = (
    *("<tool_call>", "<function=", "<function_calls>", "<minimax:tool_call>", "<|python_tag|>"),
    *("[TOOL_CALLS]", "<｜tool▁calls▁begin｜>", "<|tool_calls_section_begin|>"),
)
"""What a call, or the first of several, begins with."""

_NAME: Final = r"([\w.:-]+)"
_SHAPES: Final = (
    r"<tool_call>(?P<hermes>.*?)(?:</tool_call>|\Z)",
    r"(?P<coder><function=.*?(?:</function>|\Z))",
    r"<\|python_tag\|>(?P<llama>.*?)(?:<\|e\w+_id\|>|\Z)",
    r"\[TOOL_CALLS\](?P<mistral>.*?)(?=\[TOOL_CALLS\]|\Z)",
    r"(?P<invoke><invoke name=.*?</invoke>)",
    r"<｜tool▁call▁begin｜>(?P<deepseek>.*?)<｜tool▁call▁end｜>",
    r"<\|tool_call_begin\|>(?P<kimi>.*?)<\|tool_call_end\|>",
    r"\A(?P<bare>\s*\{.*\}\s*)\Z",
)
_BLOCKS: Final = re.compile("|".join(_SHAPES), re.DOTALL)
_WRAPPERS: Final = re.compile(
    r"</?function_calls>|</?minimax:tool_call>|<｜tool▁calls▁(?:begin|end)｜>|<\|tool_calls_section_\w+\|>"
)
_CODER: Final = re.compile(rf"\s*<function={_NAME}>(.*?)(?:</function>\s*)?", re.DOTALL)
_PARAMETER: Final = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_GLM: Final = re.compile(rf"\s*{_NAME}\s*((?:<arg_key>.*)?)", re.DOTALL)
_GLM_ARGUMENT: Final = re.compile(r"<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_INVOKE: Final = re.compile(r"<invoke name=[\"']?([\w.:-]+)[\"']?>(.*?)</invoke>", re.DOTALL)
_INVOKED: Final = re.compile(r"<parameter name=[\"']?([\w.-]+)[\"']?>(.*?)</parameter>", re.DOTALL)
_MISTRAL: Final = re.compile(rf"\s*+{_NAME}\s*+(?:\[CALL_ID\]\w+)?\s*+(?:\[ARGS\])?\s*+(\{{.*)", re.DOTALL)
_DEEPSEEK: Final = re.compile(
    rf"\s*+(?:function\s*+<｜tool▁sep｜>)?\s*+{_NAME}\s*+(?:<｜tool▁sep｜>)?\s*+(?:```json)?\s*+(\{{.*\}})\s*(?:```)?\s*",
    re.DOTALL,
)
_KIMI: Final = re.compile(
    r"\s*(?:functions\.)?([\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*(\{.*\})\s*", re.DOTALL
)
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
_MOST_CALLS: Final = 32


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call: its arguments as JSON text, and the `source` that it was read from."""

    name: str
    arguments: str
    source: str


def calls_in(text: str, offered: Mapping[str, ToolSchema]) -> tuple[list[WrittenCall], str]:
    """The calls of offered tools in a text, in order, and the text without them; what is none stays in it."""
    calls: list[WrittenCall] = []
    rest: list[str] = []
    end = 0
    for block in _BLOCKS.finditer(text):
        found = list(_read(block, offered))
        if not found or len(calls) + len(found) > _MOST_CALLS:
            continue
        calls += found
        rest.append(text[end : block.start()])
        end = block.end()
    rest.append(text[end:])
    left = "".join(rest)
    return calls, _WRAPPERS.sub("", left).strip() if calls else left


def _read(block: re.Match[str], offered: Mapping[str, ToolSchema]) -> Iterator[WrittenCall]:
    """The calls of one block, all of tools that are offered; none if one is not."""
    shape, said = block.lastgroup or "", block[block.lastgroup or 0]
    found = list(_pairs(shape, said, offered))
    if all(name in offered and isinstance(given, dict) for name, given in found):
        for name, given in found:
            yield WrittenCall(name, json.dumps(given, ensure_ascii=False), said)


def _pairs(shape: str, said: str, offered: Mapping[str, ToolSchema]) -> Iterator[tuple[str, object]]:
    """Names and arguments, as one shape has them."""
    tagged = {"coder": (_CODER, _PARAMETER), "invoke": (_INVOKE, _INVOKED)}
    if shape == "hermes":
        shape = "coder" if said.lstrip().startswith("<function=") else shape
        if _GLM.fullmatch(said):
            tagged["hermes"] = _GLM, _GLM_ARGUMENT
    if shape in tagged:
        whole, parts = tagged[shape]
        if (found := whole.fullmatch(said)) is not None:
            texts: dict[str, str] = dict(parts.findall(found[2]))
            written = list(_values(found[2]))
            yield found[1], written[0] if written else _typed(texts, offered.get(found[1]))
        return
    named = {"mistral": _MISTRAL, "deepseek": _DEEPSEEK, "kimi": _KIMI}.get(shape)
    if named is not None and (found := named.fullmatch(said)) is not None:
        for given in _values(found[2]):
            yield found[1], given
        return
    for value in _values(said):
        yield from _of_object(value)


def _of_object(value: object) -> Iterator[tuple[str, object]]:
    """An object with a name and arguments, one around it, or a list of such."""
    if isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _of_object(one)
        return
    held = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    inner = held.get("function")
    if isinstance(inner, dict):
        held = cast("dict[str, Any]", inner)
    given: object = next((held[key] for key in _ARGUMENTS if key in held), dict[str, Any]())
    if isinstance(given, str):
        given = next(_values(given), None)
    yield str(held.get("name") or cast("object", inner) or ""), given


def _values(text: str) -> Iterator[object]:
    """The JSON values of a text, one behind another; none if there is anything else."""
    decoder = json.JSONDecoder()
    values: list[object] = []
    text = text.strip()
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            return
        values.append(value)
        text = text[end:].lstrip(" \t\r\n;,")
    yield from values


def _typed(texts: Mapping[str, str], tool: ToolSchema | None) -> dict[str, object]:
    """Arguments that were written as texts, as the tool's schema has them."""
    properties: Mapping[str, Any] = {} if tool is None else tool.parameters.get("properties", {})
    typed: dict[str, object] = {}
    for name, text in texts.items():
        schema = properties.get(name, {})
        is_text = isinstance(schema, dict) and cast("dict[str, Any]", schema).get("type") == "string"
        values = [] if is_text else list(_values(text))
        typed[name] = values[0] if len(values) == 1 else text
    return typed


Said = ReasoningDelta | TextDelta | TextSoFar

_NAMES: Final = ("think", "thinking", "thought")
_TAG: Final = re.compile(rf"<(/?)(?:{'|'.join(_NAMES)})>", re.IGNORECASE)
_CALL: Final = re.compile("|".join(map(re.escape, OPENERS)), re.IGNORECASE)
_EITHER: Final = re.compile(rf"{_TAG.pattern}|{_CALL.pattern}", re.IGNORECASE)
_STARTS: Final = tuple(
    one.lower() for one in (*(f"<{end}{name}>" for name in _NAMES for end in ("", "/")), *OPENERS)
)
_LONGEST: Final = max(map(len, _STARTS))
_OBJECT: Final = re.compile(r'\{\s*"(?:name|type|function)"\s*:')
"""A call without any tag, as Llama writes it: it is the whole answer."""
_BEGUN_OBJECT: Final = re.compile(r'\{\s*(?:"[a-z]{0,8}(?:"\s*)?)?')
_SPOKEN_OF: Final = re.compile(
    rf"</?(?:{'|'.join(_NAMES)}|tool_call)|(?:{'|'.join(_NAMES)}|tool.?call)\W{{0,2}} ?tags?\b", re.IGNORECASE
)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNOPENED: Final = (
    *("*deepseek-r1*", "*qwq*"),
    *(f"{provider}:*thinking*" for provider in ("vllm", "llamacpp", "mlx", "gguf", "ollama")),
)
"""Models whose templates write `<think>` into the prompt, unless their server has a parser for them."""


class _Code:
    """Whether the end of a text stands in code: in a fence, or between backticks."""

    def __init__(self) -> None:
        self._fence = ""
        self._new: list[str] = []

    def add(self, text: str) -> None:
        self._new.append(text)

    def line(self) -> str:
        """The last line so far; the lines before it are looked through once."""
        *lines, last = "".join(self._new).split("\n")
        for line in lines:
            if (mark := _FENCE.match(line)) is None:
                continue
            if not self._fence:
                self._fence = mark[1]
            elif mark[1].startswith(self._fence):
                self._fence = ""
        self._new = [last]
        return last

    def is_open(self) -> bool:
        return self.line().count("`") % 2 == 1 or bool(self._fence)


class Markup:
    """One answer, taken apart as it comes. If thoughts prove to be text, or text thoughts, all is told anew.

    `offered` are the tools that may be called, by name. `spoken_of` says that the person
    spoke of such tags, `unopened` that the answer begins with thoughts without a tag.
    """

    def __init__(
        self, offered: Mapping[str, ToolSchema], *, spoken_of: bool = False, unopened: bool = False
    ) -> None:
        self.was_unopened = False
        self.has_text = False
        self._offered = offered
        self._spoken_of = spoken_of
        self._assumed = unopened
        self._inside: Literal["text", "thoughts", "call"] = "thoughts" if unopened else "text"
        self._has_thought = False
        self._buffer = ""
        self._tag = ""
        self._space = ""
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._held: list[str] = []
        self._code = _Code()

    def reasoned(self) -> Iterator[Said]:
        """The server told thoughts apart itself: the text is text."""
        self._has_thought = True
        if self._assumed:
            self._assumed = False
            self._inside = "text"
            held, self._thoughts = "".join(self._thoughts), []
            yield from self._say(held)

    def passes(self, text: str) -> bool:
        """Whether a piece is text and nothing else, as nearly all are; it counts as said."""
        if self._inside != "text" or self._buffer or not self.has_text or "<" in text or "[" in text:
            return False
        self._texts.append(text)
        self._code.add(text)
        return True

    def feed(self, text: str) -> Iterator[Said]:
        """What more text says."""
        self._buffer += text
        while self._buffer:
            if self._inside == "call":
                self._held.append(self._buffer)
                self._buffer = ""
                return
            found = (_EITHER if self._inside == "text" else _TAG).search(self._buffer)
            if found is None:
                break
            before, self._buffer = self._buffer[: found.start()], self._buffer[found.end() :]
            yield from self._say(before)
            yield from self._meet(found)
        ready = len(self._buffer) - self._undecided()
        said, self._buffer = self._buffer[:ready], self._buffer[ready:]
        yield from self._say(said)

    def end(self) -> Iterator[Said]:
        """What is left to say; `written` has what may be calls."""
        said, self._buffer = self._buffer, ""
        yield from self._say(said)
        if self._inside == "thoughts" and (self._assumed or self._spoken_of):
            # It never ended: it was the answer.
            text, self._thoughts = "".join(self._thoughts), []
            self.has_text = bool(text.strip())
            yield TextSoFar(text="".join([*self._texts, self._tag, text]).lstrip())

    @property
    def written(self) -> str:
        """From what may be a call to the answer's end."""
        return "".join(self._held)

    def _undecided(self) -> int:
        """How many of the last characters may be the beginning of a tag."""
        tail = self._buffer[-_LONGEST:].lower()
        for start in range(len(tail)):
            if tail[start] in "<[" and any(one.startswith(tail[start:]) for one in _STARTS):
                return len(tail) - start
        if self._may_be_object() and _BEGUN_OBJECT.fullmatch(self._buffer.lstrip()):
            return len(self._buffer)
        return 0

    def _may_be_object(self) -> bool:
        return self._inside == "text" and bool(self._offered) and not self.has_text

    def _meet(self, tag: re.Match[str]) -> Iterator[Said]:
        """What a tag does; one that is only spoken of is text."""
        if _CALL.fullmatch(tag[0]):
            if self._offered and self._is_alone() and not self._spoken_of:
                self._inside = "call"
                self._held.append(tag[0])
            else:
                yield from self._say(tag[0])
        elif not tag[0].startswith("</"):
            yield from self._open(tag[0])
        else:
            yield from self._close(tag[0])

    def _open(self, tag: str) -> Iterator[Said]:
        if self._inside == "thoughts":
            if not (self._assumed and not "".join(self._thoughts).strip()):
                yield from self._say(tag)
            self._assumed = False
        elif self._is_alone() and not (self._spoken_of and self.has_text):
            self._inside, self._has_thought, self._space = "thoughts", True, ""
            self._code, self._tag = _Code(), tag
        else:
            yield from self._say(tag)

    def _close(self, tag: str) -> Iterator[Said]:
        if self._inside == "thoughts":
            if self._code.line().count("`") % 2 == 1:
                yield from self._say(tag)
                return
            self._inside, self._assumed, self._has_thought, self._space = "text", False, True, ""
            self._code = _Code()
        elif self._code.is_open() or self._spoken_of:
            yield from self._say(tag)
        elif not self._has_thought:
            thoughts = "".join(self._texts)
            self.was_unopened = self._has_thought = True
            self._texts, self._space, self.has_text = [], "", False
            self._code = _Code()
            yield TextSoFar(text="", reasoning=thoughts)

    def _is_alone(self) -> bool:
        """Whether a tag here begins a line, outside of code."""
        return not self._code.is_open() and not self._code.line().strip()

    def _say(self, text: str) -> Iterator[Said]:
        if not text:
            return
        if self._may_be_object() and _OBJECT.match(text.lstrip()):
            self._inside = "call"
            self._held.append(text)
            return
        self._code.add(text)
        if self._inside == "thoughts":
            text = text if self._thoughts or self._spoken_of else text.lstrip()
            if not text:
                return
            self._thoughts.append(text)
            yield ReasoningDelta(text=text)
            return
        if not self.has_text:
            # White space before an answer stays where nothing but the answer was written.
            whole = self._space + text
            if not whole.strip():
                self._space = whole
                return
            self.has_text = True
            text = whole.lstrip() if self._has_thought else whole
        self._texts.append(text)
        yield TextDelta(text=text)


class MarkupLlm(LlmWrapper):
    """A model whose text may hold thoughts and calls; `learnt` keeps that its thoughts have no beginning."""

    def __init__(self, inner: Llm, learnt: Learnt | None = None) -> None:
        super().__init__(inner)
        self._learnt = learnt or Learnt()

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """See `Llm.stream`.

        Raises:
            InvalidResponse: there were thoughts, and no answer.
        """
        known = await self._learnt.of(self.name, Capabilities())
        unopened = known.unopened or any(fnmatchcase(self.name.lower(), one) for one in _UNOPENED)
        markup = Markup(
            {tool.name: tool for tool in request.tools},
            spoken_of=_is_spoken_of(request.messages),
            unopened=unopened and request.response_format is None,
        )
        has_called = False
        async with aclosing(self._inner.stream(request)) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta():
                        if markup.passes(delta.text):
                            yield delta
                            continue
                        for said in markup.feed(delta.text):
                            yield said
                    case ReasoningDelta():
                        for said in markup.reasoned():
                            yield said
                        yield delta
                    case Finish():
                        for last in self._end(markup, request, delta, has_called=has_called):
                            yield last
                    case _:
                        has_called = has_called or isinstance(delta, ToolCallDelta)
                        yield delta
        if markup.was_unopened and not known.unopened:
            await self._learnt.keep(self.name, msgspec.structs.replace(known, unopened=True))

    def _end(
        self, markup: Markup, request: LlmRequest, finish: Finish, *, has_called: bool
    ) -> Iterator[Delta]:
        yield from markup.end()
        calls, text = _calls(markup.written, request, finish) if not has_called else ((), markup.written)
        if text:
            yield TextDelta(text=text)
        for place, call in enumerate(calls):
            yield ToolCallDelta(place, self._new_id(), call.name, call.arguments)
        if not (text or calls or has_called or markup.has_text) and finish.reason in {"stop", "tool_calls"}:
            raise InvalidResponse(f"{self.name} thought, and then gave no answer. Ask again.")
        yield msgspec.structs.replace(finish, reason="tool_calls") if calls else finish


def _calls(written: str, request: LlmRequest, finish: Finish) -> tuple[Sequence[WrittenCall], str]:
    """The calls that a text holds, and the text without them: none that repeats what the model has read."""
    if not written or finish.reason in {"length", "content_filter"}:
        return (), written
    calls, rest = calls_in(written, {tool.name: tool for tool in request.tools})
    told = (one.content for one in request.messages if isinstance(one, UserMessage | ToolMessage))
    read = _bare("\n".join(told))
    if any(_bare(call.source) in read for call in calls):
        return (), written
    return calls, rest


def _bare(text: str) -> str:
    """A text without what quoting it changes: white space, escapes."""
    return re.sub(r"[\s\\]+", "", text.replace("\\u003c", "<").replace("\\n", ""))


def _is_spoken_of(messages: Sequence[Message]) -> bool:
    """Whether the person speaks of such tags in the last message."""
    last = next((one for one in reversed(messages) if isinstance(one, UserMessage)), None)
    return last is not None and bool(_SPOKEN_OF.search(last.content))
