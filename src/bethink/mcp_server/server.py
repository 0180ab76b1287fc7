"""The MCP server itself: the protocol's requests into calls of the app, in both of its eras.

A session that begins with `initialize` (2024-11-05 to 2025-11-25) can be asked
back while a call waits; since 2026-07-28 each request stands for itself, and an
answer may be "more input required", after which the client asks again.
A call is judged like the agent's own. One that must be agreed to cannot be asked
about on Bethink's page: a client that can ask its person is made to (elicitation);
any other gets a token with what would be done, and calls again with it.
Source: the specification at modelcontextprotocol.io, versions as above.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mcp import types
from mcp.server.connection import allowed_log_levels
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError

from bethink import __version__
from bethink.agent.records import By, ToolUse
from bethink.agent.tool_selection import reads
from bethink.agent.toolbox import CallResult, Postponed, Prepared, discreet
from bethink.clock import Ids
from bethink.errors import BadInput, BethinkError, TooLarge
from bethink.events import ToolFinished, ToolProgress, Warned
from bethink.mcp_server import prompts, resources
from bethink.mcp_server.families import Offer, instructions, offer_of, offers
from bethink.mcp_server.prompts import PROMPTS, Prompt
from bethink.mcp_server.resources import SHELVES, Shelf, Subscriptions
from bethink.messages import Attachment, ToolCall, ToolMessage
from bethink.principal import PRINCIPAL, Principal
from bethink.tool import NewFile, Tool, ToolContext, ToolOutput

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions

    from bethink.app import App

    Context = ServerRequestContext[Any, Any]


CONFIRM = "confirm"
"""The argument that a call to be confirmed takes beside its own."""
_VALID_S = 600
"""A confirmation is for what was just shown."""
_AHEAD_S = 5
"""A token may be dated ahead where the same was confirmed within one second."""


@dataclass(frozen=True, slots=True)
class CallListener:
    """Who hears what a call tells on its way: its progress, and what it warns of, by part."""

    progress: Callable[[float | None, str], Awaitable[None]]
    warning: Callable[[str, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What must be agreed to before the call is made; `token` confirms exactly this."""

    text: str
    token: str


