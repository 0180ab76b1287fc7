"""The wiring: settings to ports, ports to features, features to the agent. Knows no door.

Doors receive the `App`; tests and embedders open one with `open_app`. Everything
that is opened is closed in reverse, in one exit stack.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.accounts import Accounts, Register, accounts_for
from bethink.accounts.setup_key import SetupKey
from bethink.agent.completion import Summaries
from bethink.agent.context import Context
from bethink.agent.extraction import Extraction
from bethink.agent.policy import Policy, ToolRules
from bethink.agent.post_turn import PostTurnQueue, Titles, UnfoundQuestions
from bethink.agent.records import TOOL_USES, Audit
from bethink.agent.reflection import ReflectionRuns
from bethink.agent.removal import ConversationRetention, ForgettableRuns, TemporaryExpiry
from bethink.agent.request import bounds_of
from bethink.agent.runs import RunMetrics, Runs
from bethink.agent.scheduled_runs import ScheduledRuns
from bethink.agent.start import LoopFactory, SlashCommands
from bethink.agent.subagent import MemoryQuestions, SubagentRunner
from bethink.agent.tool_selection import search_tool
from bethink.agent.toolbox import Toolbox, ToolSource
from bethink.blobs.directory import temporary_blobs
from bethink.clock import Ids, check_time_zone
from bethink.configuration import Configuration
from bethink.conversations.records import CONVERSATIONS
from bethink.conversations.service import Conversations
from bethink.documents.service import Documents, passage_limits
from bethink.embeddings.factory import next_model_of
from bethink.export.service import Portability
from bethink.feature import Features, OpenFeature, RetentionRule, Surroundings
from bethink.features import AGENT, FEATURES, FORGETTING, IMPORTING, RECALL, VAULT
from bethink.files import Files
from bethink.forgetting.announcements import Announcements
from bethink.forgetting.occurrences import OccurrenceFinder
from bethink.forgetting.selection import SURE, Selector
from bethink.forgetting.service import Forgetting
from bethink.graph.service import Graph
from bethink.importing.service import Imports, UploadFolder
from bethink.internet.connect import gate_for
from bethink.maintenance.background import Background, Vectors
from bethink.maintenance.housekeeping import Housekeeping
from bethink.maintenance.statistics import Statistics
from bethink.masking import NumberMask
from bethink.memory import Memory
from bethink.memory.aliases import OtherNames
from bethink.mirror import Mirror
from bethink.mirror.service import MirrorLines
from bethink.model_files import ModelFiles
from bethink.people.service import People
from bethink.ports import Ports, SharedResources, open_ports, remade, shared_resources_of
from bethink.preferences import PreferenceBook
from bethink.projects import Projects
from bethink.recall.conversation_memory import ConversationMemory
from bethink.recall.message_search import MessageSearch
from bethink.recall.passages import Passages
from bethink.recall.service import Recall
from bethink.redis_mirror.service import RedisMirror, sharing, sharing_of
from bethink.reflection.questions import OpenQuestions
from bethink.reflection.service import Reflections
from bethink.sandbox.interpreters import options_of
from bethink.settings.live import after, follows
from bethink.tools.code import code_source
from bethink.tools.documents import document_tools
from bethink.tools.images import image_tools
from bethink.tools.outside_code import outside_source
from bethink.tools.vault import VaultTools
from bethink.tools.web import web_tools
from bethink.vault import Vault
from bethink.vault.watch import FolderWatcher
from bethink.visibility.service import Visibility

if TYPE_CHECKING:
    from bethink.documents.ingest import Ingest
    from bethink.documents.library import Library
    from bethink.llm.models import OfferedModels
    from bethink.mcp_client.servers import Servers
    from bethink.secrets_at_rest import SecretBox
    from bethink.settings import Settings
    from bethink.tool import Tool


_MADE_LATER = (FORGETTING, IMPORTING, AGENT)
"""`_wire` makes them."""


@dataclass(frozen=True, slots=True)
class App:
    """A Bethink at work."""

    settings: Settings
    configuration: Configuration
    ports: Ports
    models: OfferedModels
    accounts: Accounts
    setup_key: SetupKey
    features: Features
    visibility: Visibility
    watching: FolderWatcher
    mirror: Mirror
    vault_tools: VaultTools
    passages: Passages
    recall: Recall
    graph: Graph
    forgetting: Forgetting
    portability: Portability
    importing: Imports
    statistics: Statistics
    housekeeping: Housekeeping
    sharing: RedisMirror | None
    toolbox: Toolbox
    policy: Policy
    rules: ToolRules
    audit: Audit
    runs: Runs
    asking: MemoryQuestions
    extraction: Extraction
    post_turn: PostTurnQueue
    reflection: ReflectionRuns
    background: Background
    secret_box: SecretBox
    mcp_servers: Servers
    model_files: ModelFiles
    message_search: MessageSearch
    shared: SharedResources = field(repr=False)
    stopping: anyio.Event = field(default_factory=anyio.Event, repr=False)
    """Set once the process is about to stop: what would go on for ever ends then."""

    @property
    def conversations(self) -> Conversations:
        """What is said."""
        return self.features.of(Conversations)

    @property
    def conversation_memory(self) -> ConversationMemory:
        """What programs store and ask of conversations."""
        return ConversationMemory(
            settings=self.settings,
            conversations=self.conversations,
            recall=self.recall,
            bases=self.features.of(Documents).bases,
            filter_for=self.visibility.filter_for,
            on_written=self.background.ask_vectors,
        )

    @property
    def library(self) -> Library:
        """The documents."""
        return self.features.of(Documents).library

    @property
    def files(self) -> Files:
        """The files of conversations."""
        return self.features.of(Files)

    @property
    def memory(self) -> Memory:
        """The facts about the owner."""
        return self.features.of(Memory)

    @property
    def people(self) -> People:
        """The records of people."""
        return self.features.of(People)

    @property
    def vault(self) -> Vault:
        """The pages."""
        return self.features.of(Vault)


@asynccontextmanager
async def open_app(
    settings: Settings,
    ports: Ports | None = None,
    *,
    tools: Sequence[Tool] = (),
    beside: App | None = None,
) -> AsyncGenerator[App]:
    """A wired app; `tools` are offered beside its own, and replace those of the same name.

    Stands on `ports` if they are given, else on those that the settings name. With
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
        searched = [one for feature in FEATURES for one in feature.collections if one.searchable]
        by_parts = frozenset(kind for feature in FEATURES for kind in feature.by_parts)
        vectors = Vectors(ports.store, ports.index, ports.embeddings, by_parts)
        background = Background(
            vectors,
            settings.models,
            searched,
            model=settings.embedding_model,
            next_model=await anyio.to_thread.run_sync(next_model_of, settings),
        )
        if beside is None:
            shared = await shared_resources_of(settings, ports, blobs, stack=stack)
        else:
            shared = replace(beside.shared, blobs=blobs, is_beside=True)
        shared = replace(shared, tools=_with(shared.tools, tools))
        app = _wire(settings, ports, background, shared=shared)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        supervise = ports.supervisor.supervise
        tasks.start_soon(supervise, "missing vectors", background.fill_vectors)
        tasks.start_soon(supervise, "traces of what was deleted", background.scrub_always)
        tasks.start_soon(supervise, "tidying", app.housekeeping.keep_tidy)
        tasks.start_soon(supervise, "pages by their filters", app.visibility.indexing.keep_up)
        for task in app.features.tasks(served=False):
            tasks.start_soon(supervise, task.name, task.run)
        if beside is None:
            await stack.enter_async_context(app.configuration.opened(supervise))
        await stack.enter_async_context(app.model_files.opened())
        await stack.enter_async_context(sharing(app.sharing, supervise))
        await stack.enter_async_context(app.mirror.opened(supervise))
        await stack.enter_async_context(app.post_turn.opened())
        await stack.enter_async_context(app.reflection.opened())
        tasks.start_soon(supervise, "reflection", app.reflection.keep_up)
        await stack.enter_async_context(app.runs.opened(supervise))
        await stack.enter_async_context(app.accounts.opened(supervise))
        await app.features.of(PreferenceBook).load()
        await app.forgetting.finish_earlier()
        await app.vault_tools.look()
        yield app


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """What runs stand on: features, and the rooms that see all of them."""

    settings: Settings
    ports: Ports
    background: Background
    shared: SharedResources
    new_id: Ids
    accounts: Accounts
    surroundings: Surroundings
    features: Features
    visibility: Visibility
    recall: Recall
    graph: Graph
    passages: Passages
    sharing: RedisMirror | None
    vault_tools: VaultTools
    rules: ToolRules
    audit: Audit


