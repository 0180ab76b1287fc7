"""Bethink's MCP server with the tools, resources and prompts that the conformance suite asks for.

The server is Bethink's own: its web server with its guard at `/mcp`, its door, policy and toolbox.
What is offered is registered like Bethink's own tools, prompts and resources. Bethink asks a client
for one thing only, its person's agreement; what the suite wants asked beyond that (`Asking`, `Fixture`)
is written here over the same session.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import jsonschema
from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from starlette.types import Receive, Scope, Send

from bethink.app import App
from bethink.errors import BadInput
from bethink.events import ToolProgress, Warned
from bethink.mcp_server.http import serving
from bethink.mcp_server.prompts import Prompt
from bethink.mcp_server.resources import SHELVES, Shelf
from bethink.mcp_server.server import McpDoor
from bethink.principal import Principal
from bethink.tool import NewFile, Tool, ToolContext, ToolOutput, checker, tool
from bethink.web import create_web
from bethink.web.server import Server, configured, listening
from tests.house import open_house

Context = ServerRequestContext[Any, Any]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WAV = (
    b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00data"
    + bytes(4)
)
_STATELESS = "2026-07-28"


# --- what a tool may ask of the client ---------------------------------------


@dataclass(slots=True)
class Asking:
    """The client of one request, in both eras: asked in the session, or by an answer that wants more."""

    context: Context
    answers: Mapping[str, types.InputResponse]
    state: str
    refusal: MCPError | None = None
    wanted: types.InputRequiredResult | None = None

    async def elicited(self, message: str, schema: types.ElicitRequestedSchema) -> types.ElicitResult:
        """What the client's person entered in a form."""
        return await self.context.session.elicit_form(message, schema, self.context.request_id)

    async def sampled(self, prompt: str) -> types.CreateMessageResult:
        """What the client's model answered."""
        metadata = ServerMessageMetadata(related_request_id=self.context.request_id)
        return await self.context.session.send_request(
            sample(prompt), types.CreateMessageResult, metadata=metadata
        )

    def require(self, requests: types.InputRequests, state: str | None = None) -> None:
        """Answer the request by asking for these, unless all of them are there.

        Raises:
            BadInput: they are not: what the tool says for it is not sent.
        """
        if not requests.keys() <= self.answers.keys():
            self.wanted = types.InputRequiredResult(input_requests=requests, request_state=state)
            raise BadInput("More is needed.")

    def refuse(self, code: int, message: str, data: object = None) -> None:
        """Answer the request with an error of the protocol.

        Raises:
            BadInput: always: what the tool says for it is not sent.
        """
        self.refusal = MCPError(code, message, data)
        raise BadInput(message)


ASKING: ContextVar[Asking] = ContextVar("ASKING")


