"""Calls of tools as models write them into text: each family has a shape of its own. `markup` asks.

Sources: the chat templates and model cards of Hermes, Qwen, Qwen3-Coder, GLM, Llama, Mistral, DeepSeek,
Kimi and MiniMax; vLLM's documentation of its tool parsers names them all.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bethink.llm import ToolSchema

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
