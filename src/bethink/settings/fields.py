"""Every setting: its default, its unit, its reason, its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, PrivateAttr, SecretStr

from bethink.settings.groups import place
from bethink.settings.models import ModelSettings
from bethink.settings.shapes import Backups, DialDoor, McpServer, Redaction, VaultSettings
from bethink.settings.values import (
    BucketAddress,
    DatabaseAddress,
    Given,
    MailServer,
    Networks,
    Origins,
    RedisAddress,
    Texts,
    TimeZone,
    ValueOrigin,
    WebAddress,
    WebAddressOrNone,
    as_extraction,
    as_list,
    as_object,
    default_data_dir,
)

_CLONE_MODELS = Path(__file__).parents[3] / ".models"
"""Where `make` puts the embedding model of a clone: every command of that clone finds it there."""


_memory = place("memory")
_recall = place("recall")
_tools = place("tools")
_mcp = place("mcp")
_web = place("web")
_images = place("images")
_audio = place("audio")
_code = place("code")
_documents = place("documents")
_planner = place("planner")
_vault = place("vault")
_privacy = place("privacy")
_access = place("access")
_network = place("network")
_redis = place("redis")
_dial = place("dial")
_advanced = place("advanced")

_Directory = Annotated[Path, AfterValidator(Path.expanduser)]


class Settings(ModelSettings):
    """What a Bethink is told. Read a value when it is used: `take` may have changed it since the start."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    _given: Given | None = PrivateAttr(None)

    data_dir: _Directory = _advanced(
        default_data_dir, "Data directory", "Directory of all data of Bethink.", restart=True
    )
    database_url: DatabaseAddress = _advanced(
        None,
        "Database address",
        "A PostgreSQL with pgvector for records and index: `postgresql://user:password@host/database`.",
        restart=True,
    )
    models_dir: _Directory | None = _advanced(
        _CLONE_MODELS if _CLONE_MODELS.is_dir() else None,
        "Folder of the embedding model",
        "Embedding model's files; `.models` of a clone, else `models` in the data directory.",
        restart=True,
    )
    embedding_model: Literal["all-minilm-l6-v2", "multilingual-e5-small"] = _recall(
        "multilingual-e5-small",
        "Search by meaning",
        "Model of search by meaning: `multilingual-e5-small` for a hundred languages (91 MB),"
        " `all-minilm-l6-v2` for English alone (21 MB, half the time). After a change all is embedded anew in"
        " the background.",
        restart=True,
    )
    host: str = _network("127.0.0.1", "Address", "Address that `serve` binds.", restart=True)
    port: int = _network(
        8484, "Port", "Port that `serve` binds; 0 picks a free one.", ge=0, le=65535, restart=True
    )
    time_zone: TimeZone = _planner(
        "",
        "Time zone",
        "IANA name of the local owner's time zone; empty is this machine's.",
        validate_default=True,
    )
    log_level: str = _advanced(
        "info",
        "Log level",
        "Lowest level that is logged: `debug`, `info`, `warning` or `error`.",
        pattern="^(debug|info|warning|error)$",
        restart=True,
    )
    log_format: Literal["text", "json"] = _advanced(
        "text",
        "Form of the log",
        "`text` for people, or `json`: one line of JSON an event, for programs that collect logs.",
        restart=True,
    )
    log_requests: bool = _advanced(
        False,
        "Requests in the log",
        "Whether each request is logged: its route, status and time, and nothing that it says.",
        restart=True,
    )

    files_url: BucketAddress = _advanced(
        "",
        "Files in S3",
        "Bucket for the contents of files, as `s3://BUCKET/FOLDER`; empty keeps them in the data directory.",
        restart=True,
    )
    files_s3_endpoint: WebAddressOrNone = _advanced(
        None, "Address of the S3 storage", "Address of the storage, if it is not Amazon's.", restart=True
    )
    files_s3_region: str = _advanced("", "Region of the bucket", "Region of the bucket.", restart=True)
    files_s3_key_id: str = _advanced(
        "", "Id of the S3 key", "Id of the key; empty takes what the machine has (`AWS_…`).", restart=True
    )
    files_s3_secret_key: SecretStr | None = _advanced(
        None, "S3 key", "Key of the storage, with `files_s3_key_id`.", restart=True
    )
    traces_url: WebAddressOrNone = _advanced(
        None,
        "Traces go to",
        "Collector of OpenTelemetry that is sent traces (OTLP over HTTP), such as `http://127.0.0.1:4318`;"
        " none if unset.",
        restart=True,
    )
    traces_headers: SecretStr | None = _advanced(
        None,
        "Headers for the collector",
        "Headers that the collector wants, such as `authorization=Bearer KEY` (comma-separated).",
        restart=True,
    )
    traces_content: bool = _advanced(
        False,
        "Words in traces",
        "Whether traces tell prompts, answers, and what tools are asked and answer.",
        restart=True,
    )
    traces_share: float = _advanced(
        1.0,
        "Share of requests that is traced",
        "Share of requests that is traced, 0 to 1; one that a traced program sends is traced as that one is.",
        ge=0,
        le=1,
        restart=True,
    )

    # --- who may come in, from where, and how often
    user: str = _access(
        "",
        "User of the command line",
        "User whose data the command line and `bethink mcp` use; by default the first one.",
    )
    public_urls: Origins = _network(
        [],
        "Public addresses",
        "Public addresses of this server, such as `https://bethink.example`"
        " (comma-separated): what a proxy in front of it answers to. Needs a user with a key.",
        restart=True,
    )
    cors_origins: Origins = _network(
        [],
        "Other sites that may ask",
        "Pages of other sites that may send requests with a key, such as `https://app.example`"
        " (comma-separated). Needs a user with a key.",
    )
    ums_pages: Origins = _network(
        [], "UMS pages", "Local pages that `/conversations` answers as the Users Management Agent does."
    )
    trusted_proxies: Networks = _network(
        [],
        "Trusted proxies",
        "Addresses or networks of proxies whose `X-Forwarded-For` is trusted, such as `10.0.0.2` or"
        " `10.0.0.0/8` (comma-separated): failed sign-ins are counted by it.",
        restart=True,
    )
    drain_s: float = _network(
        0,
        "Time to finish",
        "Seconds in which answers may end when the server is told to stop.",
        ge=0,
        restart=True,
    )
    setup_key_file: _Directory | None = _access(
        None,
        "File of the set-up key",
        "File with the key that makes the first user; by default `serve` makes one and prints it.",
        restart=True,
    )
    sign_in_days: int = _access(30, "Days signed in", "How long a browser stays signed in.", ge=1, le=365)
    requests_per_minute: int = _access(
        600,
        "Requests a minute, per key",
        "Requests per minute of one key or browser, if there are users; 0 is no limit.",
        ge=0,
    )
    owner_requests_per_minute: int = _access(
        1200,
        "Requests a minute, per user",
        "Requests per minute of one user with all keys; 0 is no limit.",
        ge=0,
    )
    runs_at_once: int = _access(
        16,
        "Answers at once, per user",
        "Answers of one user that run at once, in all processes; 0 is no limit.",
        ge=0,
    )

    # --- runs and tools
    max_steps: int = _tools(20, "Steps per answer", "Requests to the model in one run.", ge=1)
    max_tool_calls: int = _tools(100, "Tool calls per answer", "Tool calls in one run.", ge=1)
    max_run_tokens: int = _tools(400_000, "Tokens per answer", "Tokens in and out in one run.", ge=1)
    max_run_cost_usd: float = _tools(2.0, "Cost per answer", "Dollars in one run, if prices are known.", gt=0)
    max_run_s: float = _tools(900, "Time per answer", "Seconds of one run.", gt=0)
    max_repeated_calls: int = _tools(
        3, "Repeats of one call", "How often the same call may be repeated.", ge=1
    )

    tools_enabled: bool = _tools(True, "Tools", "Whether the model is offered tools.")
    tool_timeout_s: float = _tools(
        5, "Time per tool call", "Seconds of one tool call, unless the tool sets another limit.", gt=0
    )
    tool_uses_days: int | None = _privacy(
        365,
        "Days the log of tool calls is kept",
        "Days for which the log of tool calls is kept; forever if unset.",
        ge=1,
    )
    redaction: Annotated[Redaction, BeforeValidator(as_object)] = _privacy(
        Redaction(),
        "Masked numbers",
        "Personal numbers masked in tool results: `tool_results` and `exceptions`"
        " (`docs/how-to/decide-what-tools-may-do.md`).",
    )
    tool_policy: Annotated[dict[str, Literal["auto", "ask", "deny"]], BeforeValidator(as_object)] = _tools(
        {}, "Rules for tools", "`auto`, `ask` or `deny` by a tool's name or pattern (`git__*`), or by effect."
    )
    approval_timeout_s: float = _tools(
        7 * 86_400, "Time to approve", "Seconds after which a call that waits for approval is dropped.", gt=0
    )
    plugins: Texts = _tools(
        [],
        "Plug-ins",
        "Entry points of `bethink.tools` to load, by their names; they have all rights.",
        restart=True,
    )
    user_tools: bool = _tools(
        False,
        "Own tool files",
        "Load the tools in the data directory's `tools/*.py`; they have all rights.",
        restart=True,
    )
    max_file_bytes: int = _documents(
        50_000_000, "Largest file in a conversation", "Largest file of a conversation, in bytes.", ge=1000
    )
    master_key: SecretStr | None = _advanced(
        None,
        "Master key",
        "Encrypts stored secrets; by default `master.key` in the data directory is used.",
        restart=True,
    )
    tool_concurrency: int = _tools(
        100, "Tool calls at once", "Tool calls of one owner that run at once.", ge=1
    )
    max_tool_result_chars: int = _tools(
        20_000, "Longest tool result", "Longest result that the model reads.", ge=500
    )
    max_message_chars: int = _advanced(
        200_000, "Longest message", "Longest message that is accepted.", ge=1000
    )

    # --- conversations and what is known of them
    titles: Literal["words", "model"] = _memory(
        "words",
        "Titles of conversations",
        "Title of a conversation: its first words, or chosen by the model after its answer.",
    )
    summaries: bool = _memory(
        True,
        "Summaries of long conversations",
        "Whether the model summarises the earlier part of a long conversation; otherwise that"
        " part is left out.",
    )
    summary_share: float = _memory(
        0.7,
        "Part of the window for history",
        "Share of the model's window that history may fill before its oldest part is summarised.",
        gt=0.05,
        le=0.9,
    )
    summary_after_messages: int | None = _memory(
        None,
        "Summarise after messages",
        "Summarise also above this number of messages; by default only the window counts.",
        ge=4,
    )
    summary_keep_messages: int = _memory(
        20, "Messages kept as they are", "Newest messages that are not summarised.", ge=2
    )
    redis_url: RedisAddress = _redis(
        None,
        "Redis address",
        "A Redis or Valkey: `redis://host:6379/0`, `rediss://` with TLS, `unix:///path`.",
        restart=True,
    )
    redis_use: Literal["auto", "bus", "conversations", "both"] = _redis(
        "auto",
        "What Redis is for",
        "`conversations`: a copy of them, which other programs can use. `bus`: what the processes on the same"
        " data tell one another; all of them need the same address. `auto` is `conversations`.",
        restart=True,
    )
    redis_owner: str = _redis(
        "local",
        "Owner with plain keys",
        "Owner whose conversations have plain keys; those of others begin with `bethink:OWNER:`.",
        min_length=1,
        restart=True,
    )
    redis_timeout_s: float = _redis(
        5, "Time to wait for Redis", "Longest wait for Redis.", gt=0, le=60, restart=True
    )

    memory_enabled: bool = _memory(
        True,
        "Memory",
        "Whether conversations use memory; without it nothing is recalled or remembered in them.",
    )
    recall_limit: int = _recall(
        12, "Memories per answer", "Most memories recalled into a turn's context.", ge=0, le=50
    )
    recall_tokens: int = _recall(
        2_000,
        "Tokens for memories",
        "Most tokens that recalled memories take of a turn's context, in a small window less.",
        ge=100,
        le=100_000,
    )
    recall_profile_limit: int = _recall(
        8, "Facts always in context", "Number of important facts that are always in context.", ge=0, le=50
    )
    recall_min_score: float = _recall(
        0.15,
        "Lowest score",
        "Score that the best memory must have for any to come into the context; those that are not far less"
        " sure come with it.",
        ge=0,
        le=1,
    )
    recall_timeout_s: float = _recall(
        5,
        "Time to search memories",
        "Longest search for memories; after that the answer does not use them.",
        gt=0,
    )
    extraction: Annotated[Literal["auto", "suggest", "off"], BeforeValidator(as_extraction)] = _memory(
        "auto",
        "Learn from conversations",
        "Whether the model looks for facts in what you said, after each answer: `auto` keeps what is sure and"
        " leaves the rest to your review, `suggest` leaves all of it to your review. Costs one more short"
        " request a turn.",
    )
    extraction_model: str = _memory(
        "",
        "Model that learns",
        "Model that looks for facts: a small, cheap one will do. By default the one that answers.",
    )
    extraction_turns_a_day: int = _memory(
        300, "Turns learnt from a day", "Most turns of a user in which facts are looked for a day.", ge=1
    )
    reflection: Literal["auto", "suggest", "off"] = _memory(
        "auto",
        "Tidy up at night",
        "Whether memory is put in order each night, if it changed: memories that say the same are merged,"
        " contradictions noted, a profile written, insights suggested. `auto` does it in one step that can be"
        " undone, `suggest` leaves merges and contradictions to you.",
    )
    reflection_hour: int = _memory(
        3,
        "Hour of tidying up",
        "Hour of the night from which memory is put in order, in your time.",
        ge=0,
        le=23,
    )
    reflection_tokens: int = _memory(
        20_000,
        "Tokens of tidying up",
        "Most tokens of the model that putting memory in order may take at a time.",
        ge=0,
    )
    memory_search_limit: int = _recall(
        10, "Results of a search", "Default number of results of a memory search.", ge=1, le=50
    )

    conversations_archive_above: int | None = _privacy(
        50_000,
        "Archive conversations above",
        "Turns above which old conversations are archived by themselves; never if unset.",
        ge=1,
    )
    conversations_archive_days: int = _privacy(
        183, "Age of an old conversation", "Days after which a conversation is old.", ge=1
    )
    conversations_retention_days: int | None = _privacy(
        None,
        "Days conversations are kept",
        "Days after its last message after which a conversation is deleted for good, in the archive too. "
        "Pinned ones stay; never if unset. Each person may have their own go sooner.",
        ge=1,
    )
    memory_consolidation: bool = _memory(
        True,
        "Merge duplicates",
        "Whether memories that say the same are merged once a day; it can be undone.",
    )
    memory_retention_days: int | None = _privacy(
        None,
        "Days memories are kept",
        "Days after which a memory that was not repeated is retracted; never if unset.",
        ge=1,
    )
    memory_retention_keep_importance: float = _privacy(
        0.8,
        "Importance that is always kept",
        "Memories of this importance, and pinned ones, are always kept.",
        ge=0,
        le=1,
    )
    memory_retention_forget_days: int | None = _privacy(
        None,
        "Days until forgotten for good",
        "Days after which such a retracted memory is forgotten for good; never if unset.",
        ge=1,
    )
    max_import_bytes: int = _memory(
        200_000_000, "Largest import", "Largest file that `POST /memories/import` takes, in bytes.", ge=1000
    )

    # --- files, pages, code and the web
    documents_enabled: bool = _documents(
        True, "Files in conversations", "Whether the model may read and search a conversation's files."
    )
    documents_timeout_s: float = _documents(
        30, "Time to read a file", "Longest reading of one file, in seconds.", gt=0
    )
    documents_memory_mb: int = _documents(
        1024, "Memory to read a file", "Memory of the process that reads a file.", ge=256
    )
    documents_max_bytes: int = _documents(
        500_000_000,
        "Largest document",
        "Largest file that the library of documents takes, in bytes.",
        ge=1000,
    )
    documents_quota_mb: int | None = _documents(
        None, "Space per user", "Room of one user's documents in MB; unlimited if unset.", ge=1
    )
    documents_folders: Annotated[list[_Directory], BeforeValidator(as_list)] = _documents(
        [],
        "Folders that may be watched",
        "Folders below which any may be watched for documents (comma-separated); without users and without"
        " this, any folder that Bethink can read.",
    )
    documents_versions_days: int | None = _privacy(
        None,
        "Days old versions are kept",
        "Days that old versions of documents are kept, for citations of them; for ever if unset.",
        ge=1,
    )
    tasks_archived_days: int | None = _privacy(
        None, "Days archived tasks are kept", "Days until archived tasks go; never if unset.", ge=1
    )
    documents_passage_tokens: int = _documents(
        500,
        "Length of a passage",
        "Longest passage that documents are cut into to be searched, in tokens.",
        ge=50,
        le=5_000,
    )
    documents_passage_overlap: int = _documents(
        50,
        "Overlap of passages",
        "Tokens that a passage may repeat of the one before it; at most half of a passage.",
        ge=0,
        le=500,
    )
    graph_enabled: bool = _recall(
        False, "Graph", "Whether there is a graph, which searches of bases may follow."
    )
    graph_similarity: float = _recall(
        0.75, "Likeness in the graph", "Least cosine of what is alike in the graph.", ge=0, le=1
    )
    kb_max_archive_bytes: int = _documents(
        5_000_000_000,
        "Largest archive of a knowledge base",
        "Largest archive of a knowledge base that is uploaded, in bytes.",
        ge=1000,
    )
    documents_search_timeout_s: float = _documents(
        60,
        "Time to search files",
        "Longest search of files, in seconds; the answer says what was not read by then.",
        gt=0,
    )
    images_model: str = _images(
        "", "Image model", "Model that makes pictures, for example `openai:gpt-image-1`; empty means none."
    )
    images_base_url: WebAddressOrNone = _images(
        None, "Address of the image model", "Base URL of `images_model`, instead of its provider's own."
    )
    images_api_key: SecretStr | None = _images(
        None, "Key of the image model", "Key of `images_model`, instead of its provider's own."
    )
    images_timeout_s: float = _images(120, "Time per image", "Longest wait for an image, in seconds.", gt=0)
    images_price_usd: float | None = _images(
        None, "Price per image", "Price of one image in dollars, if known.", ge=0
    )
    audio_model: str = _audio(
        "", "Speech to text", "Model that turns speech into text, for example `whisper-1`; empty means none."
    )
    speech_model: str = _audio(
        "", "Read aloud", "Model that reads answers aloud, for example `gpt-4o-mini-tts`; empty means none."
    )
    speech_voice: str = _audio("alloy", "Voice", "Voice of `speech_model`.", min_length=1, max_length=100)
    audio_base_url: WebAddressOrNone = _audio(
        None,
        "Address of the audio server",
        "Base URL of both, if it is not that of `openai:` models; it speaks OpenAI's audio API.",
    )
    audio_api_key: SecretStr | None = _audio(None, "Key of the audio server", "Key for `audio_base_url`.")
    audio_timeout_s: float = _audio(
        120, "Longest silence of the server", "Longest silence of the audio endpoint, in seconds.", gt=0
    )
    quiet_hours: str = _planner(
        "", "Quiet hours", "Hours without notices, such as `22:00-07:00`, in the owner's time zone."
    )
    smtp_url: MailServer | None = _planner(
        None, "Mail server", "Server of e-mail: `smtps://user:password@host` or `smtp://…`."
    )
    smtp_from: str = _planner("", "Sender of mails", "Sender of e-mails; by default the user of `smtp_url`.")

    vault: Annotated[VaultSettings, BeforeValidator(as_object)] = _vault(
        VaultSettings(),
        "Vault",
        "The folder of Markdown files: `path`, `max_file_bytes`, `watch` and more (`docs/how-to/vault.md`).",
    )
    backups: Annotated[Backups, BeforeValidator(as_object)] = place("backups")(
        Backups(), "Backups", "`every_hours`, `keep`, `folder`, `passphrase`, `before_upgrade`."
    )

    code_enabled: bool = _code(True, "Python", "Whether the model may run Python, in a sandbox.")
    code_sandbox: Literal["auto", "bubblewrap", "landlock"] = _code(
        "auto", "Sandbox", "The sandbox; `auto` uses the first that works on this machine.", restart=True
    )
    code_server: str = _code(
        "",
        "Outside interpreter",
        "MCP server that runs Python in place of the sandbox: `NAME` (by its `execute_code`) or `NAME/TOOL`.",
        restart=True,
    )
    code_timeout_s: float = _code(30, "Time per run", "Seconds of one execution of code.", gt=0)
    code_memory_mb: int = _code(1024, "Memory per interpreter", "Memory of one interpreter.", ge=128)
    code_disk_mb: int = _code(
        256, "Disk space per conversation", "Disk space for the files of code in one conversation.", ge=1
    )
    code_output_chars: int = _code(16_000, "Longest output", "Characters kept of one output.", ge=500)
    code_interpreters: int = _code(4, "Interpreters at once", "Interpreters that run at once.", ge=1)
    code_idle_s: float = _code(
        900, "Close unused after", "Seconds without use after which an interpreter is closed.", gt=0
    )
    code_prewarmed: int = _code(
        0, "Started in advance", "Interpreters started in advance.", ge=0, le=8, restart=True
    )

    web_enabled: bool = _web(
        True, "Web search and pages", "Whether the model may search the web and read its pages."
    )
    web_search_url: WebAddress = _web(
        "", "SearXNG address", "A SearXNG to search with, as a URL; empty asks search engines through ddgs."
    )
    web_search_engines: str = _web(
        "auto", "Search engines", "ddgs' engines, comma-separated (`duckduckgo,brave`); `auto` takes any."
    )
    web_search_region: str = _web(
        "", "Region", "Region of searches: `us-en` for ddgs, a language such as `en` for SearXNG."
    )
    web_safe_search: Literal["off", "moderate", "strict"] = _web(
        "moderate", "Safe search", "Safe search of the search engines."
    )
    web_timeout_s: float = _web(20, "Time per page", "Seconds of one search or one page.", gt=0)
    web_max_bytes: int = _web(10_000_000, "Largest page", "Largest page that is read, in bytes.", ge=1000)
    web_robots: bool = _web(True, "Respect robots.txt", "Whether to respect robots.txt.")
    web_ports: Annotated[list[int], BeforeValidator(as_list)] = _web(
        [80, 443, 8080, 8443], "Allowed ports", "Ports of public hosts that are opened (comma-separated)."
    )
    web_allow_private: Texts = _web(
        [],
        "Private addresses that may be opened",
        "Addresses outside of the public internet that may be opened: `127.0.0.1:8080`,"
        " `10.0.0.0/8`, `wiki.lan` (comma-separated).",
    )

    # --- other systems
    dial: Annotated[DialDoor, BeforeValidator(as_object)] = _dial(
        DialDoor(),
        "DIAL application",
        "Bethink as an application of DIAL: `enabled`, `url`, `model`, `hosts`, `memory` and more"
        " (`docs/how-to/use-with-dial.md`).",
    )

    mcp_servers: Annotated[dict[str, McpServer], BeforeValidator(as_object)] = _mcp(
        {},
        "MCP servers",
        "MCP servers whose tools are used, by name; `[mcpServers.NAME]` is the same.",
        sealed=True,
    )
    mcp_servers_file: _Directory | None = _mcp(
        None, "File of MCP servers", "A JSON file with `mcpServers`, as other programs have it."
    )
    mcp_sandbox: bool = _mcp(
        False,
        "Sandbox for all programs",
        "Whether MCP servers that run on this machine run in a sandbox unless their own `sandbox` is false.",
    )
    max_offered_tools: int = _tools(
        30,
        "Tools offered at once",
        "With more tools than this, the model finds tools with `search_tools`.",
        ge=5,
    )

    @property
    def needs_users(self) -> bool:
        """Whether nobody comes in over the network without a key, also while there are no users."""
        return bool(self.public_urls)

    @property
    def models(self) -> Path:
        """Directory of the embedding model's files."""
        return self.models_dir or self.data_dir / "models"

    @property
    def given(self) -> Given:
        """What the process was given; of settings that a program made, all that it named."""
        if self._given is not None:
            return self._given
        names = self.model_fields_set
        return Given(
            {name: getattr(self, name) for name in names},
            dict.fromkeys(names, ValueOrigin("flag", "the program")),
        )

    def of_given(self, given: Given) -> Self:
        """The same settings, knowing what they were made of."""
        self._given = given
        return self

    def take(self, values: Mapping[str, object]) -> None:
        """Have other values from now on. Only `configuration` does this, all at once."""
        vars(self).update(values)