class Fixture(McpDoor):
    """The door, which lets its tools and prompts ask the client, and one of them offer another."""

    async def _called(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name == "test_trigger_tool_change":
            others = [one for one in self.app.toolbox.tools if one is not ONE_MORE]
            is_there = len(others) < len(self.app.toolbox.tools)
            self.app.toolbox.tools = others if is_there else [*others, ONE_MORE]
            for listener in self.app.configuration.heard:
                listener()
        asking = Asking(context, params.input_responses or {}, params.request_state or "")
        ASKING.set(asking)
        result = await super()._called(context, params)
        if asking.refusal is not None:
            raise asking.refusal
        return asking.wanted or result

    async def _get_prompt(  # pyright: ignore[reportIncompatibleMethodOverride] - the protocol's other answer
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        asking = Asking(context, params.input_responses or {}, params.request_state or "")
        ASKING.set(asking)
        try:
            return await super()._get_prompt(context, params)
        except MCPError:
            if asking.wanted is None:
                raise
            return asking.wanted


_KEY = secrets.token_bytes(32)


def sealed(content: str) -> str:
    return f"{content}:{hmac.new(_KEY, content.encode(), hashlib.sha256).hexdigest()}"


def checked_state(asking: Asking, *contents: str) -> str:
    """What the state holds, which is one of these; the request is refused if it holds anything else."""
    for content in contents:
        if hmac.compare_digest(asking.state.encode(), sealed(content).encode()):
            return content
    asking.refuse(types.INVALID_PARAMS, "The state is not what this server gave.")
    return ""


def form(message: str, **properties: dict[str, Any]) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


NAME = {"type": "string"}
OK = {"type": "boolean"}

# --- tools -------------------------------------------------------------------

Answer = Callable[..., Awaitable[str | ToolOutput]]
_TOOLS: dict[str, Tool] = {}


def offered(answer: Answer) -> Answer:
    """Offer a function as a tool; what the suite asks for begins with `test_`."""
    made = tool(effect="read", label="Test", family="memory", name=f"test_{answer.__name__}")(answer)
    _TOOLS[made.name] = made
    return answer


async def with_files(context: ToolContext, text: str, *files: NewFile) -> ToolOutput:
    return ToolOutput(text, attachments=tuple([await context.keep(file) for file in files]))


PICTURE = NewFile("picture.png", "image/png", PNG)


@offered
async def simple_text(_: ToolContext) -> str:
    """Give a text."""
    return "This is a simple text response for testing."


@offered
async def image_content(context: ToolContext) -> ToolOutput:
    """Give a picture."""
    return await with_files(context, "A picture.", PICTURE)


@offered
async def audio_content(context: ToolContext) -> ToolOutput:
    """Give a sound."""
    return await with_files(context, "A sound.", NewFile("sound.wav", "audio/wav", WAV))


@offered
async def embedded_resource(context: ToolContext) -> ToolOutput:
    """Give a resource."""
    file = NewFile("words.txt", "text/plain", b"This is an embedded resource content.")
    return await with_files(context, "A resource.", file)


@offered
async def multiple_content_types(context: ToolContext) -> ToolOutput:
    """Give a text, a picture and a resource."""
    data = NewFile("data.json", "application/json", b'{"test":"data","value":123}')
    return await with_files(context, "Multiple content types test:", PICTURE, data)


@offered
async def error_handling(_: ToolContext) -> str:
    """Fail."""
    raise BadInput("This tool intentionally returns an error for testing")


@offered
async def tool_with_progress(context: ToolContext) -> str:
    """Report progress."""
    for percent in (0, 50, 100):
        context.emit(ToolProgress(call=context.call, text=f"{percent} of 100", fraction=percent / 100))
        await asyncio.sleep(0.05)
    return "Done."


@offered
async def tool_with_logging(context: ToolContext) -> str:
    """Warn of three things."""
    for text in ("The index is old.", "A page could not be read.", "Another model answered."):
        context.emit(Warned(part="test", message=text))
    return "Done."


@offered
async def logging_tool(context: ToolContext) -> str:
    """Warn of something."""
    context.emit(Warned(part="test", message="The index is old."))
    return "Done."


@offered
async def trigger_tool_change(_: ToolContext) -> str:
    """Have one more tool offered, or one less."""
    return "The tools are others now."


@tool(effect="read", label="Test", family="memory", name="test_one_more")
async def ONE_MORE(_: ToolContext) -> str:  # noqa: N802 - a tool
    """Give a text."""
    return "Another."


@offered
async def reconnection(_: ToolContext) -> str:
    """Close the stream of the answer, and go on."""
    if (close := ASKING.get().context.close_sse_stream) is not None:
        await close()
        await asyncio.sleep(0.1)
    return "The stream was closed meanwhile, where the session can be resumed."


@offered
async def elicitation_sep1034_defaults(_: ToolContext) -> str:
    """Ask with defaults."""
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    schema = {"type": "object", "properties": properties, "required": []}
    return str(await ASKING.get().elicited("Please look through these", schema))


@offered
async def elicitation_sep1330_enums(_: ToolContext) -> str:
    """Ask for choices of every kind."""
    words, titled = (
        ["option1", "option2", "option3"],
        [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)],
    )
    names = ["Option One", "Option Two", "Option Three"]
    properties = {
        "untitledSingle": {"type": "string", "enum": words},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": words}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    schema = {"type": "object", "properties": properties, "required": []}
    return str(await ASKING.get().elicited("Please choose", schema))


@offered
async def streaming_elicitation(_: ToolContext) -> str:
    """Ask within a streamed answer."""
    ASKING.get().require({"name": form("What is your name?", name=NAME)})
    return "Asked."


@offered
async def missing_capability(_: ToolContext) -> str:
    """Need a model of the client's."""
    asking = ASKING.get()
    capabilities = asking.context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        missing = {"requiredCapabilities": {"sampling": {}}}
        asking.refuse(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed.", missing)
    return "Sampling is there."


@offered
async def input_required_result_elicitation(_: ToolContext) -> str:
    """Greet who is asked for."""
    asking = ASKING.get()
    asking.require({"user_name": form("What is your name?", name=NAME)})
    answer = asking.answers["user_name"]
    if not isinstance(answer, types.ElicitResult):
        raise BadInput("A form is wanted.")
    return f"Hello, {(answer.content or {}).get('name')}!"


@offered
async def input_required_result_sampling(_: ToolContext) -> str:
    """Ask the client's model."""
    asking = ASKING.get()
    asking.require({"capital_question": sample("What is the capital of France?")})
    return str(asking.answers["capital_question"])


@offered
async def input_required_result_list_roots(_: ToolContext) -> str:
    """Ask for the client's folders."""
    asking = ASKING.get()
    asking.require({"client_roots": types.ListRootsRequest()})
    return str(asking.answers["client_roots"])


@offered
async def input_required_result_request_state(_: ToolContext) -> str:
    """Go on with what the client was given."""
    asking = ASKING.get()
    asking.require({"consent": form("Please confirm", ok=OK)}, sealed("confirming"))
    checked_state(asking, "confirming")
    return "state-ok"


@offered
async def input_required_result_tampered_state(_: ToolContext) -> str:
    """Refuse what the client was not given."""
    asking = ASKING.get()
    asking.require({"consent": form("Please confirm", ok=OK)}, sealed("untampered"))
    return checked_state(asking, "untampered")


@offered
async def input_required_result_multiple_inputs(_: ToolContext) -> str:
    """Ask for three things at once."""
    asking = ASKING.get()
    requests: types.InputRequests = {
        "user_name": form("What is your name?", name=NAME),
        "greeting": sample("Generate a greeting"),
        "client_roots": types.ListRootsRequest(),
    }
    asking.require(requests, sealed("three"))
    return checked_state(asking, "three")


@offered
async def input_required_result_multi_round(_: ToolContext) -> str:
    """Ask twice."""
    asking = ASKING.get()
    if not asking.state:
        asking.require({"step1": form("Step 1: What is your name?", name=NAME)}, sealed("one"))
    if checked_state(asking, "one", "two") == "one":
        asking.require({"step2": form("Step 2: What is your favorite color?", color=NAME)}, sealed("two"))
    return "Asked twice."


@offered
async def input_required_result_capabilities(_: ToolContext) -> str:
    """Ask for what the client can."""
    asking = ASKING.get()
    capabilities = asking.context.session.client_capabilities or types.ClientCapabilities()
    requests: types.InputRequests = {}
    if capabilities.elicitation is not None:
        requests["name"] = form("What is your name?", name=NAME)
    if capabilities.sampling is not None:
        requests["greeting"] = sample("Generate a greeting")
    asking.require(requests)
    return "Asked for what the client can."


async def _echo(_: ToolContext, **arguments: object) -> str:
    return str(arguments)


@offered
async def sampling(_: ToolContext, prompt: str) -> str:
    """Ask the client's model."""
    return str(await ASKING.get().sampled(prompt))


@offered
async def elicitation(_: ToolContext, message: str) -> str:
    """Ask the client's person."""
    schema = {"type": "object", "properties": {"response": {"type": "string"}}, "required": ["response"]}
    return str(await ASKING.get().elicited(message, schema))


_WIDE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_MIRRORED: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}


def described(name: str, schema: dict[str, Any]) -> Tool:
    """A tool whose schema no signature says."""
    jsonschema.Draft202012Validator.check_schema(schema)
    return Tool(
        name=name,
        description="Repeat the arguments.",
        parameters=schema,
        effect="read",
        trust="owner",
        timeout_s=None,
        label="Test",
        check=checker(schema),
        handler=_echo,
        family="memory",
    )


TOOLS = (
    *_TOOLS.values(),
    described("json_schema_2020_12_tool", _WIDE),
    described("test_mirrored_argument", _MIRRORED),
)

# --- resources and prompts ---------------------------------------------------


async def _read(content: str | bytes, _app: App, _principal: Principal, id: str) -> str | bytes:
    return content.replace("{id}", id) if isinstance(content, str) else content


RESOURCES = (
    Shelf("test://static-text", "static-text", "A text", "text/plain", partial(_read, "A static text.")),
    Shelf("test://static-binary", "static-binary", "A picture", "image/png", partial(_read, PNG)),
    Shelf("test://watched-resource", "watched", "A text", "text/plain", partial(_read, "Watched.")),
    Shelf(
        "test://template/{id}/data",
        "template",
        "Data by their id",
        "application/json",
        partial(_read, '{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}'),
    ),
)


def said(content: types.ContentBlock | str) -> types.PromptMessage:
    block = types.TextContent(type="text", text=content) if isinstance(content, str) else content
    return types.PromptMessage(role="user", content=block)


async def _simple(_app: App, _me: Principal, _: Mapping[str, str]) -> Sequence[types.PromptMessage]:
    return [said("This is a simple prompt for testing.")]


async def _filled(_app: App, _me: Principal, given: Mapping[str, str]) -> Sequence[types.PromptMessage]:
    return [said(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]


async def _embedded(_app: App, _me: Principal, given: Mapping[str, str]) -> Sequence[types.PromptMessage]:
    resource = types.TextResourceContents(uri=given["resourceUri"], mime_type="text/plain", text="Embedded.")
    return [said(types.EmbeddedResource(type="resource", resource=resource)), said("Please process it.")]


async def _pictured(_app: App, _me: Principal, _: Mapping[str, str]) -> Sequence[types.PromptMessage]:
    data = base64.b64encode(PNG).decode()
    return [said(types.ImageContent(type="image", data=data, mime_type="image/png")), said("Look at it.")]


async def _asking(_app: App, _me: Principal, _: Mapping[str, str]) -> Sequence[types.PromptMessage]:
    ASKING.get().require({"user_context": form("What is it about?", context=NAME)})
    return [said(str(ASKING.get().answers["user_context"]))]


ARGUMENTS = {"arg1": "First test argument", "arg2": "Second test argument"}
PROMPTS: Mapping[str, Prompt] = {
    "test_simple_prompt": Prompt("Simple", "A text", _simple),
    "test_prompt_with_arguments": Prompt("Filled", "With arguments", _filled, ARGUMENTS),
    "test_prompt_with_embedded_resource": Prompt(
        "Embedded", "With a resource", _embedded, {"resourceUri": "The resource"}
    ),
    "test_prompt_with_image": Prompt("Pictured", "With a picture", _pictured),
    "test_input_required_result_prompt": Prompt("Asking", "What asks first", _asking),
}

# --- the server --------------------------------------------------------------


@asynccontextmanager
async def fixture_server() -> AsyncGenerator[str]:
    """Serves it on a port of loopback; its address."""
    async with open_house(tools=TOOLS) as house, AsyncExitStack() as stack:
        door = Fixture(house.app, "http", ("memory",), prompts=PROMPTS, shelves=(*RESOURCES, *SHELVES))
        mcp = await stack.enter_async_context(serving(door))
        web = create_web(nullcontext(house.app))

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                scope["state"]["mcp"] = mcp
            await web(scope, receive, send)

        listener = stack.enter_context(listening("127.0.0.1", 0))
        ready = anyio.Event()
        server = Server(configured(answer), on_ready=ready.set, on_stop=lambda: None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            await ready.wait()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            server.should_exit = True