@dataclass(slots=True)
class Calls:
    """Makes calls. A confirmation is for one call, as long as this process runs, ten minutes at most."""

    app: App
    new_id: Ids
    now_s: Callable[[], float] = time.time
    _used: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    async def begin(
        self, offer: Offer, arguments: dict[str, Any], principal: Principal, *, confirmed: str = ""
    ) -> Prepared | Confirmation | ToolOutput:
        """The call made ready; or what it needs; or why it cannot be."""
        given = {name: value for name, value in arguments.items() if name != CONFIRM}
        token = confirmed or str(arguments.get(CONFIRM) or "")
        written = json.dumps(given, ensure_ascii=False)
        try:
            parsed = offer.tool.parse(written)
        except BadInput as error:
            return ToolOutput(str(error), error="invalid_arguments")
        call = ToolCall(self.new_id(), offer.tool.name, discreet(offer.tool, written))
        prepared = Prepared(call, offer.tool, parsed, offer.tool.describe(parsed))
        verdict = await self.app.policy.verdict(principal, prepared)
        match verdict.decision:
            case "auto":
                return prepared
            case "deny":
                await self._note(principal, prepared, by="deny", error="denied", duration_ms=0)
                return ToolOutput(verdict.reason, error="denied")
            case "ask":
                ready, told = await self.app.toolbox.foretold(prepared, principal, verdict.reason)
                if not told:
                    return ready
                # Sealed as it was asked for: what a preview adds, such as its token, is another each time.
                agreed = self._agreed(prepared, told, principal, token=token)
                return agreed if isinstance(agreed, Confirmation) else ready

    async def make(
        self, prepared: Prepared, context: ToolContext, told: CallListener, *, token: str = ""
    ) -> ToolOutput | Confirmation:
        """The call's result, or what it needs after all; `told` hears what it tells on its way.

        `token` is what came with an agreement. It counts for what the call would do now.
        """
        made = await self._made(prepared, context, told)
        if not isinstance(made, Postponed):
            return made
        asked = self._agreed(made.prepared, made.reason, context.principal, token=token)
        if isinstance(asked, Confirmation):
            return asked
        made = await self._made(asked, replace(context, approved=True), told)
        return ToolOutput(made.reason, error="denied") if isinstance(made, Postponed) else made

    async def _made(
        self, prepared: Prepared, context: ToolContext, told: CallListener
    ) -> ToolOutput | Postponed:
        result = CallResult(ToolMessage(prepared.call.id, prepared.call.name, "", error="tool_failed"))
        kinds: dict[str, int] = {}
        async with aclosing(self.app.toolbox.run([prepared], context)) as items:
            async for item in items:
                match item:
                    case Postponed():
                        return item
                    case CallResult():
                        result = item
                    case ToolFinished():
                        kinds = item.redacted
                    case ToolProgress(text=text, fraction=fraction):
                        await told.progress(fraction, text)
                    case Warned(part=part, message=text):
                        await told.warning(part, text)
                    case _:
                        pass
        message = result.message
        by: By = "approve" if context.approved or prepared.tool.effect == "destructive" else "policy"
        took, error = message.duration_ms, message.error
        await self._note(context.principal, prepared, by=by, error=error, duration_ms=took, redacted=kinds)
        return ToolOutput(
            message.content, message.attachments, error=message.error, structured=result.structured
        )

    async def _note(
        self,
        principal: Principal,
        prepared: Prepared,
        *,
        by: By,
        error: str | None,
        duration_ms: float,
        redacted: dict[str, int] | None = None,
    ) -> None:
        """Record a call."""
        use = ToolUse(
            id=self.new_id(),
            at=self.app.ports.clock.now_us(),
            tool=prepared.tool.name,
            call=prepared.call.id,
            conversation=principal.audience,
            run="",
            message=None,
            by=by,
            error=error,
            duration_ms=duration_ms,
            redacted=redacted or {},
        )
        await self.app.audit.note(principal, use)

    def _agreed(
        self, prepared: Prepared, told: str, principal: Principal, *, token: str
    ) -> Prepared | Confirmation:
        """The call, if its token says that this was agreed to; else what is to be agreed to."""
        if token and self._is_valid(token, self._seal(prepared, told, principal, at=_at(token))):
            self._used[token] = _at(token)
            return prepared
        at = int(self.now_s())
        seal = self._seal(prepared, told, principal, at=at)
        while seal in self._used:
            # The same was confirmed within this second.
            at += 1
            seal = self._seal(prepared, told, principal, at=at)
        return Confirmation(f"{prepared.label}\n{told}", seal)

    def _is_valid(self, token: str, expected: str) -> bool:
        now = self.now_s()
        for old in [used for used, at in self._used.items() if now - at > _VALID_S]:
            del self._used[old]
        age = now - _at(token)
        if token in self._used:
            return False
        return hmac.compare_digest(token.encode(), expected.encode()) and -_AHEAD_S <= age <= _VALID_S

    def _seal(self, prepared: Prepared, told: str, principal: Principal, *, at: int) -> str:
        # A preview's own token holds the moment it was made: what would go is what must be the same.
        arguments = json.dumps(prepared.arguments, sort_keys=True, default=str)
        bound = json.dumps([at, principal.owner, principal.audience, prepared.tool.name, arguments, told])
        return f"{at:x}-{hmac.new(self._key, bound.encode(), hashlib.sha256).hexdigest()[:24]}"


def _at(token: str) -> int:
    try:
        return int(token.partition("-")[0], 16)
    except ValueError:
        return 0


_PAGE = 50
_MAX_FILES_BYTES = 8_000_000
"""Of all files of one answer. As base64 they are a third longer."""
_SESSION = "mcp-session-id"
_WARNING: Final = "warning"
_WORSE: Final = frozenset({"error", "critical", "alert", "emergency"})
_MOST_QUIET = 10_000
"""As many as there may be sessions; one that ended is not taken out."""
_STATELESS = "2026-07-28"
"""From this version on a server asks by answering that it needs more."""
_CONFIRM_SCHEMA: types.ElicitRequestedSchema = {
    "type": "object",
    "properties": {
        "agree": {"type": "boolean", "title": "Do it", "description": "This is done only if you agree."}
    },
    "required": ["agree"],
}
_CONFIRM_ARGUMENT = {
    "type": "string",
    "description": "Leave it out. Only after the user has seen and agreed to what an earlier call said that "
    "it would do: the token which that answer gave.",
}
_WAITS = (
    "Nothing is done yet, since it needs the user's agreement. Show them what it would do:\n\n{what}\n\n"
    'If they agree, call {name} again with the same arguments and confirm="{token}" within ten minutes.'
)
_DECLINED = "The user did not agree: nothing is done. Do not repeat it; ask what they want instead."


