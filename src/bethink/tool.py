"""What a tool is: one decorated async function, its schema taken from its signature.

`tools/` defines them, `agent/toolbox` calls them, `agent/policy` judges them.
The first parameter (of a method: behind `self`) is the `ToolContext`; every other one becomes a property of
the JSON Schema that the model sees, described by `Annotated[…, Field(…)]`.
Every app has tools of its own, made of the same few functions: what a signature
says is worked out once, since that takes longer than all the rest of opening an app.
"""

from __future__ import annotations

import inspect
import json
import string
import typing
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, Protocol, TypedDict, Unpack, cast

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from bethink.errors import BadInput, NotAllowed
from bethink.questions import Answer, Question, ask_nobody

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.events import Event, StopReason
    from bethink.messages import Attachment
    from bethink.principal import Principal

    Arguments = tuple[type[BaseModel], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """What to do: `system` is all that the model is told beside its `task`, `tools` names what it may call.

    `job` is what its usage is counted under, and what it reads is read for the audience
    `DOOR/job`. It may take `steps` requests to the model. `model` is
    `provider:name`, or `auto` for the usual one, else one that is found; `way` is how it is told of tools.
    `outside` says that `system` or `task` tell what may come from outside.
    """

    job: str
    system: str
    task: str
    tools: tuple[str, ...]
    steps: int = 20
    max_output_tokens: int | None = None
    model: str = "auto"
    way: Literal["auto", "native", "tagged", "routed"] = "auto"
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was made on the way; `memories` are the ids of what it quotes, `error` is a code."""

    name: str
    arguments: str
    error: str | None = None
    memories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubagentResult:
    """What came of a task: `reply` is its last answer, `thoughts` what was considered on the way.

    `failure` is the sentence of what ended it early, `code` its code; "" where nothing did.
    What is `untrusted` rests on words from outside. `model` answered last, for so many `tokens` in all.
    """

    reply: str
    thoughts: str
    reason: StopReason
    calls: tuple[Call, ...] = ()
    failure: str = ""
    code: str = ""
    untrusted: bool = False
    model: str = ""
    tokens: int = 0

    def sources(self, by: Collection[str]) -> tuple[str, ...]:
        """The ids of what these tools read, each once, in the order of reading."""
        return tuple(dict.fromkeys(id for call in self.calls if call.name in by for id in call.memories))


class RunAgent(Protocol):
    """Runs a task for the call that asks."""

    async def __call__(self, task: SubagentTask, /) -> SubagentResult:
        """What came of it; what it does is told as progress of the call.

        Raises:
            NotAllowed: a task cannot send another one.
            NoModel: there is no model to send.
        """
        ...


async def no_subagent(task: SubagentTask, /) -> SubagentResult:
    """Where nothing is wired that could run it."""
    raise NotAllowed(f"No agent can be sent from here, as {task.job} would want.")


MAX_DESCRIPTION = 1024
"""Longest description of a tool, in characters (spec 002, "Base Tool")."""

Effect = Literal["read", "write", "destructive", "egress"]
Trust = Literal["owner", "untrusted"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whose words stand in a run's context, each oldest first.

    `said` is what the owner said in the conversation, `asked` what the
    assistant said before their last message; `recalled` are memories that were
    given or found, `own` what the owner's own tools answered, `untrusted` what
    tools brought that are not the owner's own. `vouched` is what of `own` was
    told before anything from outside came: no order had a part in it. `addresses` were found by searches
    and listings, `sent` is what other calls tell out of this machine, as JSON.
    `outside` says whether anything from outside was ever read in the conversation:
    what the assistant said since may tell it.
    """

    said: tuple[str, ...] = ()
    asked: str = ""
    recalled: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    vouched: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    outside: bool = False

    @property
    def is_untrusted(self) -> bool:
        """Whether anything of it is from outside: the least trust of all that stands there."""
        return self.outside or bool(self.untrusted)


OF_CLIENT: Final = "client"
"""The `origin` of a tool that the client of a request calls itself."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a tool made: a picture, a table, a long result.

    `made_as` is its path where code works, "" for what code only showed; one that
    is made again keeps its name.
    """

    name: str
    media_type: str
    content: bytes = field(repr=False)
    made_as: str | None = None


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file of a conversation; it is read at `path`, and never changed there. `size` is in bytes.

    `url` is an address that a model may know it by.
    """

    id: str
    name: str
    media_type: str
    size: int
    path: Path
    made_as: str | None = None
    url: str = ""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `calls` of one owner begin within `per_s` seconds."""

    calls: int
    per_s: float


async def _keep_nowhere(file: NewFile) -> Attachment:
    raise NotAllowed(f"{file.name} cannot be kept: there is no conversation that it belongs to.")


async def _no_files() -> Sequence[HeldFile]:
    return ()


class Forgotten(Protocol):
    """What the owner had forgotten since a run began, as far as the run has heard of it."""

    async def listen(self) -> None:
        """Hear what was forgotten since the last time."""
        ...

    def says(self, text: str) -> bool:
        """Whether a text says something of what was heard."""
        ...

    @property
    def expected(self) -> Sequence[Any]:
        """The changes that refuse a commit if there is something that was not heard."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call knows of its run; `emit` sends an event into the run at once.

    `message` is the id of the owner's message that the run answers. `label`
    gives the short name under which the answer may cite a memory, by its id;
    it is empty where nobody reads citations. `named` gives back the id. `evidence` tells where what a call
    says may come from; None where the owner makes it themselves. `forgotten` is
    what a call must not keep any more. `keep` keeps a file in the conversation,
    `files` gives those that it has. `run_agent` has a model do a task for the call.
    `ask` asks the owner and waits, while the call's own time stands still. `approved` says that the
    owner saw this very call, with its arguments, and agreed to it.
    """

    principal: Principal
    conversation: str
    run: str
    message: str
    call: str = ""
    emit: Callable[[Event], None] = lambda _event: None
    label: Callable[[str], str] = lambda _id: ""
    named: Callable[[str], str | None] = lambda _label: None
    evidence: Callable[[], Evidence | None] = lambda: None
    forgotten: Forgotten | None = None
    keep: Callable[[NewFile], Awaitable[Attachment]] = _keep_nowhere
    files: Callable[[], Awaitable[Sequence[HeldFile]]] = _no_files
    run_agent: RunAgent = no_subagent
    ask: Callable[[ToolContext, Question], Awaitable[Answer]] = ask_nobody
    approved: bool = False

    @property
    def is_untrusted(self) -> bool:
        """Whether words from outside stand in the run: what a call makes has the least trust of them all."""
        evidence = self.evidence()
        return evidence is not None and evidence.is_untrusted


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool answers: `text` is what the model reads. `error` is a code if it failed.

    `memories` are the ids of the facts that the text quotes, `addresses` the
    URLs that a search found: they may be opened without asking. `structured`
    says the same to a program. `untrusted` says that a tool of the owner's own
    tells here what came from outside.
    """

    text: str
    attachments: tuple[Attachment, ...] = ()
    error: str | None = None
    memories: tuple[str, ...] = ()
    structured: Mapping[str, Any] | None = None
    addresses: tuple[str, ...] = ()
    untrusted: bool = False

    @classmethod
    def of(cls, answer: BaseModel) -> ToolOutput:
        """An answer for programs; a model reads it as JSON."""
        return cls(answer.model_dump_json(), structured=answer.model_dump(mode="json"))


@dataclass(frozen=True, slots=True)
class Foretold:
    """A call that needs approval, worked out: what it is run with, and in words what it would do.

    From `Tool.foretell`, an empty `text` means that it would do nothing, so that nobody need be asked.
    From a handler, it is the answer of a call that has changed nothing and wants to be approved first.
    """

    arguments: dict[str, Any]
    text: str


Foretell = Callable[..., Awaitable[Foretold]]
"""Of a principal and arguments; behind its object, as a handler, if the tool is a method of one."""
Handler = Callable[..., Awaitable[str | ToolOutput | Foretold]]
Check = Callable[[str], dict[str, Any]]
"""JSON text to the arguments of a call; raises `BadInput` with a reason for each that does not fit."""
Gives = Callable[[dict[str, Any]], "Sequence[str]"]
"""The URLs and texts with which a call leaves this machine."""

Critical = Callable[[dict[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, ready to be called.

    `parameters` is a JSON Schema object. `effect` is the strongest thing that a
    call can do; `trust` says whether what it returns is the owner's own.
    `timeout_s` is None where the setting decides. `label` puts a call in plain
    words: a format string over its arguments. `foretell` tells whoever approves a
    call what it would do, `gives` what of an egress call leaves this machine.
    Whom an egress call reaches and what it costs is decided by its `decisive` arguments, None: by all of
    them; these must be the owner's once words from outside stand in the run.
    What a `public` tool returns is for anybody to read, and where it sends things
    is the owner's choice. `source` names the server or plug-in that a tool comes
    from, "" for Bethink's own; `origin` is what exactly answers under its name there.
    At most `concurrency` calls of one owner run at once.
    `critical` says why a call with such arguments asks first, "" where it need not; `may_ask` that a call
    may find out so only while it runs.
    One that `needs_files` is of use only in a conversation that has some; a `rare` one is offered once
    it was found, or the user says one of its `cues`: a word, or how it begins (of several, each).
    Tools of one `family` are offered together; `aliases` are other names that the source documents have.
    One that `needs_memory` is left out of runs without it. What one that `filters_itself` answers is what
    its reader may see; one that `echoes_arguments` repeats its call, which must not answer guesses at
    what is hidden. `output` is the model of its structured answer.
    What an `unreviewed` tool says of itself are words from outside: no person has accepted them.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect
    trust: Trust
    timeout_s: float | None
    label: str
    check: Check = field(repr=False)
    handler: Handler = field(repr=False)
    foretell: Foretell | None = field(default=None, repr=False)
    gives: Gives | None = field(default=None, repr=False)
    decisive: tuple[str, ...] | None = None
    public: bool = False
    rate: Rate | None = None
    concurrency: int | None = None
    source: str = ""
    origin: str = ""
    critical: Critical | None = field(default=None, repr=False)
    unreviewed: bool = False
    needs_files: bool = False
    rare: bool = False
    cues: tuple[str, ...] = ()
    may_ask: bool = False
    family: str = ""
    aliases: tuple[str, ...] = ()
    needs_memory: bool = False
    filters_itself: bool = False
    echoes_arguments: bool = False
    output: type[BaseModel] | None = None

    @property
    def secret(self) -> bool:
        """Whether some argument is to be masked wherever a call is kept or shown."""
        return has_secrets(self.parameters)

    def parse(self, arguments: str) -> dict[str, Any]:
        """The validated arguments of a call, from JSON text as a model wrote it.

        An empty text and `null` count as no arguments: models write so for a tool without any.

        Raises:
            BadInput: not JSON, not an object, or not what the schema asks; the
                sentence names each parameter and says why.
        """
        written = arguments.strip()
        return self.check("{}" if written in {"", "null"} else written)

    def describe(self, arguments: dict[str, Any]) -> str:
        """The call in plain words, for a person."""
        return self.label.format_map({name: _brief(value) for name, value in arguments.items()})

    def renamed(self, name: str) -> Tool:
        """The same tool under another name."""
        return replace(self, name=name)


def tools_in(holder: object) -> list[Tool]:
    """The tools that are methods of an object, in the order of its class."""
    return [
        replace(
            one, handler=partial(one.handler, holder), foretell=one.foretell and partial(one.foretell, holder)
        )
        for one in vars(type(holder)).values()
        if isinstance(one, Tool)
    ]


class _More(TypedDict, total=False):
    foretell: Foretell
    gives: Gives
    critical: Critical
    may_ask: bool
    public: bool
    rate: Rate
    concurrency: int
    source: str
    needs_files: bool
    rare: bool
    cues: tuple[str, ...]
    family: str
    aliases: tuple[str, ...]
    needs_memory: bool
    filters_itself: bool
    echoes_arguments: bool
    output: type[BaseModel]


def tool(
    *,
    effect: Effect,
    label: str,
    trust: Trust = "owner",
    timeout_s: float | None = None,
    name: str | None = None,
    **more: Unpack[_More],
) -> Callable[[Handler], Tool]:
    """Make an async function a `Tool`; its docstring is the description. `more` is told at `Tool`.

    Raises:
        ValueError: the description is missing or longer than `MAX_DESCRIPTION`,
            or the label names what is no parameter.
    """

    def make(handler: Handler) -> Tool:
        description = inspect.cleandoc(handler.__doc__ or "")
        if not 0 < len(description) <= MAX_DESCRIPTION:
            wanted = f"a description of 1 to {MAX_DESCRIPTION} characters is needed"
            raise ValueError(f"{handler.__name__}: {wanted}")
        arguments, schema = arguments_of(handler)
        named = {name for _, name, _, _ in string.Formatter().parse(label) if name is not None}
        if unknown := sorted(named - set(arguments.model_fields)):
            raise ValueError(f"{handler.__name__}: its label names {unknown[0]!r}, which is no parameter")
        return Tool(
            name=name or handler.__name__,
            description=description,
            parameters=schema,
            effect=effect,
            trust=trust,
            timeout_s=timeout_s,
            label=label,
            check=partial(_validated, arguments),
            handler=handler,
            **more,
        )

    return make


class Foreign(TypedDict):
    """What a tool that is no Python function of ours says of itself."""

    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect
    trust: Trust
    label: str
    source: str
    origin: NotRequired[str]
    timeout_s: float | None


def foreign_tool(handler: Handler, **said: Unpack[Foreign]) -> Tool:
    """A tool with a JSON Schema of its own, such as an MCP server gives.

    `handler` gets the context and the arguments by name, checked against the
    schema. `label` is plain text. By itself an egress call gives everything it is called with.
    """
    told: dict[str, Any] = {**said, "label": said["label"].replace("{", "{{").replace("}", "}}")}
    told["description"] = (said["description"].strip() or said["name"])[:MAX_DESCRIPTION]
    return Tool(**told, check=checker(said["parameters"]), handler=handler, gives=leaves)


def _validated(arguments: type[BaseModel], written: str) -> dict[str, Any]:
    try:
        parsed = arguments.model_validate_json(written)
    except ValidationError as error:
        reasons = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)
        )
        raise BadInput(f"The arguments are not valid. {reasons}") from error
    return {name: getattr(parsed, name) for name in type(parsed).model_fields}


_BRIEF = 60


def _brief(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _BRIEF else text[: _BRIEF - 1] + "…"


_MOST_KNOWN = 512
"""More signatures than Bethink and its plug-ins have by far."""
_MISSING = inspect.Parameter.empty


def arguments_of(handler: Callable[..., object]) -> Arguments:
    """The model of what a tool's function, or method, takes behind its context, and its JSON Schema.

    The schema is the caller's own to change.
    """
    first, *parameters = inspect.signature(handler).parameters.values()
    parameters = parameters[first.name == "self" :]
    if written := _written(handler, parameters):
        model, schema = _known(written)
        return model, msgspec.json.decode(schema)
    hints = typing.get_type_hints(handler, include_extras=True)
    return _made(handler.__name__, {one.name: (hints[one.name], one.default) for one in parameters})


@dataclass(frozen=True, slots=True)
class _Written:
    """A signature all of whose annotations are text: equal ones mean the same in the same module.

    A parameter is its name, annotation, the type of its default, and the default; that of an empty
    list is told by its type alone.
    """

    name: str
    parameters: tuple[tuple[str, str, type, object], ...]
    module: int
    """The identity of `names`, which live as long as this."""
    names: dict[str, Any] = field(compare=False, repr=False)


def _written(handler: Callable[..., object], parameters: Sequence[inspect.Parameter]) -> _Written | None:
    names: dict[str, Any] | None = getattr(inspect.unwrap(handler), "__globals__", None)
    if names is None or not all(
        isinstance(one.annotation, str)
        and (one.default in (_MISSING, None, []) or isinstance(one.default, str | int | float))
        for one in parameters
    ):
        return None
    # 1, 1.0 and True are equal, and make different schemas.
    kinds: list[type] = [type(one.default) for one in parameters]
    read = tuple(
        (one.name, one.annotation, kind, None if kind is list else one.default)
        for one, kind in zip(parameters, kinds, strict=True)
    )
    return _Written(handler.__name__, read, id(names), names)


@lru_cache(_MOST_KNOWN)
def _known(written: _Written) -> tuple[type[BaseModel], bytes]:
    """The model, and the schema as JSON: reading it again is ten times as fast as copying it."""
    annotated = SimpleNamespace(__annotations__={name: text for name, text, _, _ in written.parameters})
    hints = typing.get_type_hints(annotated, written.names, include_extras=True)
    fields: dict[str, tuple[Any, object]] = {
        name: (hints[name], [] if kind is list else default) for name, _, kind, default in written.parameters
    }
    model, schema = _made(written.name, fields)
    return model, msgspec.json.encode(schema)


def _made(name: str, parameters: Mapping[str, tuple[Any, object]]) -> Arguments:
    fields: dict[str, Any] = {
        name: (hint, ... if default is _MISSING else default) for name, (hint, default) in parameters.items()
    }
    model = create_model(name, __config__=ConfigDict(extra="forbid", frozen=True), **fields)
    return model, _schema(model)


class _Plain(GenerateJsonSchema):
    """Schemas without the titles that pydantic adds: models pay for every token."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Never."""
        del schema
        return False


def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    schema = arguments.model_json_schema(schema_generator=_Plain)
    for definition in schema.get("$defs", {}).values():
        definition.pop("title", None)
    return {
        "type": "object",
        "properties": schema.get("properties", {}),
        "required": schema.get("required", []),
        "additionalProperties": False,
        **({"$defs": schema["$defs"]} if "$defs" in schema else {}),
    }


_MAX_REASONS = 5
_REASON_CHARS = 200


def checker(schema: dict[str, Any]) -> Callable[[str], dict[str, Any]]:
    """Checks JSON text against the schema; one that is no valid schema lets every object pass.

    References lead inside the schema only: nothing is ever loaded for them. The
    schema is looked at when it is first needed: that takes a hundredth of a
    second, and a server may have thousands of tools.
    """
    validator = cache(partial(_validator, schema))

    def check(written: str) -> dict[str, Any]:
        try:
            arguments: Any = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"The arguments are not valid. They are no JSON: {error}") from error
        if not isinstance(arguments, dict):
            raise BadInput("The arguments are not valid. An object is wanted.")
        named = _filled(cast("dict[str, Any]", arguments), schema)
        reasons = list(_reasons(found, named)) if (found := validator()) else []
        if reasons:
            raise BadInput("The arguments are not valid. " + "; ".join(reasons))
        return named

    return check