def _wire(settings: Settings, ports: Ports, background: Background, *, shared: SharedResources) -> App:
    base = _base(settings, ports, background, shared=shared)
    # They ask the runs, which stand on all features and are made last.
    runs = partial(base.features.of, Runs)
    importing = _importing(base, runs)
    imports = OpenFeature(service=importing, redact=importing.forget, clean=importing.scrub)
    base.features.add(IMPORTING, imports)
    forgetting = _forgetting(base, runs)
    base.features.add(FORGETTING, OpenFeature(service=forgetting))
    agent = _agent(base, forgetting)
    expiry = RetentionRule(
        of=(CONVERSATIONS, TOOL_USES),
        log="temporary conversations are removed",
        drop=TemporaryExpiry(agent.runs, base.shared.secret_box),
    )
    kept = ConversationRetention(agent.runs, settings, base.features.of(PreferenceBook))
    old = RetentionRule(
        of=(CONVERSATIONS,), log="conversations are past their time, and deleted", drop=kept.drop
    )
    base.features.add(AGENT, OpenFeature(service=agent.runs, retention=[expiry, old]))
    memory, vault, visibility = base.features.of(Memory), base.features.of(Vault), base.visibility
    return App(
        settings=settings,
        configuration=_configuration(base, agent, importing=importing, forgetting=forgetting),
        ports=ports,
        models=shared.models,
        accounts=base.accounts,
        setup_key=SetupKey(base.accounts.register, settings.data_dir, settings.setup_key_file),
        features=base.features,
        visibility=visibility,
        watching=FolderWatcher(vault, ports.bus),
        mirror=Mirror(memory, vault, ports.bus, base.accounts.on_behalf_of),
        vault_tools=base.vault_tools,
        passages=base.passages,
        recall=base.recall,
        graph=base.graph,
        forgetting=forgetting,
        portability=Portability(
            memory, ports.store, ports.embeddings, ports.clock, base.features, background.ask_vectors
        ),
        importing=importing,
        statistics=Statistics(base.features, base.recall, ports.size),
        housekeeping=Housekeeping(base.features.retention, forgetting, ports.bus, base.accounts),
        sharing=base.sharing,
        toolbox=agent.toolbox,
        policy=agent.policy,
        rules=base.rules,
        audit=base.audit,
        runs=agent.runs,
        asking=MemoryQuestions(agent.subagents, base.vault_tools.agent),
        extraction=agent.extraction,
        post_turn=agent.post_turn,
        reflection=agent.reflection,
        background=background,
        secret_box=shared.secret_box,
        mcp_servers=shared.mcp.servers,
        model_files=ModelFiles(settings, partial(gate_for, settings)),
        message_search=_message_search(base),
        shared=shared,
    )


