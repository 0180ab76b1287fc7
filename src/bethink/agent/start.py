"""Starts runs: options, history, loop or slash command, and the first record. `agent/runs` drives them.

A slash command is answered by the same tools that a model would call, so that every door shows it the same.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.agent.client_tools import check_first, client_tools
from bethink.agent.completion import SUMMARISED_WINDOWS, Summaries, keep_summary
from bethink.agent.loop import Loop
from bethink.agent.policy import NO_READ, NO_WRITE, READ_ONLY, Policy
from bethink.agent.recorder import Recorder
from bethink.agent.records import Journal, Ledger, Run
from bethink.agent.request import NO_RESOURCES, DecidedCall, Earlier, RunRequest, with_assistant
from bethink.agent.stored_runs import StoredRuns, decided_calls
from bethink.agent.toolbox import CallResult, Postponed, Prepared, Toolbox
from bethink.errors import Conflict, MemoryUnavailable, NoModel, NotAllowed
from bethink.events import (
    Event,
    MemoryRecalled,
    MessageSaved,
    Place,
    Recalled,
    RunDone,
    RunFailed,
    RunStarted,
    TextDelta,
    ToolRequested,
)
from bethink.forgetting.announcements import ForgetBarrier
from bethink.forgetting.selection import Preview, is_token
from bethink.forgetting.service import Forgetting, asks_for_all
from bethink.memory import KIND
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from bethink.store import Versioned, retry_conflicts
from bethink.tool import Tool, ToolContext
from bethink.tools.forgetting import forgotten
from bethink.tools.memory import SEARCH, STORE, in_words

if TYPE_CHECKING:
    from bethink.agent.context import Context
    from bethink.agent.request import LoadedBranchPoint, RunBounds, RunOptions, RunResources
    from bethink.conversations.records import Conversation
    from bethink.files import Files
    from bethink.llm.models import OfferedModels
    from bethink.preferences import PreferenceBook, Preferences
    from bethink.principal import Principal
    from bethink.projects import Project, Projects
    from bethink.secrets_at_rest import SecretBox
    from bethink.visibility.reader_filter import ReaderFilter
    from bethink.visibility.service import Visibility


HELP = """\
- `/remember` *something* — store it as a memory
- `/recall` *a question* — search your memories
- `/forget` *words* — show what would be forgotten, and how to confirm; `/forget` *id* forgets it for good
- `/help` — this list"""

MODEL_HELP = (
    "No model is set, so there are no answers yet. Set one in Settings, or start with one, for example "
    "`BETHINK_MODEL=openai:gpt-4o-mini` with `OPENAI_API_KEY`, or `BETHINK_MODEL=ollama:llama3.2` "
    "for a model on this machine. Until then your memory works without one: `/remember`, `/recall`, "
    "`/forget` and `/help`."
)


_TOLD_COLLECTIONS: Final = 10
_DOCUMENTS: Final = (
    "Documents are searched in this project's collections ({}) unless `file_urls` names others:"
)
_OTHERS: Final = "`collection:NAME`."
_OTHERS_OR_ALL: Final = "`collection:NAME`, or `collection:*` for all."


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command and what follows it."""

    name: str
    rest: str


SLASH_COMMANDS = ("/remember", "/recall", "/forget", "/help")


