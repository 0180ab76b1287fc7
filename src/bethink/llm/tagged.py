"""Models that were trained on tags: `<think>`, `<python>` and `<reply>` become ordinary deltas.

`settled` puts this around a model that is known by its name (`*mem-agent*`) or by a setting. The loop then
sees reasoning, calls of `execute_python` and text, like of any other model; the model reads a call's
result as `<result>`.
Source: the prompt and the agent of mem-agent (github.com/firstbatchxyz/mem-agent-mcp, `agent/`).
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from bethink.errors import InvalidResponse
from bethink.events import TextDelta
from bethink.llm import Delta, Finish, LlmRequest, ToolCallDelta
from bethink.llm.around import Around
from bethink.llm.tags import Blocks
from bethink.messages import AssistantMessage, Message, ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bethink.messages import ToolCall

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


class TaggedLlm(Around):
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
            spent.append(finish)
            if blocks.code:
                yield ToolCallDelta(0, self._new_id(), EXECUTE, _arguments(blocks.code))
            if blocks.code or blocks.has_replied or finish.reason in {"length", "content_filter"}:
                yield _finish(spent, calls=bool(blocks.code))
                return
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


def _finish(spent: Sequence[Finish], *, calls: bool) -> Finish:
    """The end of what may have been two answers, with the tokens of both."""
    last = spent[-1]
    return msgspec.structs.replace(
        last,
        reason="tool_calls" if calls else last.reason,
        input_tokens=_sum([one.input_tokens for one in spent]),
        output_tokens=_sum([one.output_tokens for one in spent]),
        cost_usd=_sum([one.cost_usd for one in spent]),
    )


_Number = TypeVar("_Number", int, float)


def _sum(numbers: Sequence[_Number | None]) -> _Number | None:
    """The sum; None where one is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known, known[0] - known[0]) if known and len(known) == len(numbers) else None