def _message_search(base: _Base) -> MessageSearch:
    conversations, reader_filters = base.features.of(Conversations), base.visibility.reader_filters
    return MessageSearch(base.ports.index, conversations, reader_filters, base.recall.visible_search)


def _configuration(
    base: _Base, agent: _Agent, *, importing: Imports, forgetting: Forgetting
) -> Configuration:
    """The settings, and everything made of them that is made anew when they change."""

    def name_of(owner: str) -> str:
        user = base.accounts.register.last_known.users.get(owner)
        return user.name if user else owner

    def offer() -> None:
        base.vault_tools.follow(base.settings)
        agent.toolbox.tools, agent.toolbox.sources = _tools(base, agent.toolbox)

    ports, context = base.ports, partial(_context, base)
    toolbox, loops = agent.toolbox, agent.runs.loops
    behind = agent.extraction, agent.reflection, agent.titles
    shared = [] if base.shared.is_beside else [base.shared.models.remade, base.shared.mcp.remade]
    parts = [
        *shared,
        base.accounts.remade,
        *base.features.parts,
        partial(remade, ports),
        follows(base.visibility.views.vault.context, settings=lambda now: now.vault),
        follows(
            base.graph, enabled=lambda now: now.graph_enabled, similarity=lambda now: now.graph_similarity
        ),
        follows(
            base.passages,
            limits=partial(passage_limits, ports.embeddings),
            search_s=lambda now: now.documents_search_timeout_s,
        ),
        follows(base.audit, days=lambda now: now.tool_uses_days),
        follows(importing, max_file_bytes=lambda now: now.max_file_bytes),
        follows(forgetting.selector, min_score=lambda now: max(SURE, now.recall_min_score)),
        follows(agent.policy, settings=lambda now: now.tool_policy),
        follows(agent.subagents, context=context, bounds=bounds_of),
        follows(
            loops,
            context=context,
            bounds=bounds_of,
            summaries=partial(_summaries, base, agent.post_turn),
            memory=lambda now: now.memory_enabled,
        ),
        *(follows(one, settings=lambda now: now) for one in behind),
        follows(agent.post_turn, learning=partial(_learning, agent.extraction)),
        follows(
            toolbox,
            timeout_s=lambda now: now.tool_timeout_s,
            concurrency=lambda now: now.tool_concurrency,
            max_result_chars=lambda now: now.max_tool_result_chars,
            enabled=lambda now: now.tools_enabled,
            most=lambda now: now.max_offered_tools,
            redacting=_mask,
        ),
        *([follows(ports.interpreters, options=options_of)] if ports.interpreters else []),
        # Last: tools are made of what was put in place before.
        after(offer),
    ]
    return Configuration(base.settings, ports.bus, ports.clock, name_of, parts)


