"""Models that were trained on tags: `<think>`, `<python>` and `<reply>` become ordinary deltas.

`llm/models.py` puts this around a model that is known by its name (`*mem-agent*`) or by a setting. The
loop then sees reasoning, calls of `execute_python` and text, like of any other model; the model reads a
call's result as `<result>`.
Source: the prompt and the agent of mem-agent (github.com/firstbatchxyz/mem-agent-mcp, `agent/`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, Literal

import msgspec

from bethink.errors import InvalidResponse
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Delta, Finish, LlmRequest, LlmWrapper, ToolCallDelta, with_spent
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

_TAG: Final = re.compile(r"<[ \t]*(/?)[ \t]*(think|python|reply)[ \t]*>", re.IGNORECASE)
_BEGUN: Final = re.compile(r"<[ \t]*/?[ \t]*[a-z]{0,6}[ \t]*$", re.IGNORECASE)
_LONGEST: Final = 32
"""Characters: what is longer is the beginning of no tag."""
_FENCED: Final = re.compile(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)
_WITHIN: Final = re.compile(r"<(python|reply)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)

_Block = Literal["", "think", "python", "reply"]


class Blocks:
    """One answer, block by block.

    A tag within another block counts where it begins a line: it ends the block before it. In code it counts
    only where the code so far is whole, so that a text in quotes may hold one. A closing tag that
    nothing opened makes a block of what stands before it. What stands outside of all blocks is the
    reply where there is neither code nor reply, and thoughts where there is. Several blocks of code
    are one. A reply behind code is not said: it was written before the result was known.
    `code` holds what is to be run once `end` was called; without `runs` there is none.
    """

    def __init__(self, *, runs: bool = True) -> None:
        self.code = ""
        self.has_replied = False
        self._runs = runs
        self._all: list[str] = []
        self._buffer = ""
        self._inside: _Block = ""
        self._is_at_line_start = True
        self._space = ""
        self._begun = False
        self._outside: list[str] = []
        self._thoughts: list[str] = []
        self._codes: list[list[str]] = []

    @property
    def written(self) -> str:
        """All that came, as it came."""
        return "".join(self._all)

    def feed(self, text: str) -> Iterator[ReasoningDelta | TextDelta]:
        """What more text says."""
        self._all.append(text)
        self._buffer += text
        while tag := _TAG.search(self._buffer):
            before, self._buffer = self._buffer[: tag.start()], self._buffer[tag.end() :]
            yield from self._say(before)
            yield from self._meet(tag)
        begun = _BEGUN.search(self._buffer, max(len(self._buffer) - _LONGEST, 0))
        ready = len(self._buffer) if begun is None else begun.start()
        said, self._buffer = self._buffer[:ready], self._buffer[ready:]
        yield from self._say(said)

    def end(self, *, is_whole: bool = True) -> Iterator[ReasoningDelta | TextDelta]:
        """What is left to say. Code that was cut off, where the answer is not `is_whole`, is not run."""
        said, self._buffer = self._buffer, ""
        yield from self._say(said)
        if self._inside == "python" and not is_whole:
            self._codes.pop()
        self._inside = ""
        codes = [code for parts in self._codes if (code := bare("".join(parts)))]
        if not codes and not self.has_replied:
            codes = self._codes_in_thoughts()
            yield from self._replies_in_thoughts() if not codes else ()
        self.code = "\n".join(codes) if self._runs else ""
        yield from self._rest()

    def _codes_in_thoughts(self) -> list[str]:
        """Code that stands whole in the thoughts, where there is none else: those were never closed."""
        found = _WITHIN.findall("".join(self._thoughts))
        return [code for name, text in found if name.lower() == "python" and (code := bare(text))]

    def _replies_in_thoughts(self) -> Iterator[TextDelta]:
        for name, text in _WITHIN.findall("".join(self._thoughts)):
            if name.lower() == "reply" and text.strip():
                self.has_replied = True
                yield TextDelta(text=text.strip())

    def _rest(self) -> Iterator[ReasoningDelta | TextDelta]:
        """What stood outside of all blocks."""
        text = "".join(self._outside).strip()
        self._outside = []
        if not text:
            return
        if self.code or self.has_replied:
            yield ReasoningDelta(text=f"\n\n{text}")
        else:
            self.has_replied = True
            yield TextDelta(text=text)

    def _meet(self, tag: re.Match[str]) -> Iterator[ReasoningDelta | TextDelta]:
        is_closing, name = bool(tag[1]), tag[2].lower()
        if not self._counts(name, is_closing=is_closing):
            yield from self._say(tag[0])
            return
        if is_closing and not self._inside:
            text = "".join(self._outside)
            self._outside = []
            self._enter(name)
            yield from self._say(text)
        if is_closing:
            self._inside = ""
        elif name != self._inside:
            self._enter(name)
        self._is_at_line_start = True

    def _counts(self, name: str, *, is_closing: bool) -> bool:
        """Whether a tag is one, and not a word about tags."""
        if not self._inside:
            return True
        if is_closing:
            return name == self._inside
        if not self._is_at_line_start:
            return False
        return self._inside != "python" or is_python("".join(self._codes[-1]))

    def _enter(self, name: str) -> None:
        self._inside = "think" if name == "think" else "python" if name == "python" else "reply"
        self._begun, self._space = False, ""
        if self._inside == "python":
            self._codes.append([])

    def _say(self, text: str) -> Iterator[ReasoningDelta | TextDelta]:
        if not text:
            return
        _, is_new, last = text.rpartition("\n")
        self._is_at_line_start = (bool(is_new) or self._is_at_line_start) and not last.strip()
        match self._inside:
            case "":
                self._outside.append(text)
            case "python":
                self._codes[-1].append(text)
            case "think":
                if trimmed := self._trimmed(text, between="\n\n" if self._thoughts else ""):
                    self._thoughts.append(trimmed)
                    yield ReasoningDelta(text=trimmed)
            case "reply":
                if self._runs and any("".join(code).strip() for code in self._codes):
                    return
                if trimmed := self._trimmed(text, between="\n\n" if self.has_replied else ""):
                    self.has_replied = True
                    yield TextDelta(text=trimmed)

    def _trimmed(self, text: str, *, between: str) -> str:
        """The text without white space at the block's two ends; `between` parts it from a block before."""
        whole = self._space + text
        kept = whole.rstrip()
        self._space = whole[len(kept) :]
        if not self._begun:
            kept = kept.lstrip()
            if kept:
                kept, self._begun = between + kept, True
            else:
                self._space = ""
        return kept