@dataclass(frozen=True, slots=True)
class SlashCommands:
    """The slash commands, wired to what they use."""

    toolbox: Toolbox
    forgetting: Forgetting

    def match(self, said: str) -> SlashCommand | None:
        """The command that a message is; None if it is talk.

        A message with a slash and an unknown word is talk too: it may be a path.
        """
        first, _, rest = said.strip().partition(" ")
        if first in SLASH_COMMANDS and "\n" not in first:
            return SlashCommand(first[1:], rest.strip())
        return None

    def match_words(self, said: str) -> SlashCommand | None:
        """The command that a message asks for in words: for when no model can call its tool."""
        return SlashCommand("forget", "everything") if asks_for_all(said) else None

    async def run(self, request: RunRequest, command: SlashCommand) -> AsyncGenerator[Event, None]:
        """The events of a command's run."""
        rights = request.principal.rights
        match command:
            case SlashCommand("remember" | "forget") if "write" not in rights:
                answer = _say(READ_ONLY if "read" in rights else NO_WRITE)
            case SlashCommand("recall" | "forget") if "read" not in rights:
                answer = _say(NO_READ)
            case SlashCommand("remember", rest) if rest:
                answer = self._call(request, STORE, {"content": rest})
            case SlashCommand("recall", rest) if rest:
                answer = self._call(request, SEARCH, {"query": rest})
            case SlashCommand("forget", rest) if rest:
                answer = self._forget(request, rest)
            case SlashCommand("help", _):
                answer = _say(HELP)
            case SlashCommand(name, _):
                answer = _say(f"Write something after `/{name}`.\n\n{HELP}")
        said: list[str] = []
        # No model reads this: it is for those at the door alone. What tools answer was looked through.
        reader = replace(request.principal, audience=request.principal.door)
        reader_filter = await self.toolbox.filter_for(reader) if command.name == "forget" else None
        async with aclosing(answer) as events:
            async for raw in events:
                event = raw if reader_filter is None else reader_filter.event(raw)
                if isinstance(event, TextDelta):
                    said.append(event.text)
                yield event
        (saved,) = await request.save([AssistantMessage("".join(said))])
        yield MessageSaved(id=saved, role="assistant")
        yield RunDone(reason="answered", message=saved)

    async def no_model(self) -> AsyncGenerator[Event, None]:
        """The events of a run that nobody can answer."""
        yield RunFailed(code=NoModel.code, message=MODEL_HELP)
        yield RunDone(reason="failed")

    async def _call(
        self, request: RunRequest, name: str, arguments: dict[str, str]
    ) -> AsyncGenerator[Event, None]:
        call = ToolCall(f"{request.run}:command", name, json.dumps(arguments, ensure_ascii=False))
        prepared = self.toolbox.prepare(call)
        if not isinstance(prepared, Prepared):
            yield TextDelta(text=prepared.content)
            return
        yield ToolRequested(call=call.id, name=name, arguments=call.arguments, label=prepared.label)
        (saved,) = await request.save(
            [AssistantMessage("", (call,))], durably=self.toolbox.may_change([call])
        )
        yield MessageSaved(id=saved, role="assistant")
        context = ToolContext(
            request.principal, request.conversation, request.run, request.message, forgotten=request.forgotten
        )
        async with aclosing(self.toolbox.run([prepared], context)) as items:
            async for item in items:
                if isinstance(item, Postponed):
                    # No command calls a tool that asks.
                    continue
                if isinstance(item, CallResult):
                    (saved,) = await request.save([item.message])
                    yield MessageSaved(id=saved, role="tool")
                    yield TextDelta(text=in_words(item.message))
                else:
                    yield item

    async def _forget(self, request: RunRequest, rest: str) -> AsyncGenerator[Event, None]:
        """Show what would go; forget it once the same comes with the token that was shown, or an id alone."""
        what, _, token = rest.rpartition(" ")
        if not (what and is_token(token)):
            what, token = rest, ""
        try:
            wanted = replace(
                await self.forgetting.meant(request.principal, what), asked_in=request.conversation
            )
        except NotAllowed as error:
            yield TextDelta(text=str(error))
            return
        if token or wanted.ids:
            try:
                receipt = (
                    await self.forgetting.confirm(request.principal, wanted, token)
                    if token
                    else await self.forgetting.forget(request.principal, wanted.ids)
                )
            except Conflict as error:
                yield TextDelta(text=str(error))
                return
            yield forgotten(receipt)
            yield TextDelta(text=f"{receipt.summary} {' '.join(receipt.outside)}")
            return
        preview = await self.forgetting.preview(request.principal, wanted)
        if preview.is_empty:
            yield TextDelta(text=f"No memories found matching: {what}")
            return
        yield _shown(preview)
        yield TextDelta(
            text=f"Nothing is forgotten yet. This would be forgotten for good:\n\n{preview.listing()}\n\n"
        )
        yield TextDelta(text=f"To forget all of it, send:\n\n`/forget {what} {preview.token}`")
        one_by_one = [f"`/forget {fact.id}`  {fact.content}" for fact in preview.facts]
        yield TextDelta(text="\n\nTo forget one of them:\n\n" + "\n\n".join(one_by_one) if one_by_one else "")