def _context(base: _Base, settings: Settings) -> Context:
    memory, prompts = base.features.of(Memory), base.shared.prompts
    return Context.of(settings, memory, base.recall, clock=base.ports.clock, prompts=prompts)


def _summaries(base: _Base, post_turn: PostTurnQueue, settings: Settings) -> Summaries:
    return Summaries(settings, base.shared.prompts.summarising, post_turn.flush)


def _learning(extraction: Extraction, settings: Settings) -> Extraction | None:
    return None if settings.extraction == "off" else extraction


def _mask(settings: Settings) -> NumberMask:
    return NumberMask(settings.redaction.tool_results, settings.redaction.exceptions)


def _base(settings: Settings, ports: Ports, background: Background, *, shared: SharedResources) -> _Base:
    new_id, features = Ids(ports.clock), Features()
    accounts = accounts_for(settings, Register(ports.store, ports.clock, ports.bus, new_id))
    visibility = Visibility.over(Vault.of(settings, ports.store, ports.clock, new_id=new_id))
    recall = Recall(
        ports.index,
        ports.embeddings,
        ports.clock,
        filter_for=visibility.filter_for,
        important=features.important,
        on_missing=background.ask_vectors,
    )
    graph = Graph.of(settings, recall, visibility.filter_for)
    surroundings = Surroundings(
        settings=settings,
        store=ports.store,
        index=ports.index,
        embeddings=ports.embeddings,
        blobs=shared.blobs,
        bus=ports.bus,
        clock=ports.clock,
        new_id=new_id,
        search=recall,
        widen=graph.widened,
        filter_for=visibility.filter_for,
        features=features,
        forget=lambda principal, facts: features.of(Forgetting).forget(principal, facts),
        ask_vectors=background.ask_vectors,
        digest=shared.secret_box.digest,
        find_user=accounts.find_user,
        acting=accounts.on_behalf_of,
        unattended=ScheduledRuns(partial(features.of, Runs)),
        secrets=shared.secret_box,
        internet=lambda: ports.internet,
    )
    _open_features(surroundings, visibility, recall)
    accounts.own_zone = features.of(PreferenceBook).zone
    return _Base(
        settings=settings,
        ports=ports,
        background=background,
        shared=shared,
        new_id=new_id,
        accounts=accounts,
        surroundings=surroundings,
        features=features,
        visibility=visibility,
        recall=recall,
        graph=graph,
        passages=_passages(settings, ports, features.of(Documents).ingest, visibility=visibility),
        sharing=sharing_of(
            features.of(Conversations),
            ports.bus,
            acting=accounts.on_behalf_of,
            on_taken=background.ask_vectors,
        ),
        vault_tools=VaultTools.of(settings, visibility.views, ports.interpreters),
        rules=ToolRules(ports.store, ports.clock),
        audit=Audit(ports.store, ports.clock, settings.tool_uses_days),
    )