def bare(code: str) -> str:
    """Code without the fence that a model may have put around it."""
    fenced = _FENCED.search(code)
    if fenced is not None and (code.lstrip().startswith("```") or not is_python(code)):
        code = fenced[1]
    return code.strip("\n").rstrip()


def is_python(code: str) -> bool:
    """Whether the code is whole: it can be parsed."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


EXECUTE: Final = "execute_python"
"""The tool that runs what stands in `<python>`."""

_WITH_CODE: Final = """\
# How every answer of yours is built
1. `<think>` … `</think>`: what you consider, always first.
2. `<python>` … `</python>`: Python that works on the memory, or nothing at all between the two tags.
3. `<reply>` … `</reply>`: what the person reads. Only when `<python>` is empty.

Close every tag. Write nothing outside of them, and no block inside another one.

After code, stop: its outcome comes back as `<result>`, with the variables that it assigned, such as
`{'content': '# User'}`. What is not assigned to a variable is not shown. Then begin again with `<think>`:
either more code, or an empty `<python></python>` and the `<reply>`."""
_WITHOUT_CODE: Final = """\
# How every answer of yours is built
1. `<think>` … `</think>`: what you consider, always first.
2. `<python></python>`, always empty: there is nothing to run here.
3. `<reply>` … `</reply>`: what the person reads.