def _shown(preview: Preview) -> MemoryRecalled:
    """What was shown was told in this conversation: it goes from here too, once it is forgotten."""
    return MemoryRecalled(
        items=tuple(
            Recalled(id=fact.id, kind=KIND, text=fact.content, score=0.0, at=fact.created_at)
            for fact in (*preview.facts, *preview.versions)
        )
    )


async def _say(text: str) -> AsyncGenerator[Event, None]:
    yield TextDelta(text=text)


@dataclass(frozen=True, slots=True)
class RunOpening:
    """What a new run is to begin with.

    `said` is the owner's message, or what a client's tools answered; the run
    serves the owner's `message`, by its id. Where it begins at a `fork`, nothing
    may be said: then it answers that message anew.
    """

    message: str
    said: Sequence[UserMessage | ToolMessage]
    options: RunOptions
    resources: RunResources
    fork: LoadedBranchPoint | None = None


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that is stored and has still to be driven."""

    recorder: Recorder
    request: RunRequest
    events: AsyncGenerator[Event, None]


@dataclass(frozen=True, slots=True)
class RunStarter:
    """Begins runs, and those that go on.

    `visibility` says what each reader is not told of what was said, and what a model is asked
    not to tell it.
    """

    stored: StoredRuns
    commands: SlashCommands
    loops: LoopFactory
    visibility: Visibility = field(repr=False)
    projects: Projects = field(repr=False)
    preferences: PreferenceBook = field(repr=False)

    @retry_conflicts
    async def new(self, principal: Principal, conversation: str, opening: RunOpening) -> StartedRun:
        """A run of its own; what is said at its start is stored. Calls that still wait are rejected.

        Raises:
            UnknownId: this owner has no such conversation, or the model is not offered.
            Busy: it is being answered now.
            BadInput: a tool of the client's cannot be offered, or there are too many branches.
            Conflict: others keep changing the conversation.
        """
        conversations = self.stored.conversations
        found = await conversations.get(principal, conversation)
        # What follows the run asks again which filters hold.
        principal, project = await self._inside(principal.lasting, found.record)
        reader, reader_filter = await self._reader(principal)
        told = _project_told(principal, project)
        options = _options_in(found.record, opening.options, opening.resources, told=told)
        wishes = await self.preferences.of(principal)
        if options.model is None and wishes.model and self.loops.models.offers(wishes.model):
            options = msgspec.structs.replace(options, model=wishes.model)
        if options.model is not None:
            options = with_assistant(options, self.loops.models.assistants)
        if not self.loops.memory:
            options = msgspec.structs.replace(options, memory=False)
        if reader_filter is not None and options.system:
            options = msgspec.structs.replace(options, system=reader_filter.text(options.system))
        loop = await self._loop(
            reader, options, opening.resources, reader_filter=reader_filter, wishes=wishes
        )
        barrier = await ForgetBarrier.listening(principal.owner, self.stored.announcements)
        held = await self.stored.settle(principal, conversation, rejecting=True, found=found)
        if opening.fork is not None:
            held = Versioned(opening.fork.of(held.record), held.version)
        history = await self._history(principal, held, loop, reader_filter=reader_filter)
        run = Run(
            id=conversations.new_id(),
            conversation=conversation,
            message=opening.message,
            process=self.stored.bus.process,
            started_at=conversations.clock.now_us(),
            audience=principal.door,
            has_resources=opening.resources is not NO_RESOURCES,
        )
        command = self._command(opening, history, has_model=loop is not None)
        aside = command is not None or not options.memory
        recorder = Recorder(
            principal, run, held, conversations, Journal(), barrier, aside, options=options, fork=opening.fork
        )
        with self.stored.beginning(run.id):
            await recorder.begin(opening.said)
        model = loop.llm.name if loop else None
        recorder.take(
            RunStarted(
                run=run.id, conversation=conversation, message=run.message, model=model, at=run.started_at
            )
        )
        request = _request(reader, recorder, history, said=opening.said)
        events = self.commands.run(request, command) if command else self._events(request, loop)
        return StartedRun(recorder, request, events)

    async def decided(self, principal: Principal, run: str, resources: RunResources) -> StartedRun:
        """A run that waited, going on with what was decided.

        Raises:
            Conflict: it goes on elsewhere by now, or was ended.
        """
        conversations = self.stored.conversations
        barrier = await ForgetBarrier.listening(principal.owner, self.stored.announcements)
        found = await self.stored.versioned(principal, run)
        record = found.record
        if not record.is_decided:
            raise Conflict
        # Its answer has begun with a call by now.
        options = msgspec.structs.replace(record.options, first_call=None)
        held = await conversations.get(principal, record.conversation)
        principal, _ = await self._inside(principal, held.record)
        reader, reader_filter = await self._reader(
            replace(principal, audience=record.audience or principal.audience)
        )
        wishes = await self.preferences.of(principal)
        loop = await self._loop(reader, options, resources, reader_filter=reader_filter, wishes=wishes)
        history = await self._history(principal, held, loop, reader_filter=reader_filter)
        events = await self.stored.events(principal, record.id, Place(0))
        recorder = Recorder(
            principal,
            msgspec.structs.replace(
                record, state="running", process=self.stored.bus.process, waiting=(), reason=None
            ),
            held,
            conversations,
            Journal(first=events[-1].place.sequence + 1 if events else 1),
            barrier,
            aside=not options.memory,
            options=options,
            ledger=Ledger({item.call: item.message for item in record.waiting if item.message}),
        )
        with self.stored.beginning(run):
            await recorder.resume(found.version)
        request = _request(reader, recorder, history, decided=decided_calls(record))
        return StartedRun(recorder, request, self._events(request, loop))

    async def _inside(
        self, principal: Principal, conversation: Conversation
    ) -> tuple[Principal, Project | None]:
        """The principal in the project that a conversation belongs to, and the project, if there is one."""
        if conversation.project is None:
            return replace(principal, project=None, documents=None), None
        return await self.projects.inside(principal, conversation.project)

    async def _reader(self, principal: Principal) -> tuple[Principal, ReaderFilter | None]:
        """Who a run reads for, with the filters that hold for all of it, and what these hide."""
        reader = await self.visibility.filters.hold(principal.reading())
        return reader, await self.visibility.filter_for(reader)

    async def _loop(
        self,
        reader: Principal,
        options: RunOptions,
        resources: RunResources,
        *,
        reader_filter: ReaderFilter | None,
        wishes: Preferences,
    ) -> Loop | None:
        """The loop of a run; of its owner's wishes it is not told what the reader may not know."""
        told = wishes.told if reader_filter is None else reader_filter.text(wishes.told)
        kept_back = await self.visibility.filters.instructions_for(reader)
        return self.loops.of(options, resources, kept_back, wishes=told)

    def _command(self, opening: RunOpening, earlier: Earlier, *, has_model: bool) -> SlashCommand | None:
        first = opening.said[0] if opening.said else None
        if not isinstance(first, UserMessage):
            return None
        command = self.commands.match(first.content)
        if command is None and (not has_model or _is_toolless(earlier.messages)):
            command = self.commands.match_words(first.content)
        return command

    def _events(self, request: RunRequest, loop: Loop | None) -> AsyncGenerator[Event, None]:
        return self.commands.no_model() if loop is None else loop.run(request)

    async def _history(
        self,
        principal: Principal,
        held: Versioned[Conversation],
        loop: Loop | None,
        *,
        reader_filter: ReaderFilter | None,
    ) -> Earlier:
        """What was said before, as far as the model takes it and the reader may know it."""
        room = loop.llm.context_tokens if loop else 0
        if not held.record.count or not room:
            return Earlier()
        # What a summary is made of, if there is none (any more), fills more than a window.
        is_summarised = loop is not None and loop.summaries is not None and loop.summaries.settings.summaries
        windows = SUMMARISED_WINDOWS if is_summarised else 1
        earlier = await self.stored.history(principal, held.record, tokens=windows * room)
        if reader_filter is None or not (earlier.messages or earlier.summary):
            return earlier
        messages, summary = await reader_filter.history(earlier.messages, earlier.summary)
        filtered = replace(earlier, messages=messages, summary=summary)
        return replace(filtered, is_filtered=filtered != earlier)


