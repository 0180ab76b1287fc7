"""Who owns runs: one task each, its journal, its readers, its end. Every door starts runs here.

A reader that leaves does not end a run. A run of a process that died is found
when its conversation is next opened, and its end is told then.

A running call may ask its owner something (`ToolContext.ask`). The question is answered from any door and
never kept: the answer goes to who asked, and the run's events only say that there was one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from bethink.agent.claims import is_lookup
from bethink.agent.client_tools import open_calls, results_of
from bethink.agent.recorder import JournalWriter, Recorder
from bethink.agent.request import (
    DEFAULT_OPTIONS,
    NO_RESOURCES,
    BranchPoint,
    LoadedBranchPoint,
    load_branch_point,
)
from bethink.agent.signals import RunSignals
from bethink.agent.start import LoopFactory, RunOpening, RunStarter, SlashCommands, StartedRun
from bethink.agent.stored_runs import Approvals, StoredRuns
from bethink.conversations.records import checked_content
from bethink.conversations.service import ConversationEdit, Conversations
from bethink.errors import (
    BethinkError,
    Busy,
    CorruptDatabase,
    NewerSchema,
    StorageError,
    TooManyRequests,
    UnknownId,
)
from bethink.events import (
    Place,
    QuestionAnswered,
    QuestionAsked,
    RunDone,
    RunFailed,
    TextDelta,
    ToolFinished,
    Usage,
)
from bethink.messages import ToolMessage, UserMessage
from bethink.questions import CANCELLED, Action, Answer, GivenAnswer, Question, checked_answer, host_of
from bethink.telemetry import Histogram, Supervise, Tracing, correlate, log, recorded

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from bethink.agent.policy import ToolRules
    from bethink.agent.post_turn import PostTurnQueue
    from bethink.agent.records import Audit, Journal, NumberedEvent
    from bethink.agent.request import RunOptions, RunRequest, RunResources, Watched
    from bethink.bus import Bus
    from bethink.clock import Clock, Ids
    from bethink.events import Event, StopReason, Warned
    from bethink.files import Files
    from bethink.forgetting.announcements import Announcements
    from bethink.preferences import PreferenceBook
    from bethink.principal import Principal
    from bethink.projects import Projects
    from bethink.settings import Settings
    from bethink.tool import ToolContext
    from bethink.visibility.service import Visibility


@dataclass(slots=True)
class RunMetrics:
    """Counts that only grow.

    `ended` is by reason, `tool_calls` by tool and outcome (an error's code, or
    `ok`), `tokens` by model, job and direction (`in`, `out`), `cost_usd` by model and job, as far as
    prices are known. `first_text` is until the first words of an answer, `turns` until its end.
    """

    started: int = 0
    ended: Counter[str] = field(default_factory=Counter[str])
    tool_calls: Counter[tuple[str, str]] = field(default_factory=Counter["tuple[str, str]"])
    tokens: Counter[tuple[str, str, str]] = field(default_factory=Counter["tuple[str, str, str]"])
    cost_usd: dict[tuple[str, str], float] = field(default_factory=dict["tuple[str, str]", float])
    first_text: Histogram = field(default_factory=Histogram)
    turns: Histogram = field(default_factory=Histogram)

    def take(self, event: ToolFinished | Usage) -> None:
        """Count a tool call or a request to a model."""
        match event:
            case ToolFinished():
                # A model may invent names without end: they count as one.
                name = "unknown" if event.error == "unknown_tool" else event.name
                self.tool_calls[name, event.error or "ok"] += 1
            case Usage():
                self.tokens[event.model, event.job, "in"] += event.input_tokens
                self.tokens[event.model, event.job, "out"] += event.output_tokens
                if event.cost_usd is not None:
                    spent = self.cost_usd.get((event.model, event.job), 0)
                    self.cost_usd[event.model, event.job] = spent + event.cost_usd


_RUNS_A_PURGE = 20
"""So many runs of a process leave no more than one purge drops."""
_STOP_S = 5
"""How long a run that was cancelled may take to end."""
STORE_PATIENCE_S = 60.0
"""How long a whole answer waits for a database that is away (one that fails over) or has no room."""
_STORE_PAUSE_S = 0.5
_UNHEARD = "The process that writes this answer cannot be reached: it goes on. Try again in a moment."
_NOT_ASKED = "This question does not wait any more."
_ASKER_GONE = "The process that asked this has ended, and the question with it. Ask again."
_log = log("runs")


@dataclass(slots=True)
class _Live:
    """A run of this process."""

    recorder: Recorder
    request: RunRequest
    scope: anyio.CancelScope
    reason: StopReason = "max_seconds"
    started_at: float = field(default_factory=anyio.current_time)
    has_spoken: bool = False

    def end(self, reason: StopReason) -> None:
        """End it before its own end, and before its time is over."""
        self.reason = reason
        self.scope.cancel()


@dataclass(slots=True)
class Runs:
    """The runs of all owners.

    `on_end` is told of an owner who was answered, `on_delete` of a conversation that is no more.
    `watched` ends the run of who may not come in any more.
    `warnings` gives what works less well than it should, told at the beginning of each run;
    `visibility` what is hidden from a run's reader, and what its model is asked not to tell.
    """

    conversations: Conversations
    announcements: Announcements
    bus: Bus
    commands: SlashCommands
    rules: ToolRules
    files: Files
    loops: LoopFactory
    audit: Audit
    settings: Settings
    visibility: Visibility
    projects: Projects
    preferences: PreferenceBook
    post_turn: PostTurnQueue
    on_end: Callable[[str], None]
    on_delete: Callable[[str, str], None]
    watched: Watched
    warnings: Callable[[], Sequence[Warned]]
    metrics: RunMetrics = field(repr=False)
    tracing: Tracing = field(repr=False)
    is_draining: bool = False
    """Whether this process is about to stop, and lets its runs end first."""
    stored: StoredRuns = field(init=False, repr=False)
    approvals: Approvals = field(init=False, repr=False)
    _starter: RunStarter = field(init=False, repr=False)
    _signals: RunSignals = field(init=False, repr=False)
    _questions: OpenQuestions = field(init=False, repr=False)
    _tasks: TaskGroup = field(init=False, repr=False)
    _live: dict[str, _Live] = field(default_factory=dict[str, _Live], repr=False)
    _starting: Counter[str] = field(default_factory=Counter[str], repr=False)
    _idle: anyio.Event = field(default_factory=anyio.Event, repr=False)
    _journals: JournalWriter = field(default_factory=JournalWriter, repr=False)

    def __post_init__(self) -> None:
        self._signals = RunSignals(self.bus, self.conversations.new_id)
        self._questions = OpenQuestions(self.conversations.new_id, self.conversations.clock)
        self.stored = StoredRuns(
            self.conversations, self.announcements, self._signals, self._live.__contains__, self.settings
        )
        self.approvals = Approvals(self.stored, self.loops.toolbox, self.rules, self._go_on)
        self._starter = RunStarter(
            self.stored, self.commands, self.loops, self.visibility, self.projects, self.preferences
        )

    @property
    def live(self) -> int:
        """How many run now in this process."""
        return len(self._live)

    @asynccontextmanager
    async def opened(self, supervise: Supervise) -> AsyncGenerator[Runs]:
        """Runs may be started inside; those that still run at the end are interrupted and kept."""
        async with anyio.create_task_group() as tasks:
            self._tasks, signals = tasks, self._signals
            tasks.start_soon(supervise, "journals of runs", self._journals.flush_always)
            tasks.start_soon(
                supervise, "runs stopped elsewhere", partial(signals.cancel_for_others, self._cancel)
            )
            tasks.start_soon(
                supervise, "runs told of forgetting", partial(signals.heed_for_others, self._heed_forgetting)
            )
            tasks.start_soon(
                supervise, "runs read elsewhere", partial(signals.tell_readers, self._journal_of)
            )
            tasks.start_soon(supervise, "runs that wait", self.approvals.tend_always)
            tasks.start_soon(
                supervise, "answers from elsewhere", partial(signals.take_answers, self._take_answer)
            )
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    async def start(
        self,
        principal: Principal,
        conversation: str | BranchPoint,
        content: str | None,
        *,
        files: Sequence[str] | None = None,
        options: RunOptions = DEFAULT_OPTIONS,
        resources: RunResources = NO_RESOURCES,
    ) -> str:
        """Begin to answer; the message is durable when the run's id comes back.

        `files` are ids of the conversation's files to which the message speaks; for
        an edit that names none, those of the message that it replaces. A `BranchPoint` begins
        on another branch; the one that answers again needs no `content`. Calls that
        still wait for an approval are taken as rejected.

        Raises:
            UnknownId: this owner has no such conversation or message, or the model is not offered.
            Busy: it is being answered now.
            TooManyRequests: so many of this owner may not run at once.
            BadInput: the message is empty or too long, or a tool of the client's cannot be offered.
        """
        async with self._admitted(principal):
            fork: LoadedBranchPoint | None = None
            if isinstance(conversation, BranchPoint):
                fork = await load_branch_point(self.conversations, principal, conversation)
                conversation = conversation.conversation
            if fork is not None and fork.way == "again":
                opening = RunOpening(fork.stored.id, [], options, resources, fork)
            else:
                attached = await self.files.attachments(principal, conversation, files) if files else ()
                is_untrusted = options.untrusted
                if fork is not None and fork.way == "edit" and isinstance(fork.stored.message, UserMessage):
                    is_untrusted |= fork.stored.message.untrusted
                    attached = fork.stored.message.attachments if files is None else attached
                text = checked_content(content or "", self.settings.max_message_chars)
                said = UserMessage(text, attached, is_untrusted)
                opening = RunOpening(self.conversations.new_id(), [said], options, resources, fork)
            return self._launch(await self._starter.new(principal, conversation, opening))

    async def answer(
        self,
        principal: Principal,
        conversation: str,
        results: Sequence[ToolMessage],
        *,
        options: RunOptions = DEFAULT_OPTIONS,
        resources: RunResources = NO_RESOURCES,
    ) -> str:
        """Go on with what a client's tools answered, in a run of its own; its id.

        Raises:
            UnknownId: this owner has no such conversation, or the model is not offered.
            Busy: it is being answered now.
            BadInput: a result answers no call that was left to the client.
        """
        async with self._admitted(principal):
            asked = await open_calls(self.conversations, principal, conversation)
            told = results_of(asked, results, self.settings.max_message_chars)
            opening = RunOpening(asked.message, told, options, resources)
            return self._launch(await self._starter.new(principal, conversation, opening))

    async def follow(
        self, principal: Principal, run: str, after: Place | None = None
    ) -> AsyncGenerator[list[NumberedEvent], None]:
        """The run's events behind a place in batches, as they come, until its end.

        A reader whose place is not known here gets the text so far first.

        Raises:
            UnknownId: this owner has no such run, or its events are dropped by now.
        """
        place = after or Place(0)
        if (live := self._here(principal.owner, run)) is None:
            async with aclosing(self.stored.follow(principal, run, place)) as batches:
                async for batch in batches:
                    yield batch
            return
        journal = live.recorder.journal
        if place.sequence < journal.first - 1:
            older = await self.stored.events(principal, run, place)
            if earlier := [numbered for numbered in older if numbered.place.sequence < journal.first]:
                yield earlier
                place = earlier[-1].place
        if place > journal.place:
            snapshot = journal.snapshot()
            place = snapshot.place
            yield [snapshot]
        async with aclosing(journal.follow(place)) as batches:
            async for batch in batches:
                yield batch

    async def cancel(self, principal: Principal, run: str) -> None:
        """Stop a run, wherever it runs; what it said so far is kept. One that ended stays ended.

        Raises:
            UnknownId: this owner has no such run.
            Busy: the process that runs it does not answer.
        """
        if self._cancel(principal.owner, run):
            return
        record = await self.stored.get(principal, run)
        if record.state == "running":
            is_elsewhere = record.process != self.bus.process and await self.bus.is_alive(record.process)
            is_heard = is_elsewhere and await self._signals.cancel(principal.owner, run, record.process)
            await self.stored.settle(principal, record.conversation)
            if is_elsewhere and not is_heard and (await self.stored.get(principal, run)).state == "running":
                raise Busy(_UNHEARD)
        elif record.state == "waiting":
            await self.stored.settle(principal, record.conversation, rejecting=True)

    async def answer_question(self, principal: Principal, run: str, given: GivenAnswer) -> None:
        """Answer what a running call asks, wherever it runs; the values are kept nowhere.

        Raises:
            UnknownId: this owner has no such run, or it asks no such thing any more.
            BadInput: the values do not fit the form.
            Busy: the process that runs it does not answer.
        """
        if self._questions.answer(principal.owner, run, given):
            return
        record = await self.stored.get(principal, run)
        secret_box, process = self.loops.secret_box, record.process
        if record.state != "running" or process == self.bus.process or secret_box is None:
            raise UnknownId(_NOT_ASKED)
        if (asked := await self.stored.question(principal, run, given.question)) is not None:
            checked_answer(asked.fields, given)
        sealed = await secret_box.seal(msgspec.json.encode(given).decode())
        if await self._signals.answer(principal.owner, run, sealed, process=process):
            return
        if not await self.bus.is_alive(process):
            await self.stored.settle(principal, record.conversation)
            raise UnknownId(_ASKER_GONE)
        # It may have heard, and the question is over by now.
        is_open = await self.stored.question(principal, run, given.question) is not None
        raise Busy(_UNHEARD) if is_open else UnknownId(_NOT_ASKED)

    async def _take_answer(self, owner: str, run: str, sealed: bytes) -> bool:
        """An answer that another process was given; False if it is for nobody here, or does not fit."""
        secret_box = self.loops.secret_box
        if secret_box is None or self._here(owner, run) is None:
            return False
        given = msgspec.json.decode(await secret_box.open(sealed), type=GivenAnswer)
        return self._questions.answer(owner, run, given)

    async def write(self, owner: str) -> None:
        """Write what the owner's runs of this process have said so far."""
        for live in self._of(owner):
            await live.recorder.flush()

    async def heed_forgetting(self, owner: str) -> None:
        """Have none of the owner's runs keep what is announced as being forgotten, in any process."""
        await self._heed_forgetting(owner)
        processes = {run.process for run in await self.stored.elsewhere(owner)}
        await self._signals.heed_forgetting(owner, processes)

    async def purge(self, principal: Principal) -> int:
        """Drop some of what the owner's runs leave for a time only; how many records. 0 is all.

        That is the events of what ended a day ago, and uses of tools that are older than they are kept.
        """
        return await self.stored.purge(principal) + await self.audit.purge(principal)

    async def drain(self, within_s: float) -> None:
        """Let the runs of this process end, for so long at most; `is_draining` from now on."""
        self.is_draining = True
        with anyio.move_on_after(within_s):
            while self._live:
                self._idle = anyio.Event()
                await self._idle.wait()

    def interrupt(self) -> None:
        """End the runs of this process now, because it is about to stop; their readers are told."""
        for live in self._live.values():
            live.end("interrupted")

    async def delete_conversation(self, principal: Principal, conversation: str) -> None:
        """Remove a conversation with all that was said and run in it; a live run is stopped first.

        Raises:
            UnknownId: this owner has no such conversation.
            Busy: the run in it, in another process, does not stop.
        """
        await self._stop_in(principal, conversation)
        await self.stored.delete(principal, conversation)
        self.on_delete(principal.owner, conversation)
        await self.files.sweep(principal.owner)

    async def trash(self, principal: Principal, conversation: str) -> None:
        """Move a conversation to the trash; a run in it is stopped first.

        Raises:
            UnknownId: this owner has no such conversation.
            Busy: the run in it, in another process, does not stop.
        """
        await self._stop_in(principal, conversation)
        await self.conversations.edit(principal, conversation, ConversationEdit(trashed=True))

    async def _stop_in(self, principal: Principal, conversation: str) -> None:
        held = await self.conversations.get(principal, conversation)
        if (active := held.record.active_run) is not None:
            await self.stop(principal, active)

    def _here(self, owner: str, run: str) -> _Live | None:
        live = self._live.get(run)
        return live if live is not None and live.recorder.principal.owner == owner else None

    def _of(self, owner: str) -> list[_Live]:
        return [live for live in self._live.values() if live.recorder.principal.owner == owner]

    @asynccontextmanager
    async def _admitted(self, principal: Principal) -> AsyncGenerator[None]:
        """A place among the owner's runs, held while one is begun: others that begin meanwhile count it.

        Raises:
            TooManyRequests: there is none.
        """
        owner, most = principal.owner, self.settings.runs_at_once
        if principal.came_with is not None and most:
            elsewhere = await self.stored.elsewhere(owner)
            if len(self._of(owner)) + self._starting[owner] + len(elsewhere) >= most:
                raise TooManyRequests(
                    f"At most {most} answers of one user run at once: wait for one, or stop it.",
                    retry_after_s=_WAIT_FOR_ONE_S,
                )
        self._starting[owner] += 1
        try:
            yield
        finally:
            self._starting[owner] -= 1
            if not self._starting[owner]:
                del self._starting[owner]

    async def stop(self, principal: Principal, run: str) -> None:
        """Stop a run, and wait until it has ended.

        Raises:
            Busy: it runs in another process, and does not stop.
        """
        await self.cancel(principal, run)
        try:
            async with asyncio.timeout(_STOP_S), aclosing(self.follow(principal, run)) as batches:
                async for _ in batches:
                    pass
        except TimeoutError as error:
            raise Busy from error

    async def _go_on(self, principal: Principal, run: str, resources: RunResources) -> None:
        """Run a decided run to its end.

        Raises:
            Conflict: it goes on elsewhere by now, or was ended.
        """
        self._launch(await self._starter.decided(principal, run, resources))

    def _launch(self, started: StartedRun) -> str:
        recorder, request = started.recorder, started.request
        request.heed(recorder.barrier)
        request.sealed = recorder.sealed
        request.ask = self._questions.ask if can_be_asked(recorder.principal) else None
        self._live[recorder.run.id] = live = _Live(recorder, request, anyio.CancelScope())
        self.metrics.started += 1
        self.post_turn.answering.begin(recorder.principal.owner)
        for warning in self.warnings():
            recorder.take(warning)
        self._tasks.start_soon(self._drive, live, started.events)
        return recorder.run.id

    async def _drive(self, live: _Live, events: AsyncGenerator[Event, None]) -> None:
        run, owner = live.recorder.run, live.recorder.principal.owner
        correlate(run_id=run.id, owner=owner)
        told = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "bethink",
            "gen_ai.conversation.id": run.conversation,
            "bethink.run.id": run.id,
        }
        with self.tracing.begin("invoke_agent bethink", told) as span:
            reason = await self._finish(live, events)
            span.set({"bethink.run.end": reason})
            if reason == "failed":
                span.fail(reason)

    async def _finish(self, live: _Live, events: AsyncGenerator[Event, None]) -> StopReason:
        """Run to the end, whatever it is, and store that; the reason of the end."""
        recorder, principal = live.recorder, live.recorder.principal
        done = RunDone(reason="interrupted")
        is_guest = principal.came_with is not None
        visit = self.watched(principal, lambda: live.end("cancelled")) if is_guest else nullcontext()
        try:
            with live.scope, visit:
                live.scope.deadline = anyio.current_time() + self.settings.max_run_s
                done = await self._consume(live, events)
            if live.scope.cancelled_caught:
                done = RunDone(reason=live.reason)
        except Exception as error:  # noqa: BLE001 - a background task: recorded, and told to the reader
            _log.exception("run %s failed", recorder.run.id)
            recorder.take(
                RunFailed(code="internal", message=f"The run failed: {type(error).__name__}: {error}")
            )
            done = RunDone(reason="failed")
        finally:
            with anyio.CancelScope(shield=True), recorded(_log, "what follows a run was not done"):
                if not recorder.has_changed and not recorder.aside:
                    with recorded(_log, "it cannot be said whether a run only looked something up"):
                        recorder.lookup = await is_lookup(live.request, self.loops.context)
                learning = self.post_turn.learning if self.loops.memory else None
                recorder.is_to_be_read = learning is not None and learning.is_on
                await self._end(recorder, done)
        return done.reason

    async def _consume(self, live: _Live, events: AsyncGenerator[Event, None]) -> RunDone:
        recorder = live.recorder
        async with aclosing(events):
            async for event in events:
                if isinstance(event, RunDone):
                    return event
                recorder.take(event)
                if isinstance(event, ToolFinished | Usage):
                    self.metrics.take(event)
                elif not live.has_spoken and isinstance(event, TextDelta):
                    live.has_spoken = True
                    self.metrics.first_text.take(anyio.current_time() - live.started_at)
                self._journals.mark_dirty(recorder)
        return RunDone(reason="failed")

    async def _end(self, recorder: Recorder, done: RunDone) -> None:
        run = recorder.run.id
        try:
            await self._keep_end(recorder, done)
        finally:
            self._journals.drop(run)
            if (live := self._live.pop(run, None)) is not None:
                self.metrics.turns.take(anyio.current_time() - live.started_at)
            if not self._live:
                self._idle.set()
            self.metrics.ended[done.reason] += 1
            self.on_end(recorder.principal.owner)
            self.post_turn.go_on(recorder.principal.owner, recorder.turn)
        if self.metrics.started % _RUNS_A_PURGE == 1:
            # What is put in order by the hour comes too late for commands, which end sooner.
            await self.purge(recorder.principal)

    async def _keep_end(self, recorder: Recorder, done: RunDone) -> None:
        """Store the end and tell the readers; what breaks that ends the run as failed, stored if it can be.

        A conversation whose run's end is not stored is settled when it is opened next.
        """
        run = recorder.run.id
        for last in (done, RunDone(reason="failed")):
            with recorded(_log, f"the end of run {run} could not be stored") as outcome:
                try:
                    await self._outlast(recorder, last)
                except BethinkError as error:
                    _log.error("the end of run %s could not be stored: %s", run, error)
                    recorder.take(
                        RunFailed(code=error.code, message=f"The answer could not be stored: {error}")
                    )
                    break
            if outcome.fault is None:
                return
            why = f"{type(outcome.fault).__name__}: {outcome.fault}"
            recorder.take(RunFailed(code="internal", message=f"The run failed at its end: {why}"))
        recorder.journal.append(RunDone(reason="failed"))

    async def _outlast(self, recorder: Recorder, last: RunDone) -> None:
        """Store the end; a database that is away or full is waited for, unless this process ends.

        Raises:
            BethinkError: it is not stored.
        """
        live, deadline = self._live[recorder.run.id], anyio.current_time() + STORE_PATIENCE_S
        while True:
            try:
                return await recorder.end(last)
            except StorageError as error:
                # Another version, or a whole file, is not there by itself.
                is_for_good = isinstance(error, NewerSchema | CorruptDatabase)
                if is_for_good or live.reason == "interrupted" or anyio.current_time() > deadline:
                    raise
                recorder.warn_behind(str(error))
            await anyio.sleep(_STORE_PAUSE_S)

    def _journal_of(self, owner: str, run: str) -> Journal | None:
        live = self._here(owner, run)
        return live and live.recorder.journal

    def _cancel(self, owner: str, run: str) -> bool:
        """End a run of this process; False if it has none."""
        if (live := self._here(owner, run)) is not None:
            live.end("cancelled")
        return live is not None

    async def _heed_forgetting(self, owner: str) -> None:
        """Have the owner's runs of this process listen, and write what they have said by then."""
        for live in self._of(owner):
            await live.recorder.barrier.listen()
        await self.write(owner)