@dataclass(slots=True)
class McpDoor:
    """One app's server for one way in. `way` is `stdio` or `http`, `only` names the families offered."""

    app: App
    way: str
    only: Sequence[str] = ()
    prompts: Mapping[str, Prompt] = field(default_factory=lambda: PROMPTS)
    shelves: Sequence[Shelf] = SHELVES
    _quiet: set[str] = field(default_factory=set[str], repr=False)
    """Sessions that want to hear of worse than warnings only."""
    calls: Calls = field(init=False)
    subscriptions: Subscriptions = field(init=False)

    def __post_init__(self) -> None:
        self.calls = Calls(self.app, Ids(self.app.ports.clock))
        self.subscriptions = Subscriptions(self.app, self._tools, self.shelves)

    def server(self) -> Server[Any]:
        """The protocol's server; memory's resources and prompts come where memory is offered."""
        has_memory = not self.only or "memory" in self.only
        server = _Server(
            "bethink",
            version=__version__,
            title="Bethink",
            description="A memory that its owner can read, correct, undo and export.",
            instructions=instructions(self.only),
            lifespan=self.subscriptions.followed,
            on_subscriptions_listen=self._listen,
            on_subscribe_resource=self._subscribe if has_memory else None,
            on_unsubscribe_resource=self._unsubscribe if has_memory else None,
            on_completion=self._complete if has_memory else None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources if has_memory else None,
            on_list_resource_templates=self._list_templates if has_memory else None,
            on_read_resource=self._read_resource if has_memory else None,
            on_list_prompts=self._list_prompts if has_memory else None,
            on_get_prompt=self._get_prompt if has_memory else None,
        )
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        return server

    async def _list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        principal = await self._principal(context)
        await self._met(context, principal)
        found = [
            offer
            for offer in offers(self.app, self.only).values()
            if "read" in principal.rights or not reads(offer.tool)
        ]
        cursor = (params and params.cursor) or "0"
        if not cursor.isdecimal() or len(cursor) > len(str(_PAGE)) * 2:
            raise MCPError(types.INVALID_PARAMS, "This cursor is not valid: leave it out to start again.")
        start = int(cursor)
        more = str(start + _PAGE) if start + _PAGE < len(found) else None
        return types.ListToolsResult(
            tools=[_described(offer) for offer in found[start : start + _PAGE]], next_cursor=more
        )

    def _tools(self) -> object:
        return [_described(offer) for offer in offers(self.app, self.only).values()]

    async def _met(self, context: Context, principal: Principal) -> str:
        """Have the session be told of changes, if it is one; its name."""
        name = _session(context)
        if context.protocol_version < _STATELESS:
            await self.subscriptions.met(name, context.session, principal)
        return name

    async def _listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        with _errors():
            return await self.subscriptions.listen(context, params, await self._principal(context))

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        with _errors():
            name = await self._met(context, await self._principal(context))
            await self.subscriptions.subscribe(name, params.uri)
        return types.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        name = await self._met(context, await self._principal(context))
        self.subscriptions.unsubscribe(name, params.uri)
        return types.EmptyResult()

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        principal, argument = await self._principal(context), params.argument
        with _errors():
            match params.ref:
                case types.PromptReference(name=name):
                    prompt = prompts.named(self.prompts, name)
                    values = await prompts.completed(
                        self.app, principal, prompt, argument.name, argument.value
                    )
                case types.ResourceTemplateReference(uri=uri):
                    values = await resources.completed(self.app, principal, self.shelves, uri, argument.value)
        return types.CompleteResult(completion=types.Completion(values=[*values]))

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        with _errors():
            return await self._called(context, params)

    async def _called(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        found = offers(self.app, self.only)
        if (offer := offer_of(found, params.name)) is None:
            return _failed(f"There is no tool {params.name[:80]!r}: there are {', '.join(found)}.")
        principal = await self._principal(context)
        token, answer = "", (params.input_responses or {}).get(CONFIRM)
        if isinstance(answer, types.ElicitResult):
            if not _agreed(answer):
                return _failed(_DECLINED)
            token = params.request_state or ""
        done = await self._done(context, offer, params, principal, token=token)
        if isinstance(done, Confirmation):
            asked = await self._ask(context, offer.tool, done)
            if not isinstance(asked, str):
                return asked
            done = await self._done(context, offer, params, principal, token=asked)
        if isinstance(done, Confirmation):
            return _failed(_WAITS.format(what=done.text, name=offer.tool.name, token=done.token))
        return done

    async def _done(
        self,
        context: Context,
        offer: Offer,
        params: types.CallToolRequestParams,
        principal: Principal,
        *,
        token: str,
    ) -> types.CallToolResult | Confirmation:
        """The call's result, or what is to be agreed to before; `token` came with an agreement."""
        arguments = params.arguments or {}
        ready = await self.calls.begin(offer, arguments, principal, confirmed=token)
        match ready:
            case Confirmation():
                return ready
            case ToolOutput(text=text):
                return _failed(text)
            case Prepared():
                token = token or str(arguments.get(CONFIRM) or "")
                files = Files(ready.call.id)
                call = ToolContext(principal, f"mcp:{principal.audience}", ready.call.id, "", keep=files.keep)
                made = await self.calls.make(ready, call, self._told(context), token=token)
                return made if isinstance(made, Confirmation) else _result(made, offer, files)

    def _told(self, context: Context) -> CallListener:
        """The client: progress if it asked for it, warnings as log messages unless it wants worse only."""
        so_far = 0.0

        async def progress(fraction: float | None, text: str) -> None:
            nonlocal so_far
            # Without a fraction it only has to grow.
            so_far = fraction if fraction is not None else so_far + 1
            await context.session.report_progress(so_far, None if fraction is None else 1.0, text)

        async def warning(part: str, text: str) -> None:
            allowed = allowed_log_levels(context.protocol_version, context.meta)
            if _WARNING in allowed and _session(context) not in self._quiet:
                message = types.LoggingMessageNotificationParams(level=_WARNING, logger=part, data=text)
                notification = types.LoggingMessageNotification(params=message)
                await context.session.send_notification(notification, context.request_id)

        return CallListener(progress, warning)

    async def _set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self._quiet.discard(_session(context))
        if params.level in _WORSE and len(self._quiet) < _MOST_QUIET:
            self._quiet.add(_session(context))
        return types.EmptyResult()

    async def _ask(
        self, context: Context, tool: Tool, asked: Confirmation
    ) -> types.CallToolResult | types.InputRequiredResult | str:
        """The token to go on with, once the person agreed; else the answer that the client gets now."""
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return _failed(_WAITS.format(what=asked.text, name=tool.name, token=asked.token))
        if context.protocol_version >= _STATELESS:
            form = types.ElicitRequestFormParams(message=asked.text, requested_schema=_CONFIRM_SCHEMA)
            return types.InputRequiredResult(
                input_requests={CONFIRM: types.ElicitRequest(params=form)}, request_state=asked.token
            )
        answer = await context.session.elicit_form(asked.text, _CONFIRM_SCHEMA, context.request_id)
        return asked.token if _agreed(answer) else _failed(_DECLINED)

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        with _errors():
            return await resources.listed(
                self.app, await self._principal(context), self.shelves, params.cursor if params else None
            )

    async def _list_templates(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return resources.templates(self.shelves)

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        with _errors(uri=params.uri):
            return await resources.read(self.app, await self._principal(context), self.shelves, params.uri)

    async def _list_prompts(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return prompts.listed(self.prompts)

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        with _errors():
            prompt = prompts.named(self.prompts, params.name)
            return await prompts.got(self.app, await self._principal(context), prompt, params.arguments or {})

    async def _principal(self, context: Context) -> Principal:
        """Who asks: the door and the client's own name are the audience of what it reads."""
        client = context.session.client_params
        name = _UNSAFE.sub("-", client.client_info.name if client else "")[:_NAME_CHARS] or "unknown"
        audience = f"mcp-{self.way}:{name}"
        if context.request is not None:
            principal = replace(context.request.scope["state"][PRINCIPAL], audience=audience)
        else:
            with _errors():
                principal = await self.app.accounts.authenticate(audience=audience)
        with _errors():
            return await self.app.visibility.filters.hold(principal)


def _session(context: Context) -> str:
    return "stdio" if context.request is None else str(context.request.headers.get(_SESSION, ""))


class _Server(Server[Any]):
    """A server that says which lists of it change, in both eras: tools and resources, never prompts."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """As the SDK makes them, for sessions."""
        changing = NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions
        )

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """As the SDK makes them; it takes all lists to change where there are streams."""
        can = super().get_capabilities(
            notification_options, experimental_capabilities, extensions, protocol_version=protocol_version
        )
        if can.prompts is not None:
            can.prompts.list_changed = False
        return can


_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
_NAME_CHARS = 40


@contextmanager
def _errors(**more: str) -> Generator[None]:
    """Errors of ours as the protocol tells them: our sentence, the code of invalid parameters and ours."""
    try:
        yield
    except BethinkError as error:
        raise MCPError(types.INVALID_PARAMS, error.message, {"code": error.code, **more}) from error


def _described(offer: Offer) -> types.Tool:
    tool = offer.tool
    parameters = dict(tool.parameters)
    if tool.effect == "destructive" or tool.may_ask:
        parameters["properties"] = {**parameters["properties"], CONFIRM: _CONFIRM_ARGUMENT}
    return types.Tool(
        name=tool.name,
        title=tool.name.replace("_", " ").capitalize(),
        description=tool.description,
        input_schema=parameters,
        output_schema=offer.output,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.effect == "read",
            destructive_hint=tool.effect == "destructive",
            idempotent_hint=tool.effect == "read",
            open_world_hint=tool.effect == "egress",
        ),
    )


def _agreed(answer: types.ElicitResult) -> bool:
    return answer.action == "accept" and (answer.content or {}).get("agree") is True


@dataclass(slots=True)
class Files:
    """What a call makes: no conversation would keep it, so that its answer carries it."""

    call: str
    _made: dict[str, NewFile] = field(default_factory=dict[str, NewFile])

    async def keep(self, file: NewFile) -> Attachment:
        """Carry a file; of several of one name, the later ones are numbered.

        Raises:
            TooLarge: the answer would be larger than clients take.
        """
        if sum(len(made.content) for made in (*self._made.values(), file)) > _MAX_FILES_BYTES:
            raise TooLarge(f"{file.name} is too large to be given to the client with the answer.")
        name = file.name if self._uri(file.name) not in self._made else f"{len(self._made) + 1}-{file.name}"
        self._made[self._uri(name)] = file
        return Attachment(name=name, media_type=file.media_type, url=self._uri(name))

    def content(self, attachment: Attachment) -> types.ContentBlock:
        """A file as the protocol has it; what lies elsewhere is a link."""
        if (file := self._made.get(attachment.url)) is None:
            return types.ResourceLink(
                type="resource_link",
                uri=attachment.url,
                name=attachment.name,
                mime_type=attachment.media_type,
            )
        media_type, data = file.media_type, base64.b64encode(file.content).decode()
        match media_type.partition("/")[0]:
            case "image":
                return types.ImageContent(type="image", data=data, mime_type=media_type)
            case "audio":
                return types.AudioContent(type="audio", data=data, mime_type=media_type)
            case _:
                resource = _text_of(attachment, file) or types.BlobResourceContents(
                    uri=attachment.url, mime_type=media_type, blob=data
                )
                return types.EmbeddedResource(type="resource", resource=resource)

    def _uri(self, name: str) -> str:
        return f"bethink://calls/{self.call}/{quote(name)}"


def _text_of(attachment: Attachment, file: NewFile) -> types.TextResourceContents | None:
    if b"\0" in file.content:
        return None
    try:
        text = file.content.decode()
    except UnicodeDecodeError:
        return None
    return types.TextResourceContents(uri=attachment.url, mime_type=file.media_type, text=text)


def _result(output: ToolOutput, offer: Offer, files: Files) -> types.CallToolResult:
    structured = output.structured if offer.output is not None and output.error is None else None
    text = output.text if structured is None else json.dumps(structured, ensure_ascii=False)
    made = [files.content(attachment) for attachment in output.attachments]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text), *made],
        structured_content=None if structured is None else dict(structured),
        is_error=output.error is not None,
    )


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