def _passages(settings: Settings, ports: Ports, ingest: Ingest, *, visibility: Visibility) -> Passages:
    return Passages(
        ingest.extraction,
        ports.embeddings,
        ports.clock,
        limits=ingest.limits,
        search_s=settings.documents_search_timeout_s,
        reader_filters=visibility.reader_filters,
    )


def _open_features(surroundings: Surroundings, visibility: Visibility, recall: Recall) -> None:
    made = {VAULT.name: visibility.opened, RECALL.name: OpenFeature(service=recall)}
    for feature in FEATURES:
        if feature in _MADE_LATER:
            continue
        opened = made.get(feature.name) or feature.open(surroundings)
        surroundings.features.add(feature, opened)
        for kind in opened.recall:
            recall.show(kind)
    recall.named = surroundings.features.of(OtherNames).asked


def _importing(base: _Base, runs: Callable[[], Runs]) -> Imports:
    return Imports(
        store=base.ports.store,
        blobs=base.shared.blobs,
        vault=base.features.of(Vault),
        embeddings=base.ports.embeddings,
        clock=base.ports.clock,
        new_id=base.new_id,
        bus=base.ports.bus,
        digest=base.shared.secret_box.digest,
        max_file_bytes=base.settings.max_file_bytes,
        staging=UploadFolder(base.settings.data_dir / "imports"),
        remove=lambda: runs().delete_conversation,
        on_written=base.background.ask_vectors,
    )


def _forgetting(base: _Base, runs: Callable[[], Runs]) -> Forgetting:
    ports = base.ports
    occurrences = OccurrenceFinder(ports.store, base.features)
    return Forgetting(
        store=ports.store,
        selector=Selector(
            ports.store, base.recall, max(SURE, base.settings.recall_min_score), base.features.of(Vault)
        ),
        occurrences=occurrences,
        announcements=Announcements(ports.store, occurrences),
        run_records=ForgettableRuns(
            runs=runs,
            interpreters=ports.interpreters,
            passages=base.passages,
            index=ports.index,
            embeddings=ports.embeddings,
            acting=partial(base.accounts.on_behalf_of, audience="forgetting"),
        ),
        fact_lines=MirrorLines(ports.store),
        memory=base.features.of(Memory),
        views=base.visibility.views,
        clock=ports.clock,
        new_id=base.new_id,
        features=base.features,
    )


@dataclass(frozen=True, slots=True)
class _Agent:
    """What answers, and what works behind it."""

    toolbox: Toolbox
    policy: Policy
    subagents: SubagentRunner
    extraction: Extraction
    titles: Titles
    post_turn: PostTurnQueue
    reflection: ReflectionRuns
    runs: Runs