def _filled(given: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """What is given, with the defaults of what is required: some schemas demand what has a default."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return given
    names = cast("list[Any]", required) if isinstance(required, list) else []
    filled = dict(given)
    for name, part in cast("dict[str, Any]", properties).items():
        if not isinstance(part, dict):
            continue
        member = cast("dict[str, Any]", part)
        if name not in filled and name in names and "default" in member:
            filled[name] = deepcopy(member["default"])
        if isinstance(filled.get(name), dict):
            filled[name] = _filled(filled[name], member)
    return filled


def _validator(schema: dict[str, Any]) -> Any:  # noqa: ANN401 - as below
    import jsonschema
    from jsonschema.validators import validator_for
    from referencing import Registry

    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError:
        return None
    return kind(schema, registry=Registry())


def _reasons(validator: Any, arguments: dict[str, Any]) -> Iterator[str]:  # noqa: ANN401 - jsonschema's Validator has no type of its own
    from referencing.exceptions import Unresolvable

    try:
        for count, error in enumerate(validator.iter_errors(arguments)):
            if count == _MAX_REASONS:
                yield "and more"
                return
            place = ".".join(str(part) for part in error.absolute_path) or "arguments"
            yield f"{place}: {error.message[:_REASON_CHARS]}"
    except (Unresolvable, RecursionError):
        # The server's own schema is at fault: the server is left to judge.
        return


def leaves(arguments: dict[str, Any]) -> Sequence[str]:
    """Every text and number in the arguments, as text."""
    found: list[str] = []
    rest: list[Any] = [arguments]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            rest += cast("list[Any]", value)
        elif value is not None and not isinstance(value, bool):
            found.append(str(value))
    return found[::-1]


Schema = Mapping[str, Any]


def has_secrets(schema: object) -> bool:
    """Whether something in a schema is secret, as deep as it may be."""
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            part = cast("dict[str, Any]", one)
            if part.get("writeOnly") is True:
                return True
            left += part.values()
        elif isinstance(one, list):
            left += cast("list[Any]", one)
    return False