_WAIT_FOR_ONE_S: Final = 5
_ASKING_DOORS: Final = frozenset({"web", "cli", "rest"})
"""Where somebody can answer while an answer is written."""
_MOST_QUESTIONS: Final = 20
"""Questions of one run: a server that asks on and on is told no."""


def can_be_asked(principal: Principal) -> bool:
    """Whether somebody at this door can answer."""
    return principal.door.partition(":")[0] in _ASKING_DOORS


@dataclass(slots=True)
class _Open:
    question: Question
    answer: asyncio.Future[Answer]


@dataclass(slots=True)
class OpenQuestions:
    """The questions of this process's runs that wait for an answer."""

    new_id: Ids
    clock: Clock
    _open: dict[tuple[str, str, str], _Open] = field(
        default_factory=dict[tuple[str, str, str], _Open], repr=False
    )

    async def ask(self, context: ToolContext, question: Question) -> Answer:
        """Tell the run's readers of a question and wait for its answer, for as long as it may wait."""
        owner, run = context.principal.owner, context.run
        mine = [key for key in self._open if key[:2] == (owner, run)]
        if not can_be_asked(context.principal) or len(mine) >= _MOST_QUESTIONS:
            return CANCELLED
        id = self.new_id()
        waiting = _Open(question, asyncio.get_running_loop().create_future())
        self._open[owner, run, id] = waiting
        context.emit(
            QuestionAsked(
                call=context.call,
                question=id,
                source=question.source,
                mode=question.mode,
                text=question.text,
                fields=question.fields,
                url=question.url,
                host=host_of(question.url) if question.url else "",
                until=self.clock.now_us() + int(question.wait_s * 1_000_000),
            )
        )
        outcome: Action = "cancel"
        try:
            async with asyncio.timeout(question.wait_s):
                answer = await waiting.answer
            outcome = answer.action
        except TimeoutError:
            answer = CANCELLED
        finally:
            del self._open[owner, run, id]
            context.emit(QuestionAnswered(call=context.call, question=id, outcome=outcome))
        return answer

    def answer(self, owner: str, run: str, given: GivenAnswer) -> bool:
        """Hand in an answer; False if no such question waits here.

        Raises:
            BadInput: the values do not fit the form; the question goes on waiting.
        """
        waiting = self._open.get((owner, run, given.question))
        if waiting is None or waiting.answer.done():
            return False
        waiting.answer.set_result(checked_answer(waiting.question.fields, given))
        return True