Close every tag, and write nothing outside of them."""
_AGAIN: Final = "Nothing was run and nothing was replied. Go on: code in <python>, or a <reply>."
_TRIES: Final = 2


class TaggedLlm(LlmWrapper):
    """A model behind the tags."""

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """See `Llm.stream`. An answer of thoughts alone is asked for once more.

        Raises:
            InvalidResponse: even then it neither ran nor replied anything.
        """
        asked = tagged(request)
        spent: list[Finish] = []
        for _ in range(_TRIES):
            blocks = Blocks(runs=any(tool.name == EXECUTE for tool in request.tools))
            finish: Finish | None = None
            async with aclosing(self._inner.stream(asked)) as deltas:
                async for delta in deltas:
                    match delta:
                        case TextDelta():
                            for said in blocks.feed(delta.text):
                                yield said
                        case Finish():
                            finish = delta
                        case _:
                            yield delta
            if finish is None:
                raise InvalidResponse("The model's answer broke off before its end. Try again.")
            for said in blocks.end(is_whole=finish.reason != "length"):
                yield said
            finish = with_spent(finish, spent)
            if blocks.code:
                yield ToolCallDelta(0, self._new_id(), EXECUTE, _arguments(blocks.code))
                yield msgspec.structs.replace(finish, reason="tool_calls")
                return
            if blocks.has_replied or finish.reason in {"length", "content_filter"}:
                yield finish
                return
            spent = [finish]
            asked = replace(
                asked,
                messages=(*asked.messages, AssistantMessage(blocks.written), UserMessage(_result(_AGAIN))),
            )
        raise InvalidResponse(f"{self.name} answered with thoughts alone, and twice. Ask in other words.")


def tagged(request: LlmRequest) -> LlmRequest:
    """The request as the model was trained to read it: no tools, calls and results within tags."""
    runs = next((tool.description for tool in request.tools if tool.name == EXECUTE), None)
    form = _WITHOUT_CODE if runs is None else f"{_WITH_CODE}\n\n# What the Python can do\n{runs}"
    system = f"{request.system.rstrip()}\n\n{form}"
    return replace(
        request,
        system=system.strip(),
        messages=tuple(_told(request.messages)),
        tools=(),
        must_call=False,
        response_format=None,
    )


def _told(messages: Sequence[Message]) -> list[Message]:
    told: list[Message] = []
    results: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message.content)
            continue
        if results:
            told.append(UserMessage(_result("\n".join(results))))
            results = []
        told.append(AssistantMessage(_written(message)) if isinstance(message, AssistantMessage) else message)
    if results:
        told.append(UserMessage(_result("\n".join(results))))
    return told


def _written(message: AssistantMessage) -> str:
    """An answer as the model would have written it."""
    code = "\n".join(_code_of(call) for call in message.tool_calls)
    parts = [f"<think>\n{message.reasoning.strip()}\n</think>", f"<python>\n{code}\n</python>"]
    if not message.tool_calls:
        parts[1:] = ["<python></python>", f"<reply>\n{message.content}\n</reply>"]
    return "\n\n".join(parts)


def _code_of(call: ToolCall) -> str:
    """The code of a call; one of another tool, which another model made, is told as a comment."""
    if call.name == EXECUTE:
        try:
            return msgspec.json.decode(call.arguments, type=_Code).code
        except msgspec.DecodeError:
            return ""
    return f"# {call.name} was called with {' '.join(call.arguments.split())}"


class _Code(msgspec.Struct):
    code: str


def _arguments(code: str) -> str:
    return msgspec.json.encode(_Code(code)).decode()


def _result(text: str) -> str:
    """A block that nothing in the text can close."""
    harmless = text.replace("</result", "<\\/result")
    return f"<result>\n{harmless}\n</result>"