def _agent(base: _Base, forgetting: Forgetting) -> _Agent:
    settings, shared, features = base.settings, base.shared, base.features
    toolbox = _toolbox(base)
    context = _context(base, settings)
    bounds, metrics = bounds_of(settings), RunMetrics()
    policy = Policy(base.rules, toolbox, settings.tool_policy)
    subagents = SubagentRunner(
        toolbox=toolbox,
        policy=policy,
        find=shared.models.find,
        files=features.of(Files),
        context=context,
        bounds=bounds,
        new_id=base.new_id,
        announcements=forgetting.announcements,
        audit=base.audit,
        tools=base.vault_tools.for_errands,
    )
    toolbox.delegate = subagents
    extraction = Extraction(
        settings,
        shared.models,
        features.of(Memory),
        features.of(Conversations),
        prompt=shared.prompts.extraction,
        on_usage=metrics.take,
        on_written=base.background.ask_vectors,
    )
    titles = Titles(settings, shared.models, features.of(Conversations), metrics.take)
    unfound = UnfoundQuestions(shared.models, features.of(Memory), features.of(OpenQuestions))
    post_turn = PostTurnQueue((titles, unfound), _learning(extraction, settings))
    reflection = ReflectionRuns(
        settings,
        shared.models,
        features.of(Reflections),
        post_turn,
        base.ports.bus,
        base.accounts.on_behalf_of,
        prompts=shared.prompts.reflection,
        on_usage=metrics.take,
        on_written=base.background.ask_vectors,
    )
    summaries = _summaries(base, post_turn, settings)
    loops = LoopFactory(
        shared.models, policy, features.of(Files), context, bounds, summaries, settings.memory_enabled
    )
    commands = SlashCommands(toolbox, forgetting)
    runs = _runs(base, forgetting, loops, commands=commands, post_turn=post_turn, metrics=metrics)
    return _Agent(toolbox, policy, subagents, extraction, titles, post_turn, reflection, runs)


def _toolbox(base: _Base) -> Toolbox:
    settings = base.settings
    toolbox = Toolbox(
        (),
        timeout_s=settings.tool_timeout_s,
        concurrency=settings.tool_concurrency,
        max_result_chars=settings.max_tool_result_chars,
        enabled=settings.tools_enabled,
        most=settings.max_offered_tools,
        secret_box=base.shared.secret_box,
        redacting=_mask(settings),
        filter_for=base.visibility.filter_for,
        has_documents=base.features.of(Documents).library.sharing.has_documents,
    )
    toolbox.tools, toolbox.sources = _tools(base, toolbox)
    return toolbox


def _tools(base: _Base, toolbox: Toolbox) -> tuple[Sequence[Tool], Sequence[ToolSource]]:
    """What is always there, and what gives those that come and go, as the settings have it now."""
    settings, ports, shared = base.settings, base.ports, base.shared
    of_features = [
        tool
        for feature in FEATURES
        if feature.tools
        for tool in import_module(feature.tools).tools_of(base.surroundings)
    ]
    own = (
        *of_features,
        *document_tools(base.passages if settings.documents_enabled else None, base.features.of(Documents)),
        *web_tools(ports.internet, settings.web_timeout_s, settings.max_tool_result_chars),
        *image_tools(ports.images, settings.images_timeout_s, settings.images_price_usd),
        search_tool(lambda: toolbox.all),
    )
    if settings.code_server:
        code = outside_source(shared.mcp, settings)
    else:
        code = code_source(ports.interpreters, settings.code_timeout_s)
    tools = [*_with(own, shared.tools), *shared.plugged.tools]
    return tools, [shared.mcp.source, code, base.vault_tools.source]


def _runs(
    base: _Base,
    forgetting: Forgetting,
    loops: LoopFactory,
    *,
    commands: SlashCommands,
    post_turn: PostTurnQueue,
    metrics: RunMetrics,
) -> Runs:
    settings, ports, features = base.settings, base.ports, base.features

    def deleted(owner: str, conversation: str) -> None:
        base.passages.leave(owner, conversation)
        base.background.ask_scrub(owner)
        if ports.interpreters is not None:
            ports.interpreters.wipe_soon(owner, conversation)

    return Runs(
        conversations=features.of(Conversations),
        announcements=forgetting.announcements,
        bus=ports.bus,
        commands=commands,
        rules=base.rules,
        files=features.of(Files),
        projects=features.of(Projects),
        preferences=features.of(PreferenceBook),
        loops=loops,
        audit=base.audit,
        settings=settings,
        post_turn=post_turn,
        on_end=base.background.ask_vectors,
        warnings=base.sharing.warnings if base.sharing else tuple,
        on_delete=deleted,
        watched=base.accounts.watched,
        visibility=base.visibility,
        metrics=metrics,
        tracing=base.ports.tracing,
    )


def _with(tools: Sequence[Tool], more: Sequence[Tool]) -> list[Tool]:
    return list(({tool.name: tool for tool in tools} | {tool.name: tool for tool in more}).values())