def _request(
    reader: Principal,
    recorder: Recorder,
    earlier: Earlier,
    *,
    said: Sequence[Message] = (),
    decided: Sequence[DecidedCall] = (),
) -> RunRequest:
    """What the loop begins with: what was said before, and what is said now."""
    return RunRequest(
        reader,
        recorder.run.conversation,
        recorder.run.id,
        recorder.run.message,
        [*earlier.messages, *said],
        recorder.save,
        decided=decided,
        outside=recorder.outside,
        summary=earlier.summary,
        places=earlier.places,
        is_whole=earlier.is_whole,
        # None is kept of a filtered history: it knows less than there is.
        keep_summary=None if earlier.is_filtered else partial(keep_summary, recorder),
    )


def _options_in(held: Conversation, options: RunOptions, resources: RunResources, *, told: str) -> RunOptions:
    """What a run in the conversation is to have: the caller's options, else the conversation's own.

    What is `told` in its project stands before what the conversation does. A temporary one is without
    memory, whatever the caller asks for; but for a door whose memory is its own.
    """
    model, system = options.model or held.model, options.system or held.system
    system = "\n\n".join(filter(None, (told, system)))
    memory = options.memory and (resources.remembers or not held.temporary)
    if (model, system, memory) == (options.model, options.system, options.memory):
        return options
    return msgspec.structs.replace(options, model=model, system=system, memory=memory)


