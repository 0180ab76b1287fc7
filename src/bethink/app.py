"""The wiring: settings to ports, ports to features, features to the agent. Knows no door.

Doors receive the `App`; tests and embedders open one with `open_app`. Everything
that is opened is closed in reverse, in one exit stack.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.accounts import WRITE, Accounts, Register, accounts_for
from bethink.agent.audit import TOOL_USES, Audit
from bethink.agent.commands import Commands
from bethink.agent.context import Context
from bethink.agent.extraction import Extraction
from bethink.agent.policy import Policy, ToolRules
from bethink.agent.post_turn import PostTurnJobs, PostTurnQueue, Titles
from bethink.agent.removal import TemporaryExpiry
from bethink.agent.request import bounds_of
from bethink.agent.runs import RunMetrics, Runs
from bethink.agent.spoken import Spoken
from bethink.agent.start import LoopFactory
from bethink.agent.subagent import MemoryQuestions, SubagentRunner
from bethink.agent.summaries import Summaries
from bethink.agent.tool_selection import search_tool
from bethink.agent.toolbox import Toolbox
from bethink.blobs.directory import temporary_blobs
from bethink.clock import Ids, check_time_zone
from bethink.conversations import KIND as TURN_KIND
from bethink.conversations import LOOKUP_KIND, Conversations
from bethink.export import Portability
from bethink.files import Files
from bethink.forgetting.announcements import Announcements
from bethink.forgetting.occurrences import OccurrenceFinder
from bethink.forgetting.selection import Selector
from bethink.forgetting.service import Forgetting
from bethink.given import given_of
from bethink.importing import Importing, Staging
from bethink.maintenance.background import Background
from bethink.maintenance.health import Health
from bethink.maintenance.housekeeping import Housekeeping
from bethink.maintenance.retention import Retention, RetentionPeriods
from bethink.maintenance.statistics import Statistics
from bethink.maintenance.vectors import Vectors
from bethink.memory import KIND, PAST_KIND, Fact, Memory
from bethink.mirror import Mirror
from bethink.mirror.occurrences import FactLines
from bethink.people import People
from bethink.ports import Ports, open_ports
from bethink.recall.message_search import MessageSearch
from bethink.recall.passages import passages_of
from bethink.recall.service import Recall
from bethink.recall.sources import Facts, Turns
from bethink.redacting import NumberMask
from bethink.redis_mirror.lifecycle import sharing, sharing_of
from bethink.tools.code import code_source
from bethink.tools.documents import document_tools
from bethink.tools.forgetting import forgetting_tools
from bethink.tools.images import image_tools
from bethink.tools.memory import memory_tools
from bethink.tools.people import people_tools
from bethink.tools.vault_toolset import VaultTools
from bethink.tools.web import web_tools
from bethink.vault.watch import Watching
from bethink.visibility.service import Visibility

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bethink.agent.request import FinishedTurn
    from bethink.given import SharedResources
    from bethink.llm.offered import Models
    from bethink.mcp_client.servers import Servers
    from bethink.principal import Principal
    from bethink.recall.passages import Passages
    from bethink.redis_mirror.service import Sharing
    from bethink.secrets_at_rest import SecretBox
    from bethink.settings import Settings
    from bethink.tool import SubagentResult, SubagentTask, Tool, ToolContext
    from bethink.vault import Vault


@dataclass(frozen=True, slots=True)
class App:
    """A Bethink at work."""

    settings: Settings
    ports: Ports
    models: Models
    accounts: Accounts
    conversations: Conversations
    files: Files
    memory: Memory
    people: People
    vault: Vault
    visibility: Visibility
    watching: Watching
    mirror: Mirror
    vault_tools: VaultTools
    passages: Passages
    recall: Recall
    forgetting: Forgetting
    portability: Portability
    importing: Importing
    health: Health
    statistics: Statistics
    housekeeping: Housekeeping
    sharing: Sharing | None
    toolbox: Toolbox
    rules: ToolRules
    audit: Audit
    runs: Runs
    asking: MemoryQuestions
    extraction: Extraction
    between_turns: PostTurnQueue
    background: Background
    keeper: SecretBox
    mcp_servers: Servers
    finding: MessageSearch
    given: SharedResources = field(repr=False)


@asynccontextmanager
async def open_app(
    settings: Settings,
    ports: Ports | None = None,
    *,
    tools: Sequence[Tool] = (),
    beside: App | None = None,
) -> AsyncGenerator[App]:
    """A wired app; `tools` are offered beside its own, and replace those of the same name.

    Stands on `ports` where they are given, else on those that the settings name. With
    an open app `beside` it, it shares that one's tools, tool servers and models.

    Raises:
        StorageError: the data directory cannot be used.
        BadInput: a setting names something that is not there.
    """
    await anyio.to_thread.run_sync(check_time_zone, settings.time_zone)
    async with AsyncExitStack() as stack:
        if ports is None:
            ports = await stack.enter_async_context(open_ports(settings))
        blobs = ports.blobs or await stack.enter_async_context(temporary_blobs())
        background = Background(Vectors(ports.store, ports.index, ports.embeddings), settings.models)
        if beside is None:
            given = await given_of(settings, ports, blobs, stack=stack)
        else:
            given = replace(beside.given, blobs=blobs)
        given = replace(given, tools=_with(given.tools, tools))
        app = _wire(settings, ports, background, given=given)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        supervise = ports.supervisor.supervise
        tasks.start_soon(supervise, "missing vectors", background.fill_vectors)
        tasks.start_soon(supervise, "traces of what was deleted", background.scrub_always)
        tasks.start_soon(supervise, "tidying", app.housekeeping.keep_tidy)
        tasks.start_soon(supervise, "pages by their filters", app.visibility.indexing.keep_up)
        await stack.enter_async_context(sharing(app.sharing, supervise))
        await stack.enter_async_context(app.mirror.opened(supervise))
        await stack.enter_async_context(app.between_turns.opened())
        await stack.enter_async_context(app.runs.opened(supervise))
        await stack.enter_async_context(app.accounts.opened(supervise))
        await app.forgetting.finish_earlier()
        await app.vault_tools.look()
        yield app


def _wire(settings: Settings, ports: Ports, background: Background, *, given: SharedResources) -> App:
    new_id = Ids(ports.clock)
    conversations = Conversations(ports.store, ports.clock, new_id)
    accounts = accounts_for(settings, Register(ports.store, ports.clock, ports.bus, new_id))
    shared = sharing_of(
        conversations, ports.bus, acting=accounts.on_behalf_of, on_taken=background.ask_vectors
    )

    visibility = Visibility.of(settings, ports.store, ports.clock, new_id=new_id)

    async def find(principal: Principal, query: str, k: int) -> Sequence[tuple[Fact, float]]:
        hits = await recall.search(principal, query, k, kinds={KIND})
        facts = await memory.get(principal, [hit.id for hit in hits])
        return await visibility.reader_filters.found(principal, facts, [hit.score for hit in hits])

    memory = Memory(
        ports.store, ports.index, ports.embeddings, ports.clock, new_id, find, visibility.reader_filters.of
    )

    async def important(principal: Principal, k: int) -> Sequence[tuple[str, str]]:
        return [(KIND, fact.id) for fact in await memory.profile(principal, k)]

    files = Files(ports.store, given.blobs, ports.clock, new_id, conversations.has, settings.max_file_bytes)
    rules, audit = (
        ToolRules(ports.store, ports.clock),
        Audit(ports.store, ports.clock, settings.tool_uses_days),
    )
    vault_tools = VaultTools.of(settings, visibility.views, ports.interpreters)
    facts, turns = Facts(memory), Turns(conversations)
    recall = Recall(
        ports.index,
        ports.embeddings,
        ports.clock,
        kinds=visibility.kinds({KIND: facts, PAST_KIND: facts, TURN_KIND: turns, LOOKUP_KIND: turns}),
        past={KIND: PAST_KIND},
        lookups={TURN_KIND: LOOKUP_KIND},
        own=visibility.own,
        sees_all=visibility.pages.sees_all,
        important=important,
        on_missing=background.ask_vectors,
    )
    people, passages = (
        People(ports.store, ports.clock, new_id),
        passages_of(settings, ports.embeddings, ports.clock, reader_filters=visibility.reader_filters),
    )
    traces = OccurrenceFinder(ports.store)
    announcements = Announcements(ports.store, traces)
    importing = Importing(
        *(ports.store, given.blobs, visibility.vault, ports.embeddings, ports.clock, new_id, ports.bus),
        digest=given.keeper.digest,
        max_file_bytes=settings.max_file_bytes,
        staging=Staging(settings.data_dir / "imports"),
        remove=lambda: runs.delete_conversation,
        on_written=background.ask_vectors,
    )
    forgetting = Forgetting(
        ports.store,
        Selector(ports.store, recall, settings.recall_min_score, visibility.vault),
        traces,
        announcements,
        Spoken(
            lambda: runs,
            *(files, ports.interpreters, passages, importing, ports.index, ports.embeddings),
            acting=partial(accounts.on_behalf_of, audience="forgetting"),
        ),
        FactLines(ports.store),
        memory,
        visibility.views,
        ports.clock,
        new_id,
        (visibility.vault.forgettable, files.forgettable, people.forgettable),
    )

    async def delegate(context: ToolContext, errand: SubagentTask) -> SubagentResult:
        return await delegating(context, errand)

    toolbox = Toolbox(
        _with(
            (
                *memory_tools(memory, recall, settings.recall_min_score),
                *forgetting_tools(forgetting),
                *people_tools(people),
                *document_tools(passages if settings.documents_enabled else None),
                *web_tools(ports.internet, settings.web_timeout_s, settings.max_tool_result_chars),
                *image_tools(ports.images, settings.images_timeout_s, settings.images_price_usd),
                search_tool(lambda: toolbox.all),
            ),
            given.tools,
        ),
        timeout_s=settings.tool_timeout_s,
        concurrency=settings.tool_concurrency,
        max_result_chars=settings.max_tool_result_chars,
        sources=[
            lambda: given.plugged.tools,
            given.mcp.source,
            code_source(ports.interpreters, settings.code_timeout_s),
            vault_tools.source,
        ],
        enabled=settings.tools_enabled,
        most=settings.max_offered_tools,
        keeper=given.keeper,
        redacting=NumberMask(settings.redaction.tool_results, settings.redaction.exceptions),
        shades=visibility.reader_filters.of,
        delegate=delegate,
    )
    context = Context.of(settings, memory, recall, clock=ports.clock, prompts=given.prompts)
    bounds, metrics, policy = bounds_of(settings), RunMetrics(), Policy(rules, toolbox, settings.tool_policy)
    delegating = SubagentRunner(
        toolbox,
        policy,
        given.chosen.find,
        files,
        context,
        bounds,
        new_id,
        announcements,
        audit,
        vault_tools.for_errands,
    )
    extraction = Extraction(
        settings.extraction,
        ports.llm,
        memory,
        conversations,
        prompt=given.prompts.extraction,
        prices=bounds.prices,
        forget=forgetting.forget,
        on_usage=metrics.take,
        on_written=background.ask_vectors,
    )
    titles = Titles(settings.titles, ports.llm, conversations, bounds.prices, metrics.take)
    between_turns = PostTurnQueue(PostTurnJobs((titles, extraction)))
    summaries = Summaries.of(
        settings, given.prompts.summarising, prices=bounds.prices, flush=between_turns.flush
    )

    def ended(owner: str, turn: FinishedTurn | None) -> None:
        background.ask_vectors(owner)
        # A key that may not write has nothing written for it afterwards either.
        is_kept = turn is not None and WRITE in turn.principal.rights
        between_turns.go_on(owner, turn if is_kept else None)

    def gone(owner: str, conversation: str) -> None:
        passages.leave(owner, conversation)
        background.ask_scrub()
        if ports.interpreters is not None:
            ports.interpreters.wipe_soon(owner, conversation)

    runs = Runs(
        conversations,
        announcements,
        ports.bus,
        Commands(toolbox, forgetting),
        rules,
        files,
        LoopFactory(
            *(given.models, policy, files, context, bounds, summaries),
        ),
        audit,
        max_run_s=settings.max_run_s,
        max_message_chars=settings.max_message_chars,
        max_wait_s=settings.approval_timeout_s,
        on_start=between_turns.pause,
        on_end=ended,
        warnings=shared.warnings if shared else tuple,
        on_delete=gone,
        watched=accounts.watched,
        admit=accounts.admit,
        shades=visibility.reader_filters.of,
        kept_back=visibility.views.told,
        metrics=metrics,
    )
    retention = Retention(ports.store, memory, forgetting, ports.clock, RetentionPeriods.of(settings))
    return App(
        settings=settings,
        ports=ports,
        models=given.models,
        accounts=accounts,
        conversations=conversations,
        files=files,
        memory=memory,
        people=people,
        vault=visibility.vault,
        visibility=visibility,
        watching=Watching(visibility.vault, ports.bus),
        mirror=Mirror(memory, visibility.vault, ports.bus, accounts.on_behalf_of),
        vault_tools=vault_tools,
        passages=passages,
        recall=recall,
        forgetting=forgetting,
        portability=Portability(memory, ports.store, ports.embeddings, ports.clock, background.ask_vectors),
        importing=importing,
        health=Health(ports.store, ports.index, ports.embeddings, ports.clock, memory, retention),
        statistics=Statistics(memory, recall, settings.data_dir),
        housekeeping=Housekeeping(
            *(memory, retention, forgetting, ports.bus, accounts),
            vault=visibility.vault,
            let_go=TemporaryExpiry(lambda: runs, given.keeper),
            merges=settings.memory_consolidation,
            also=(TOOL_USES,),
        ),
        sharing=shared,
        toolbox=toolbox,
        rules=rules,
        audit=audit,
        runs=runs,
        asking=MemoryQuestions(delegating, vault_tools.agent),
        extraction=extraction,
        between_turns=between_turns,
        background=background,
        keeper=given.keeper,
        mcp_servers=given.mcp.servers,
        finding=MessageSearch(ports.index, conversations, visibility.reader_filters, recall.visible_search),
        given=given,
    )


def _with(tools: Sequence[Tool], more: Sequence[Tool]) -> list[Tool]:
    return list(({tool.name: tool for tool in tools} | {tool.name: tool for tool in more}).values())