def _project_told(principal: Principal, project: Project | None) -> str:
    """What the model is told in a project: its instructions, and where documents are looked for."""
    instructions, documents = project.instructions if project else "", principal.documents
    if documents is None or not documents.collections:
        return instructions
    # What other users call theirs is no word of the owner's.
    names = [json.dumps(name, ensure_ascii=False) for name in documents.names[:_TOLD_COLLECTIONS]]
    left = len(documents.collections) - len(names)
    listed = ", ".join([*names, f"{left} {'more' if names else 'shared with the person'}"] if left else names)
    others = _OTHERS if principal.project else _OTHERS_OR_ALL
    return "\n\n".join(filter(None, (instructions, f"{_DOCUMENTS.format(listed)} {others}")))


def _is_toolless(earlier: Sequence[Message]) -> bool:
    """Whether the last answer in a conversation is of a model that its server refuses tools."""
    origins = [
        message.origin for message in earlier if isinstance(message, AssistantMessage) and message.origin
    ]
    return bool(origins) and origins[-1].toolless


@dataclass(slots=True)
class LoopFactory:
    """The parts of all loops."""

    models: OfferedModels
    policy: Policy
    files: Files
    context: Context
    bounds: RunBounds
    summaries: Summaries | None = None
    memory: bool = True
    """Whether any run uses memory."""

    @property
    def secret_box(self) -> SecretBox | None:
        """What seals secrets; None if there is none."""
        return self.policy.toolbox.secret_box

    def of(
        self,
        options: RunOptions,
        resources: RunResources,
        kept_back: Sequence[str] = (),
        *,
        wishes: str = "",
    ) -> Loop | None:
        """The loop of a run; None if no model is set. `kept_back` is what its model is asked not to tell.

        `wishes` are its owner's own instructions.

        Raises:
            UnknownId: the model is not offered.
            BadInput: a tool of the client's cannot be offered, or the one that is to be called is not there.
        """
        toolbox = self.toolbox(options, resources)
        if options.first_call is not None:
            check_first(options.first_call, toolbox)
        models, wanted = self.models, options.model
        llm = resources.llm or (models.usual if wanted is None else models.get(wanted))
        if llm is None:
            return None
        policy = replace(self.policy, toolbox=toolbox)
        context = self.context.with_options(options).wishing(wishes).keeping_back(kept_back)
        return Loop(
            llm,
            toolbox,
            policy,
            self.files,
            context,
            self.bounds.within(options.budget_tokens),
            summaries=self.summaries,
            first_call=options.first_call,
            remembers_nothing=None if self.memory else MemoryUnavailable().message,
        )

    def toolbox(self, options: RunOptions, resources: RunResources) -> Toolbox:
        """The tools of a run: the client's, those of its door, then Bethink's own.

        Raises:
            BadInput: a tool of the client's cannot be offered.
        """
        only = resources.only

        def keeps(tool: Tool) -> bool:
            return (
                options.tools
                and (options.memory or not tool.needs_memory)
                and (only is None or tool.name in only)
            )

        usual = self.policy.toolbox
        if (
            options.tools
            and options.memory
            and only is None
            and not (resources.tools or options.client_tools)
        ):
            return usual
        own = usual.for_run(resources.tools, keeps)
        theirs = client_tools(options.client_tools, own)
        return usual.for_run([*theirs, *resources.tools], keeps) if theirs else own
