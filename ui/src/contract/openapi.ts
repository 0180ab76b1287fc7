// Made from contract/openapi.json by scripts/contract.mjs; do not edit.

export type AcceptBody = { digest?: string | null };

export type AccountRemoved = { removed: number };

export type AddressParts = { city?: string | null; country?: string | null; flat_house?: string | null; street?: string | null };

export type AliasShown = { about: string; id: string; name: string };

export type Aliases = { items: readonly AliasShown[] };

export type AnswerBody = { content: string };

export type AnswerError = { code: string; message: string };

export type AnswerMessage = { content: string; id: string | null; role?: "assistant" };

export type ApprovalDecided = { arguments: string; call: string; decision: "approve" | "edit" | "reject"; kind: "approval_decided" };

export type ApprovalNeeded = { arguments: string; call: string; final?: boolean; kind: "approval_needed"; label: string; name: string; reason: string };

export type ArchiveCounts = { contents: number; documents: number; originals: number; pages: number; passages: number; vectors: number };

export type ArtifactEdit = { content?: string | null; restore?: number | null; title?: string | null; trashed?: boolean | null; version?: number | null };

export type ArtifactList = { cursor: string | null; items: readonly ArtifactShown[] };

export type ArtifactOpen = { by: "assistant" | "owner"; content: string; conversation: string; created_at: string; format: "html" | "svg" | "markdown" | "mermaid" | "csv" | "code"; id: string; language: string; number: number; title: string; trashed_at: string | null; untrusted: boolean; updated_at: string; version: number };

export type ArtifactShown = { conversation: string; created_at: string; format: "html" | "svg" | "markdown" | "mermaid" | "csv" | "code"; id: string; language: string; title: string; trashed_at: string | null; untrusted: boolean; updated_at: string; version: number };

export type ArtifactVersionShown = { at: string; by: "assistant" | "owner"; chars: number; number: number };

export type ArtifactVersions = { items: readonly ArtifactVersionShown[] };

export type AskedShown = { client: string; host: string; is_local: boolean; scopes: readonly string[]; user: string };

export type Asking = { background?: boolean | null; conversation?: string | Named | null; input: string | readonly Item[]; instructions?: string | null; max_output_tokens?: number | null; metadata?: Metadata | null; model?: string; parallel_tool_calls?: boolean | null; previous_response_id?: string | null; reasoning?: Reasoning | null; store?: boolean | null; stream?: boolean | null; temperature?: number | null; text?: TextConfig | null; tool_choice?: unknown; tools?: readonly Offered[] | null; top_p?: number | null };

export type Attachment = { media_type: string; name: string; url: string };

export type Attendee = { email: string; name: string; status: "needs-action" | "accepted" | "declined" | "tentative" };

export type AttendeeGiven = { email?: string | null; name?: string | null; status?: "needs-action" | "accepted" | "declined" | "tentative" | null };

export type AudioShown = { address: string; max_bytes: number; max_chars: number; speech: boolean; transcription: boolean };

export type BackupShown = { at: string | null; bytes: number; encrypted: boolean; fault: string | null; files: number; goes_at: string | null; id: string; reason: "asked" | "scheduled" | "upgrade" | null; verified_at: string | null; version: string | null };

export type BackupsShown = { backups: readonly BackupShown[]; fault: string | null; folder: string; last_good: string | null; next_at: string | null; running: boolean };

export type BadImportLine = { line: number; reason: string };

export type BatchBody = { about?: string | null; also?: string | null; category?: string | null; ids: readonly string[]; pinned?: boolean | null; retract?: boolean };

export type Body_create_transcription = { file: string; language?: string | null; model?: string | null; prompt?: string; response_format?: "json" | "text" };

export type Body_transcribe_audio = { file: string; language?: string | null; prompt?: string };

export type Body_upload_file = { file: string };

export type Bounds = { max_file_bytes: number; max_message_chars: number; max_repeated_calls: number; max_run_cost_usd: number; max_run_tokens: number; max_seconds: number; max_steps: number; max_tool_calls: number; tool_timeout_s: number };

export type BranchBody = { message: string };

export type CalendarAccountDraft = { interval_minutes?: number; name?: string; password: string; sends?: "all" | "changes" | "nothing"; url: string; user: string };

export type CalendarAccountList = { items: readonly CalendarAccountShown[] };

export type CalendarAccountPatch = { interval_minutes?: number | null; name?: string | null; off?: readonly string[] | null; password?: string | null; paused?: boolean | null; sends?: "all" | "changes" | "nothing" | null };

export type CalendarAccountShown = { calendars: readonly SyncedCalendarShown[]; error: string; id: string; interval_minutes: number; name: string; next_at: string | null; paused: boolean; pending_deletions: number; refused?: readonly CalendarRefusal[]; sends: "all" | "changes" | "nothing"; synced_at: string | null; url: string; user: string };

export type CalendarConflictList = { items: readonly CalendarConflictShown[] };

export type CalendarConflictShown = { account: string; account_name: string; at: string; form: "VEVENT" | "VTODO"; here: string | null; id: string; there: string | null; title: string; uid: string };

export type CalendarRefusal = { title: string; why: string };

export type CallAnswerBody = { action: "accept" | "decline" | "cancel"; values?: Record<string, unknown> };

export type CallPage = { cursor: string | null; items: readonly CallShown[] };

export type CallShown = { arguments: string | null; at: string; by: "policy" | "approve" | "edit" | "reject" | "deny"; call: string; conversation: string; duration_ms: number; error: string | null; id: string; redacted: Record<string, number>; run: string; tool: string };

export type CardParts = { cvv?: string | null; exp_date?: string | null; num?: string | null };

export type ChangeShown = { at: string; by: string; door: string; name: string; new: unknown; old: unknown };

export type ChangesShown = { changes: readonly ChangeShown[] };

export type ChatAnswer = { changed: readonly MessageChanged[]; conversation_id: string; error: AnswerError | null; latency_ms: number; message: AnswerMessage; reason: "answered" | "awaiting_approval" | "client_tools" | "cancelled" | "failed" | "interrupted" | "max_steps" | "max_tool_calls" | "max_tokens" | "max_cost" | "max_seconds" | "repeated_calls" | "length" | "content_filter"; recalled: readonly MessageRecalled[]; run_id: string; tools_run: readonly ToolRun[]; unbacked: readonly MessageClaim[]; usage: UsageTotal | null; used: readonly MessageMark[]; waiting: readonly Waiting[] };

export type ChatBody = { edit?: string | null; message?: Said | null; parent?: string | null; regenerate?: string | null; stream?: boolean };

export type ChatMessage = { content?: string | readonly Part[] | null; role: "system" | "developer" | "user" | "assistant" | "tool" | "function"; tool_call_id?: string | null };

export type ChoiceBody = { path: string; target?: string; to?: string; way: "lead" | "create" | "unlink" | "merge" | "mend" | "aside" | "split" | "rename" | "convert" };

export type ClaimUnbacked = { claim: "changed" | "deleted" | "saved" | "scheduled" | "sent"; kind: "claim_unbacked"; text: string };

export type CollectionDraft = { description?: string; name: string };

export type CollectionList = { items: readonly CollectionShown[] };

export type CollectionName = { id: string; name: string };

export type CollectionPatch = { description?: string | null; name?: string | null };

export type CollectionShare = { user: string; writes: boolean };

export type CollectionShown = { created_at: string; description: string; documents: number; id: string; name: string; owner: string | null; shares: readonly CollectionShare[]; writes: boolean };

export type Completion = { max_completion_tokens?: number | null; max_tokens?: number | null; messages: readonly ChatMessage[]; metadata?: Metadata | null; model: string; n?: number | null; parallel_tool_calls?: boolean | null; reasoning_effort?: string | null; response_format?: Format | null; seed?: number | null; stop?: readonly string[] | null; stream?: boolean | null; stream_options?: StreamOptions | null; temperature?: number | null; tool_choice?: unknown; tools?: readonly Offered[] | null; top_p?: number | null };

export type ConflictChoice = { keep: "here" | "there" | "both" };

export type Consolidation = { facts: number; merges: readonly MemoryMerge[]; undo: string | null; waiting: number };

export type ConsolidationBody = { preview?: boolean; share?: number; threshold?: number };

export type ContextFilled = { history: number; kind: "context_filled"; memory: number; summary: number; system: number; tools: number; untrusted?: boolean; window: number };

export type Conversation = { active_run: string | null; archived: boolean; branch: number; branch_count: number; created_at: string; id: string; message_count: number; model: string | null; needs_you: boolean; origin: string; pinned: boolean; project: string | null; spent: readonly JobCost[]; system: string; temporary: boolean; title: string; trashed_at: string | null; unread: boolean; updated_at: string };

export type ConversationFile = { at: string; id: string; made_by: "owner" | "tool"; media_type: string; name: string; size: number; url: string };

export type ConversationPage = { cursor: string | null; items: readonly Conversation[]; total: number };

export type ConversationPatch = { archived?: boolean | null; branch?: number | null; model?: string | null; pinned?: boolean | null; project?: string | null; system?: string | null; title?: string | null; trashed?: boolean | null; unread?: boolean | null };

export type ConversationShown = { active_run: string | null; archived: boolean; branch: number; branch_count: number; created_at: string; cursor: string | null; id: string; interrupted: Interrupted | null; message_count: number; messages: readonly (OwnerMessage | ModelMessage | ToolResult)[]; model: string | null; needs_you: boolean; origin: string; pinned: boolean; project: string | null; spent: readonly JobCost[]; system: string; temporary: boolean; title: string; trashed_at: string | null; unread: boolean; updated_at: string; waiting: readonly Waiting[]; window: WindowFilled | null };

export type Decided = { goes_on: boolean; run: string };

export type DecisionBody = { always?: boolean; arguments?: Record<string, unknown> | null; decision: "approve" | "reject" | "edit" };

export type DecisionMade = { redirect_to: string };

export type DeliveryPatch = { email?: string | null; new_webhook_secret?: boolean; quiet_hours?: string | null; webhook_url?: string | null };

export type DeliveryShown = { browsers: number; email: string; failing: number; has_mail_server: boolean; quiet_hours: string | null; quiet_hours_default: string; webhook_secret: string | null; webhook_url: string };

export type DocumentAddress = { collection?: string | null; name?: string | null; project?: string | null; tags?: readonly string[]; url: string };

export type DocumentGraphEdge = { a: string; b: string; kind: "alike" | "names" | "next" | "holds" | "links"; weight: number };

export type DocumentGraphFocus = { edges: readonly DocumentGraphEdge[]; left: number; node: DocumentGraphNode; nodes: readonly DocumentGraphNode[]; text: string; topics: readonly DocumentGraphTopic[] };

export type DocumentGraphNode = { document: string | null; id: string; kind: string; label: string; page: number | null; source: string | null; topic: number | null };

export type DocumentGraphPath = { nodes: readonly DocumentGraphNode[] };

export type DocumentGraphShown = { edges: readonly DocumentGraphEdge[]; left: number; nodes: readonly DocumentGraphNode[]; topics: readonly DocumentGraphTopic[] };

export type DocumentGraphTopic = { label: string; number: number; passages: number; words: readonly string[] };

export type DocumentList = { cursor: string | null; items: readonly DocumentShown[] };

export type DocumentNamed = { id: string; kind: string; name: string };

export type DocumentOrigin = { kind: "upload" | "url" | "folder" | "text" | "import"; place: string };

export type DocumentPageShown = { label: string; number: number; text: string };

export type DocumentPages = { count: number; items: readonly DocumentPageShown[] };

export type DocumentPatch = { collection?: string | null; name?: string | null; project?: string | null; tags?: readonly string[] | null };

export type DocumentShown = { collection: CollectionName | null; content: string; created_at: string; done: number; error: string; folder: string | null; has_original: boolean; id: string; kind: string; media_type: string; name: string; note: string; origin: DocumentOrigin; pages: number; passages: number; pending: PendingContent | null; project: string | null; size: number; stage: "waiting" | "reading" | "indexing" | "ready" | "failed" | "cancelled"; tags: readonly string[]; title: string; updated_at: string; versions: readonly DocumentVersionShown[] };

export type DocumentText = { collection?: string | null; name: string; project?: string | null; tags?: readonly string[]; text: string };

export type DocumentVersionShown = { at: string; content: string };

export type DocumentsPart = { failed?: number; message?: string | null; status: "ok" | "off" | "loading" | "degraded"; waiting?: number };

export type DownloadBody = { path?: string | null; url?: string | null };

export type EmbeddingsBody = { dimensions?: number | null; encoding_format?: "float" | "base64"; input: string | readonly string[] | readonly number[] | readonly (readonly number[])[]; model: string };

export type Event = RunStarted | TextDelta | ReasoningDelta | TextSoFar | MemoryRecalled | ToolRequested | ApprovalNeeded | ApprovalDecided | QuestionAsked | QuestionAnswered | ToolProgress | ToolFinished | MemoryChanged | MemoryUsed | ClaimUnbacked | Usage | ContextFilled | Warned | MessageSaved | RunFailed | RunDone;

export type EventAccount = { id: string; name: string };

export type EventConflictProblem = { conflicts: readonly EventShown[]; detail: string; free: readonly FreeTimeShown[]; status: number; title: string; type: string };

export type EventDeletion = { undo: string };

export type EventDraft = { all_day?: boolean | null; allow_conflict?: boolean; attendees?: readonly AttendeeGiven[] | null; busy?: boolean | null; categories?: readonly string[] | null; color?: string | null; conversation?: string | null; description?: string | null; duration_minutes?: number | null; end?: string | null; event_type?: string | null; links?: readonly bethink__web__calendar___LinkGiven[] | null; location?: string | null; recurrence?: string | null; reminders?: readonly number[] | null; start?: string | null; status?: "confirmed" | "tentative" | "cancelled" | null; title?: string | null; words?: string | null; zone?: string | null };

export type EventLink = { id: string; kind: "conversation" | "message" | "fact" | "page" | "document" | "task"; title?: string | null };

export type EventList = { items: readonly EventShown[]; more: boolean };

export type EventPatch = { all_day?: boolean | null; allow_conflict?: boolean; attendees?: readonly AttendeeGiven[] | null; busy?: boolean | null; categories?: readonly string[] | null; color?: string | null; description?: string | null; duration_minutes?: number | null; end?: string | null; event_type?: string | null; links?: readonly bethink__web__calendar___LinkGiven[] | null; location?: string | null; recurrence?: string | null; reminders?: readonly number[] | null; start?: string | null; status?: "confirmed" | "tentative" | "cancelled" | null; title?: string | null; zone?: string | null };

export type EventReading = { text: string; words: string };

export type EventShown = { account?: EventAccount | null; all_day: boolean; attendees: readonly Attendee[]; busy: boolean; categories: readonly string[]; color: string; conflicts: readonly string[]; conversation: string | null; created_at: string; description: string; end: string; ends_at: string; event: string; event_type: string; id: string; is_changed: boolean; is_series: boolean; links: readonly EventLink[]; location: string; recurrence: string | null; recurrence_words: string | null; reminders: readonly number[]; start: string; starts_at: string; status: "confirmed" | "tentative" | "cancelled"; title: string; understood?: string | null; undo?: string | null; untrusted: boolean; updated_at: string; version: number; zone: string };

export type EventUndo = { token: string };

export type Fault = { parameter: string; reason: string };

export type FeedDraft = { forms?: readonly ("VEVENT" | "VTODO")[]; name?: string };

export type FeedList = { items: readonly FeedShown[] };

export type FeedShown = { created_at: string; forms: readonly ("VEVENT" | "VTODO")[]; id: string; name: string; path?: string | null; used_at: string | null };

export type FileList = { items: readonly ConversationFile[] };

export type FileObject = { bytes: number; created_at: number; filename: string; id: string; object?: "file"; purpose?: string; status: "uploaded" | "processed" | "error"; status_details?: string | null };

export type FileObjectList = { data: readonly FileObject[]; first_id: string | null; has_more: boolean; last_id: string | null; object?: "list" };

export type FirstUserBody = { key?: string; name: string; password: string };

export type FolderBody = { path: string };

export type FolderDraft = { collection?: string | null; extensions?: readonly string[]; path: string };

export type FolderList = { items: readonly FolderShown[] };

export type FolderShown = { collection: CollectionName | null; extensions: readonly string[]; failed: number; files: number; id: string; note: string; path: string; state: "watching" | "missing" | "paused"; synced_at: string | null };

export type ForgetBody = { all?: boolean; confirm?: string | null; conversations?: "keep" | "remove" | null; ids?: readonly string[]; k?: number; kinds?: readonly string[]; query?: string | null; since?: string | null; until?: string | null };

export type ForgetPreview = { conversations: readonly string[]; has_more: boolean; kinds: readonly ForgottenKind[]; memories: readonly Memory[]; messages: readonly ForgottenSentences[]; pages: readonly ForgottenOfPage[]; people: readonly ForgottenOfPerson[]; token: string; versions: readonly Memory[] };

export type Forgotten = { at: string; conversations: readonly string[]; counts: Record<string, number>; doubted: readonly string[]; forgotten: number; has_more: boolean; memories: readonly string[]; messages: readonly string[]; outside: readonly string[]; pages: readonly string[]; people: readonly string[] };

export type ForgottenKind = { count: number; goes: boolean; kind: string; lines: readonly string[]; shared: string };

export type ForgottenOfPage = { parts: readonly string[]; path: string };

export type ForgottenOfPerson = { name: string; parts: readonly string[]; person: string };

export type ForgottenSentences = { at: string; by_owner: boolean; conversation: string; message: string; sentences: readonly string[] };

export type Format = { json_schema?: Record<string, unknown> | null; type: "text" | "json_object" | "json_schema" };

export type FoundMark = { end: number; start: number };

export type FoundMemory = { about: string; category: string; content: string; corrects: readonly string[]; created_at: string; depends_on: readonly string[]; doubts: readonly MemoryDoubt[]; id: string; importance: number; pinned: boolean; score: number; sources: readonly MemorySource[]; state: "active" | "suggested" | "superseded" | "corrected" | "merged" | "retracted"; superseded_by: string | null; supersedes: readonly string[]; topics: readonly string[]; valid_from: string | null; valid_until: string | null };

export type FoundMessage = { active: boolean; at: string; branch: number; conversation: string; marks: readonly FoundMark[]; message: string; position: number; role: "user" | "assistant" | "tool"; snippet: string; title: string };

export type FoundMessages = { cursor: string | null; items: readonly FoundMessage[] };

export type FreeTimeShown = { end: string; start: string };

export type FreeTimes = { items: readonly FreeTimeShown[] };

export type Function = { description?: string | null; name: string; parameters?: Record<string, unknown> | null };

export type GrantDecision = { allow: boolean; request: string; scopes?: readonly ("read" | "write")[] };

export type GrantList = { items: readonly GrantShown[] };

export type GrantShown = { client: string; created_at: string; host: string; id: string; renewed_at: string | null; scopes: readonly string[] };

export type GroupShown = { description: string; id: string; title: string };

export type Health = { conversation_manager_initialized?: boolean; message?: string | null; parts?: Parts | null; status: "ok" | "degraded"; version: string };

export type IgnoredBody = { kinds: readonly ("broken_link" | "same_content" | "same_name" | "front_matter" | "unread" | "name" | "memory_line")[] };

export type ImagesBody = { model?: string | null; n?: number | null; prompt: string; response_format?: "b64_json" | "url" | null; size?: string | null; stream?: boolean | null };

export type ImportChoice = { into?: "conversations" | "vault" | "both" | null; source?: "chatgpt" | "claude" | "notion" | "obsidian" | "markdown" | null; topics?: "keywords" | "meaning" | "none" };

export type ImportList = { items: readonly ImportShown[] };

export type ImportProblem = { count: number; fault: boolean; name: string; why: string };

export type ImportReport = { characters: number; conversations: ImportTally; files: number; first: string | null; last: string | null; messages: number; note: string; pages: ImportTally; problem_count: number; problems: readonly ImportProblem[]; read: number; size: number; topics: readonly ImportTopic[] };

export type ImportShown = { at: string; error: string | null; id: string; into: "conversations" | "vault" | "both"; name: string; preview: ImportReport | null; report: ImportReport | null; source: string; staged: boolean; state: "reading" | "ready" | "applying" | "done" | "stopped" | "failed" | "undoing" | "undone"; topics: "keywords" | "meaning" | "none" };

export type ImportTally = { duplicates: number; grown: number; kept: number; known: number; left: number; new: number };

export type ImportTopic = { count: number; keywords: readonly string[]; name: string };

export type ImportedBase = { counts: ArchiveCounts; name: string; note: string };

export type ImportedCalendarFile = { changed: number; kept: number; known: number; new: number; problems: readonly string[]; refused: readonly CalendarRefusal[]; refused_count: number };

export type Interrupted = { at: string; message: string; run: string };

export type Item = { call_id?: string | null; content?: string | readonly Part[] | null; output?: string | readonly Part[] | null; role?: "system" | "developer" | "user" | "assistant" | null; type?: string };

export type JobCost = { cost_usd: number | null; estimated: boolean; input_tokens: number; job: string; output_tokens: number; requests: number };

export type KeyBody = { expires_at?: string | null; name: string; scopes?: readonly ("read" | "write" | "chat" | "admin")[] | null };

export type KeyList = { items: readonly KeyShown[] };

export type KeyMade = { created_at: string; expires_at: string | null; hint: string; id: string; key: string; last_used_at: string | null; name: string; scopes: readonly string[]; state: "live" | "expired" | "revoked" };

export type KeyShown = { created_at: string; expires_at: string | null; hint: string; id: string; last_used_at: string | null; name: string; scopes: readonly string[]; state: "live" | "expired" | "revoked" };

export type KnowledgeBase = { created_at: string; description: string; documents: number; failed: number; id: string; name: string; pages: number; passages: number; waiting: number };

export type KnowledgeBaseAnswer = { items: readonly KnowledgeBasePassage[]; note: string };

export type KnowledgeBaseList = { items: readonly ListedKnowledgeBase[] };

export type KnowledgeBasePassage = { begin: number; content: string; document: string; end: number; heading: string; id: string; label: string; name: string; page: number; score: number; source: string; text: string };

export type KnowledgeBaseQuestion = { graph?: boolean; limit?: number; min_similarity?: number; query: string };

export type KnownMonth = { corrected: number; forgotten: number; known: number; learnt: number; month: string; recalled: number; used: number };

export type LastRunShown = { at: string; conversation: string; error: string; outcome: "running" | "done" | "failed" | "missed" | "skipped" | "waiting_for_approval" | "unknown" };

export type LibraryStatus = { bytes: number; failed: number; indexing: number; passages: number; quota_bytes: number | null; reader: string; reading: number; ready: number; waiting: number; without_vector: number };

export type LikelyDuplicate = { gone: Memory; kept: Memory; likeness: number };

export type LikelyDuplicates = { items: readonly LikelyDuplicate[] };

export type ListBody = { api_key?: string | null; base_url?: string | null; provider: string };

export type ListedKnowledgeBase = { created_at: string; description: string; documents: number; id: string; name: string };

export type LocalServerShown = { base_url: string; models: readonly ModelListed[]; provider: string; title: string };

export type LocalServersShown = { servers: readonly LocalServerShown[] };

export type Mark = { after: number; id: string };

export type McpOAuth = { client_id?: string | null; client_secret?: string | null; redirect_uri?: string | null; scope?: string | null; token_endpoint_auth_method?: "client_secret_basic" | "client_secret_post" | null };

export type McpServerBody = { args?: readonly string[]; call_timeout_s?: number; command?: string | null; confirm?: string | null; connect_timeout_s?: number; cwd?: string | null; disabled?: boolean; effect?: "read" | "write" | "destructive" | "egress"; enabled?: boolean; env?: Record<string, string>; headers?: Record<string, string>; idle_timeout_s?: number | null; network?: boolean; oauth?: boolean | McpOAuth; pin?: boolean; ping_every_s?: number; question_timeout_s?: number; questions?: boolean; readable?: readonly string[]; roots?: readonly string[]; sampling?: "never" | "ask" | "allow"; sampling_calls?: number; sampling_tokens?: number; sandbox?: boolean | null; start?: "lazy" | "eager"; tools?: Record<string, ToolRule>; trust?: "owner" | "untrusted"; type?: "stdio" | "http" | "streamable-http" | "streamable_http" | "sse" | null; url?: string | null; writable?: readonly string[] };

export type McpServerConfigured = { attempts: number; command_line: string; config: Record<string, unknown>; confinement: "none" | "sandbox" | "offline" | null; digest: string | null; editable: boolean; last_error: string | null; name: string; prompts: boolean; protocol: string | null; reason: string | null; resources: boolean; server: string | null; sign_in: string | null; since: string; source: "environment" | "file" | "flag" | "kept"; source_name: string | null; start: "lazy" | "eager"; state: "off" | "idle" | "connecting" | "ready" | "retrying" | "sign_in"; suggested: Record<string, string>; tools: readonly string[]; transport: "stdio" | "http" | "sse"; unreviewed: readonly WaitingTool[]; waiting: readonly WaitingTool[] };

export type McpServerShown = { attempts: number; confinement: "none" | "sandbox" | "offline" | null; digest: string | null; last_error: string | null; name: string; prompts: boolean; protocol: string | null; reason: string | null; resources: boolean; server: string | null; sign_in: string | null; since: string; start: "lazy" | "eager"; state: "off" | "idle" | "connecting" | "ready" | "retrying" | "sign_in"; suggested: Record<string, string>; tools: readonly string[]; transport: "stdio" | "http" | "sse"; unreviewed: readonly WaitingTool[]; waiting: readonly WaitingTool[] };

export type McpServersShown = { can_sandbox: boolean; servers: readonly McpServerConfigured[] };

export type McpTrialBody = { args?: readonly string[]; call_timeout_s?: number; command?: string | null; confirm?: string | null; connect_timeout_s?: number; cwd?: string | null; disabled?: boolean; effect?: "read" | "write" | "destructive" | "egress"; enabled?: boolean; env?: Record<string, string>; headers?: Record<string, string>; idle_timeout_s?: number | null; name?: string; network?: boolean; oauth?: boolean | McpOAuth; pin?: boolean; ping_every_s?: number; question_timeout_s?: number; questions?: boolean; readable?: readonly string[]; roots?: readonly string[]; sampling?: "never" | "ask" | "allow"; sampling_calls?: number; sampling_tokens?: number; sandbox?: boolean | null; start?: "lazy" | "eager"; tools?: Record<string, ToolRule>; trust?: "owner" | "untrusted"; type?: "stdio" | "http" | "streamable-http" | "streamable_http" | "sse" | null; url?: string | null; writable?: readonly string[] };

export type McpTrialShown = { ok: boolean; problem?: string | null; protocol?: string | null; server?: string | null; tools?: readonly OfferedTool[] };

export type Memory = { about: string; category: string; content: string; corrects: readonly string[]; created_at: string; depends_on: readonly string[]; doubts: readonly MemoryDoubt[]; id: string; importance: number; pinned: boolean; sources: readonly MemorySource[]; state: "active" | "suggested" | "superseded" | "corrected" | "merged" | "retracted"; superseded_by: string | null; supersedes: readonly string[]; topics: readonly string[]; valid_from: string | null; valid_until: string | null };

export type MemoryChange = { change: "added" | "merged" | "superseded" | "corrected" | "suggested" | "retracted" | "restored" | "forgotten"; count: number; memory: Memory; near: readonly Memory[]; others: readonly Memory[]; undo: string | null };

export type MemoryChanged = { change: "added" | "corrected" | "forgotten" | "merged" | "restored" | "retracted" | "suggested" | "superseded"; ids: readonly string[]; kind: "memory_changed"; text: string; undo?: string | null };

export type MemoryDoubt = { at: string | null; kind: "contradicts" | "depends" | "unclear"; memory: string | null };

export type MemoryDraft = { about?: string; category?: string; content: string; corrects?: readonly string[]; depends_on?: readonly string[]; importance?: number; pinned?: boolean; repeats?: readonly string[]; replaces?: readonly string[]; suggested?: boolean; topics?: readonly string[]; valid_from?: string | null; valid_until?: string | null };

export type MemoryEvent = { at: string; change: "added" | "merged" | "superseded" | "corrected" | "suggested" | "retracted" | "restored" | "forgotten" | "imported" | "consolidated" | "reflected" | "expired" | "undone"; memory: string; undo: string | null };

export type MemoryFinding = { about: string; count: number; examples: readonly string[]; mend: string; trouble: string };

export type MemoryHealth = { findings: readonly MemoryFinding[] };

export type MemoryHistory = { events: readonly MemoryEvent[]; items: readonly Memory[] };

export type MemoryImport = { added: number; bad: readonly BadImportLine[]; differing: number; format: "jsonl" | "md" | "csv" | "data.json"; id: string; known: number; lines: number; merged: number; preview: boolean; refused: number; restored: number; said: number; undo: string | null };

export type MemoryLog = { cursor: string | null; items: readonly MemoryStep[] };

export type MemoryMerge = { gone: readonly Memory[]; kept: Memory };

export type MemoryNumbers = { abouts: Record<string, number>; bytes_on_disk: number; categories: Record<string, number>; doubted: number; facts: number; first_at: string | null; months: Record<string, number>; pinned: number; projects: Record<string, number>; sources: Record<string, number>; states: Record<string, number>; trusts: Record<string, number>; warning: string | null };

export type MemoryPage = { answering?: number | null; cursor: string | null; items: readonly (FoundMemory | Memory)[]; total: number };

export type MemoryPatch = { about?: string | null; category?: string | null; content?: string | null; depends_on?: readonly string[] | null; importance?: number | null; pinned?: boolean | null; topics?: readonly string[] | null; valid_from?: string | null; valid_until?: string | null; wrong?: boolean };

export type MemoryProfile = { at: string | null; lost: number; sentences: readonly ProfileSentence[] };

export type MemoryRecalled = { items: readonly Recalled[]; kind: "memory_recalled" };

export type MemorySource = { at: string | null; id: string | null; kind: string; message: string | null };

export type MemoryStep = { at: string; change: "added" | "merged" | "superseded" | "corrected" | "suggested" | "retracted" | "restored" | "forgotten" | "imported" | "consolidated" | "reflected" | "expired" | "undone"; count: number; id: string; memory: Memory | null; undo: string | null };

export type MemoryUsageNumbers = { answers: number; cited: number; recalled: number };

export type MemoryUse = { at: string; conversation: string; is_cited: boolean; message: string; position: number; title: string };

export type MemoryUsed = { ids: readonly string[]; kind: "memory_used"; marks: readonly Mark[] };

export type MemoryUses = { items: readonly MemoryUse[]; sources: Record<string, MessagePlace> };

export type MergeBody = { gone: readonly string[]; keep: string };

export type MergedPair = { by_model: boolean; gone: string; kept: string };

export type MessageAttachment = { media_type: string; name: string; url: string };

export type MessageCall = { arguments: string; id: string; label: string; name: string };

export type MessageChanged = { change: string; ids: readonly string[]; undo: string | null };

export type MessageClaim = { claim: "saved" | "changed" | "deleted" | "scheduled" | "sent"; text: string };

export type MessageMark = { after: number; id: string };

export type MessagePlace = { conversation: string; position: number; text: string; title: string };

export type MessageRecalled = { id: string; kind: string; near?: boolean; pasted?: boolean; score: number; source?: string | null };

export type MessageSaved = { id: string; kind: "message_saved"; role: "assistant" | "tool" };

export type MessageSiblings = { branches: readonly number[]; index: number };

export type Metadata = { chat_id?: string | null; conversation_id?: string | null; memory?: boolean | null; task?: string | null; tools?: boolean | null };

export type Model = { created?: number; id: string; object?: "model"; owned_by: string };

export type ModelFileShown = { bytes: number; id: string; model: string; name: string; problem: string; source: string; state: "downloading" | "ready" | "failed" | "cancelled"; total: number | null };

export type ModelFilesShown = { downloads: readonly ModelFileShown[] };

export type ModelListed = { context_tokens: number | null; id: string; name: string };

export type ModelMessage = { at: string; branch: number; changed: readonly MessageChanged[]; content: string; id: string; note: string | null; position: number; reasoning: string; recalled: readonly MessageRecalled[]; role?: "assistant"; run: string; siblings: MessageSiblings | null; stop_reason: "answered" | "awaiting_approval" | "client_tools" | "cancelled" | "failed" | "interrupted" | "max_steps" | "max_tool_calls" | "max_tokens" | "max_cost" | "max_seconds" | "repeated_calls" | "length" | "content_filter" | null; tool_calls: readonly MessageCall[]; unbacked: readonly MessageClaim[]; usage: UsageTotal | null; used: readonly MessageMark[] };

export type Models = { data: readonly Model[]; object?: "list" };

export type ModelsListed = { base_url: string; models: readonly ModelListed[] };

export type MoveBody = { path: string; relink?: boolean; to: string };

export type Named = { id: string };

export type NeededTask = { done: boolean; id: string; title: string };

export type NewArtifact = { content: string; conversation: string; format: "html" | "svg" | "markdown" | "mermaid" | "csv" | "code"; language?: string; title: string };

export type NewConversation = { model?: string | null; project?: string | null; system?: string; temporary?: boolean; title?: string | null };

export type NewPushSubscription = { endpoint: string; keys: PushKeys };

export type NewSchedule = { action?: "remind" | "run" | "watch" | null; budget_tokens?: number | null; channels?: readonly ("page" | "push" | "email" | "webhook")[] | null; conversation?: string; missed?: "once" | "skip" | null; paused?: boolean | null; text?: string; title?: string | null; url?: string | null; when: string; zone?: string | null };

export type NewShare = { days?: number | null; files?: boolean; memories?: boolean };

export type NoticeList = { cursor: string | null; items: readonly NoticeShown[] };

export type NoticeShown = { at: string; conversation: string; id: string; kind: "reminder" | "result" | "trouble"; link: string; schedule: string; seen_at: string | null; text: string; title: string; untrusted: boolean };

export type Offered = { description?: string | null; function?: Function | null; name?: string | null; parameters?: Record<string, unknown> | null; type?: string };

export type OfferedModel = { about?: string; context_tokens?: number | null; input_usd?: number | null; kind: "model" | "assistant"; memory?: boolean; model: string | null; name: string; output_usd?: number | null; pictures?: boolean; tools?: boolean; usual?: boolean };

export type OfferedModels = { items: readonly OfferedModel[] };

export type OfferedTool = { description: string; name: string };

export type OwnNumbers = { months: readonly KnownMonth[]; questions: readonly UnansweredQuestion[] };

export type OwnPerson = { about_me: string; address: PersonAddress | null; company: string | null; created_at: string; credit_card: PersonCard | null; date_of_birth: string | null; email: string; gender: "male" | "female" | "other" | "prefer_not_to_say" | null; id: string; name: string; phone: string | null; salary: number | null; surname: string; untrusted: boolean };

export type OwnerMessage = { at: string; attachments: readonly MessageAttachment[]; branch: number; content: string; id: string; position: number; role?: "user"; run: string; siblings: MessageSiblings | null; untrusted?: boolean };

export type PageBody = { if_version?: string | null; note?: string; text: string };

export type Part = { file?: Record<string, unknown> | null; file_data?: string | null; file_id?: string | null; file_url?: string | null; filename?: string | null; image_url?: string | null; input_audio?: Record<string, string> | null; refusal?: string | null; text?: string | null; type: string };

export type PartHealth = { message?: string | null; status: "ok" | "off" | "loading" | "degraded" };

export type Parts = { background: PartHealth; backups: PartHealth; bus: PartHealth; calendar: PartHealth; documents: DocumentsPart; embeddings: PartHealth; extraction: PartHealth; files: PartHealth; mcp: PartHealth; memory: PartHealth; memory_agent: PartHealth; model: PartHealth; redis: RedisPart; sandbox: PartHealth; schedules: SchedulesPart; store: StorePart; vault: VaultPart; web: PartHealth };

export type PassageList = { items: readonly PassageShown[]; note: string };

export type PassageShown = { begin: number; content: string; document: DocumentNamed; end: number; heading: string; id: string; label: string; marks: readonly [number, number][]; page: number; pages: number; score: number; source: string; text: string };

export type PendingContent = { content: string; done: number; error: string; note: string; pages: number; stage: "waiting" | "reading" | "indexing" | "ready" | "failed" | "cancelled" };

export type Person = { admin: boolean; id: string; name: string };

export type PersonAddress = { city: string; country: string; flat_house: string; street: string };

export type PersonCard = { cvv: string; exp_date: string; num: string };

export type PersonDraft = { about_me: string; address?: AddressParts | null; company?: string | null; credit_card?: CardParts | null; date_of_birth?: string | null; email: string; gender?: string | null; name: string; phone?: string | null; salary?: number | null; surname: string };

export type PersonPage = { cursor: string | null; items: readonly OwnPerson[] };

export type PersonPatch = { about_me?: string | null; address?: AddressParts | null; company?: string | null; credit_card?: CardParts | null; date_of_birth?: string | null; email?: string | null; gender?: string | null; name?: string | null; phone?: string | null; salary?: number | null; surname?: string | null };

export type PreferencesPatch = { conversation_days?: number | null; instructions?: string | null; language?: string | null; model?: string | null; time_zone?: string | null; tone?: string | null };

export type PreferencesShown = { conversation_days: number | null; instructions: string; language: string; model: string | null; time_zone: string | null; tone: string };

export type Probed = { message?: string | null; status: "ok" | "unready" };

export type Problem = { detail: string; errors?: readonly Fault[]; status: number; title: string; type: string };

export type ProfileSentence = { memories: readonly string[]; text: string };

export type ProjectCollection = { id: string; name: string; shared: boolean };

export type ProjectDraft = { collections?: readonly string[]; instructions?: string; memory?: "all" | "own"; name: string };

export type ProjectList = { items: readonly ProjectShown[] };

export type ProjectPatch = { collections?: readonly string[] | null; instructions?: string | null; memory?: "all" | "own" | null; name?: string | null };

export type ProjectShown = { collections: readonly ProjectCollection[]; created_at: string; id: string; instructions: string; memory: "all" | "own"; name: string };

export type PromptDraft = { name: string; text: string };

export type PromptList = { items: readonly PromptShown[] };

export type PromptPatch = { name?: string | null; text?: string | null };

export type PromptShown = { created_at: string; id: string; name: string; text: string; updated_at: string; variables: readonly PromptVariable[] };

export type PromptVariable = { default: string | null; name: string };

export type ProviderShown = { base_url: string | null; default_base_url: string | null; description: string; id: string; key: string | null; local: boolean; missing: string; needs_key: boolean; runs_files: boolean; title: string };

export type ProvidersShown = { providers: readonly ProviderShown[] };

export type PushBrowser = { created_at: string; host: string; id: string };

export type PushKeys = { auth: string; p256dh: string };

export type PushShown = { browsers: readonly PushBrowser[]; public_key: string };

export type Question = { filters?: readonly string[]; question: string; stream?: boolean };

export type QuestionAnswered = { call: string; kind: "question_answered"; outcome: "accept" | "cancel" | "decline"; question: string };

export type QuestionAsked = { call: string; fields?: readonly QuestionField[]; host?: string; kind: "question_asked"; mode: "form" | "model" | "url"; question: string; source: string; text: string; until?: number; url?: string };

export type QuestionChoice = { title: string; value: string };

export type QuestionField = { choices?: readonly QuestionChoice[]; default?: string | number | boolean | readonly string[] | null; description?: string; format?: "" | "date" | "date-time" | "email" | "uri"; kind: "boolean" | "choice" | "choices" | "integer" | "number" | "text"; least?: number | null; most?: number | null; name: string; required?: boolean; title?: string };

export type Reasoning = { effort?: string | null };

export type ReasoningDelta = { kind: "reasoning_delta"; text: string };

export type RecallAnswer = { items: readonly RecalledItem[]; left_out: number; tokens: number; warnings: readonly string[] };

export type Recalled = { at: number; doubt?: string | null; id: string; kind: string; near?: boolean; pasted?: boolean; score: number; source?: string | null; speaker?: string | null; text: string; title?: string | null; untrusted?: boolean; valid_until?: number | null };

export type RecalledItem = { at: string; conversation: string | null; doubt: string | null; id: string; kind: string; near: boolean; pasted: boolean; score: number; source: string | null; speaker: string | null; text: string; title: string | null; valid_from: string | null; valid_until: string | null };

export type RedisPart = { appendfsync?: string | null; behind?: number; evicts?: string | null; last_save_ok?: boolean | null; message?: string | null; persists?: boolean | null; status: "ok" | "off" | "loading" | "degraded" };

export type ReflectionPage = { cursor: string | null; fault: string | null; hour: number; items: readonly ReflectionReceipt[]; mode: "off" | "suggest" | "auto"; running: ReflectionProgress | null };

export type ReflectionProgress = { done: number; stage: "waiting" | "reading" | "comparing" | "writing" | "keeping"; total: number };

export type ReflectionReceipt = { asked: boolean; at: string; contradictions: readonly [string, string][]; facts: number; faded: number; id: string; insights: readonly string[]; looked_at: number; memories: Record<string, Memory>; merges: readonly MergedPair[]; model: string; note: string; profile: number; refused: ReflectionRefusals; status: "done" | "proposed" | "undone"; tokens: number; waiting: number };

export type ReflectionRefusals = { answers: number; insights: number; merges: number; sentences: number };

export type RepairBody = { id: string; path: string; target?: string; to?: string; way: "lead" | "create" | "unlink" | "merge" | "mend" | "aside" | "split" | "rename" | "convert" };

export type ResourceBody = { server: string; uri: string };

export type RestoreBody = { version: string };

export type RetentionShown = { count: number; days: number | null; most: number | null; oldest: string | null };

export type RuleBody = { rule: "auto" | "ask" | "deny" | null };

export type RunDone = { kind: "run_done"; message?: string | null; reason: "answered" | "awaiting_approval" | "cancelled" | "client_tools" | "content_filter" | "failed" | "interrupted" | "length" | "max_cost" | "max_seconds" | "max_steps" | "max_tokens" | "max_tool_calls" | "repeated_calls" };

export type RunFailed = { code: string; kind: "run_failed"; message: string };

export type RunRef = { run: string };

export type RunStarted = { at: number; conversation: string; kind: "run_started"; message: string; model: string | null; run: string; schema?: number };

export type Said = { attachments?: readonly string[] | null; content: string; role?: "user"; untrusted?: boolean };

export type ScheduleHistory = { cursor: string | null; items: readonly ScheduleRunShown[] };

export type ScheduleList = { cursor: string | null; items: readonly ScheduleShown[] };

export type SchedulePatch = { action?: "remind" | "run" | "watch" | null; budget_tokens?: number | null; channels?: readonly ("page" | "push" | "email" | "webhook")[] | null; missed?: "once" | "skip" | null; paused?: boolean | null; text?: string | null; title?: string | null; url?: string | null; version?: number | null; when?: string | null; zone?: string | null };

export type ScheduleRunShown = { conversation: string; due_at: string; ended_at: string | null; error: string; id: string; late_s: number; message: string; notice: string; outcome: "running" | "done" | "failed" | "missed" | "skipped" | "waiting_for_approval" | "unknown"; run: string; started_at: string };

export type ScheduleShown = { action: "remind" | "run" | "watch"; at: string | null; budget_tokens: number | null; channels: readonly ("page" | "push" | "email" | "webhook")[]; conversation: string; created_at: string; id: string; last: LastRunShown | null; missed: "once" | "skip"; next_at: string | null; next_words: string; paused: boolean; recurrence: string; recurrence_words: string; results: string; snoozed_until: string | null; text: string; title: string; untrusted: boolean; updated_at: string; url: string; version: number; zone: string };

export type SchedulesPart = { message?: string | null; status: "ok" | "off" | "loading" | "degraded"; undelivered?: number };

export type ServerPrompt = { arguments: readonly ServerPromptArgument[]; description: string; name: string; title: string };

export type ServerPromptArgument = { description: string; name: string; required: boolean };

export type ServerPromptBody = { arguments?: Record<string, string>; prompt: string };

export type ServerPromptList = { items: readonly ServerPrompt[] };

export type ServerPromptText = { text: string; untrusted: boolean };

export type ServerResource = { description: string; media_type: string; name: string; size: number | null; template: boolean; uri: string };

export type ServerResourceContent = { cut: boolean; parts: readonly ServerResourcePart[] };

export type ServerResourceList = { items: readonly ServerResource[] };

export type ServerResourcePart = { media_type: string; name: string; size: number; text: string | null };

export type SessionShown = { by_key: boolean; needed: boolean; rights: readonly string[]; user: Person | null };

export type SettingShown = { default: unknown; description: string; editable: boolean; group: string; is_set: boolean; name: string; restart: boolean; schema: Record<string, unknown>; secret: boolean; source: "flag" | "environment" | "file" | "kept" | "default"; source_name: string | null; title: string; value: unknown };

export type SettingsBody = Record<string, unknown>;

export type SettingsShown = { bounds: Bounds; data_dir: string; fallbacks: readonly string[]; groups: readonly GroupShown[]; memory_agent: string; model: string | null; model_help: string; models: readonly string[]; pending_restart: readonly string[]; recall_limit: number; settings: readonly SettingShown[]; time_zone: string; tools_enabled: boolean; version: string };

export type SetupBody = { dismissed: true };

export type SetupShown = { about: boolean; by_key: boolean; dismissed: boolean; first_user: boolean; history: boolean; model: boolean };

export type ShareDraft = { writes?: boolean };

export type ShareList = { items: readonly ShareShown[] };

export type ShareShown = { conversation: string; created_at: string; expires_at: string | null; has_files: boolean; has_memories: boolean; hint: string; id: string; messages: number; opened: number; opened_at: string | null; path?: string | null; title: string };

export type SharedConversation = { created_at: string; expires_at: string | null; messages: readonly SharedMessageShown[]; title: string };

export type SharedFileShown = { media_type: string; name: string; url: string };

export type SharedMessageShown = { at: string; content: string; files: readonly SharedFileShown[]; memories: readonly string[]; role: "user" | "assistant"; speaker: string | null };

export type SignInBody = { key?: string | null; name?: string | null; password?: string | null };

export type Snooze = { minutes?: number | null; until?: string | null };

export type SpeechBody = { input: string; model?: string | null; response_format?: "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm"; speed?: number | null; voice?: string | null };

export type StorePart = { engine?: "SQLite" | "PostgreSQL"; message?: string | null; sealed?: boolean; status: "ok" | "off" | "loading" | "degraded" };

export type StreamOptions = { include_usage?: boolean };

export type SummaryShown = { at: string; covered_messages: number; text: string };

export type SyncAsked = { accept_deletions?: boolean };

export type Synced = { account: CalendarAccountShown; conflicts: number; deleted_here: number; deleted_there: number; received: number; refused: number; sent: number };

export type SyncedCalendarShown = { forms: readonly ("VEVENT" | "VTODO")[]; href: string; name: string; on: boolean; read_only: boolean };

export type TaskDeletion = { deleted: number; undo: string };

export type TaskDraft = { depends_on?: readonly string[] | null; description?: string | null; due_at?: string | null; due_date?: string | null; estimated_hours?: number | null; links?: readonly bethink__web__tasks___LinkGiven[] | null; parent?: string | null; priority?: "low" | "medium" | "high" | "urgent" | null; project?: string | null; recurrence?: string | null; recurs_from?: "due" | "done" | null; reminders?: readonly number[] | null; status?: "backlog" | "todo" | "in_progress" | "blocked" | "done" | "archived" | null; tags?: readonly string[] | null; title?: string | null; words?: string | null; zone?: string | null };

export type TaskLink = { id: string; kind: "conversation" | "message" | "fact" | "page" | "document" | "event"; title?: string | null };

export type TaskList = { counts: Record<string, number>; cursor: string | null; items: readonly TaskShown[] };

export type TaskPatch = { depends_on?: readonly string[] | null; description?: string | null; due_at?: string | null; due_date?: string | null; estimated_hours?: number | null; links?: readonly bethink__web__tasks___LinkGiven[] | null; parent?: string | null; position?: TaskPlace | null; priority?: "low" | "medium" | "high" | "urgent" | null; project?: string | null; recurrence?: string | null; recurs_from?: "due" | "done" | null; reminders?: readonly number[] | null; status?: "backlog" | "todo" | "in_progress" | "blocked" | "done" | "archived" | null; tags?: readonly string[] | null; title?: string | null; zone?: string | null };

export type TaskPlace = { after?: string | null; before?: string | null };

export type TaskReading = { text: string; words: string };

export type TaskShown = { blocked_by: number; children: number; children_done: number; conversation: string | null; created_at: string; depends_on: readonly NeededTask[]; description: string; done_at: string | null; due_at: string | null; due_date: string | null; due_words: string | null; estimated_hours: number | null; id: string; links: readonly TaskLink[]; next?: string | null; overdue: boolean; parent: string | null; position: number; priority: "low" | "medium" | "high" | "urgent"; project: string | null; recurrence: string | null; recurrence_words: string | null; recurs_from: "due" | "done"; reminders: readonly number[]; status: "backlog" | "todo" | "in_progress" | "blocked" | "done" | "archived"; tags: readonly string[]; title: string; understood?: string | null; undo?: string | null; untrusted: boolean; updated_at: string; version: number; zone: string };

export type TextConfig = { format?: TextFormat | null };

export type TextDelta = { kind: "text_delta"; text: string };

export type TextFormat = { description?: string | null; name?: string | null; schema?: Record<string, unknown> | null; strict?: boolean | null; type?: "text" | "json_object" | "json_schema" };

export type TextSoFar = { kind: "text_so_far"; reasoning?: string; text: string };

export type Today = { date: string; events: readonly EventShown[]; notices: readonly NoticeShown[]; overdue: readonly TaskShown[]; promised: readonly Memory[]; runs: readonly TodayRun[]; tasks: readonly TaskShown[] };

export type TodayRun = { conversation: string; due_at: string; ended_at: string | null; error: string; id: string; late_s: number; message: string; notice: string; outcome: "running" | "done" | "failed" | "missed" | "skipped" | "waiting_for_approval" | "unknown"; run: string; schedule: string; started_at: string; title: string };

export type ToolFinished = { attachments?: readonly Attachment[]; call: string; duration_ms: number; error?: string | null; kind: "tool_finished"; memories?: readonly string[]; name: string; redacted?: Record<string, number>; text: string; untrusted?: boolean };

export type ToolList = { items: readonly ToolShown[] };

export type ToolProgress = { call: string; fraction?: number | null; kind: "tool_progress"; text: string };

export type ToolRequested = { arguments: string; call: string; kind: "tool_requested"; label: string; name: string };

export type ToolResult = { at: string; attachments: readonly MessageAttachment[]; branch: number; call: string; content: string; duration_ms: number; error: string | null; id: string; name: string; position: number; role?: "tool"; run: string; siblings: MessageSiblings | null; untrusted: boolean };

export type ToolRule = { decisive?: readonly string[] | null; effect?: "read" | "write" | "destructive" | "egress" | null; enabled?: boolean; lists?: readonly string[]; trust?: "owner" | "untrusted" | null };

export type ToolRun = { arguments: string; attachments: readonly MessageAttachment[]; call: string; duration_ms: number; error: string | null; name: string; text: string; untrusted: boolean };

export type ToolShown = { description: string; effect: "read" | "write" | "destructive" | "egress"; name: string; parameters: Record<string, unknown>; rule: "auto" | "ask" | "deny" | null; source: string; trust: "owner" | "untrusted" };

export type Transcript = { text: string };

export type TrialBody = { api_key?: string | null; base_url?: string | null; model: string };

export type TrialProblem = { detail: string; title: string };

export type TrialShown = { context_tokens: number | null; first_token_ms: number | null; ok: boolean; problem: TrialProblem | null; tools: boolean | null; total_ms: number | null; vision: boolean | null };

export type UnansweredQuestion = { at: string; conversation: string; id: string; text: string };

export type UnderstoodEvent = { all_day?: boolean; ambiguous?: readonly EventReading[]; categories?: readonly string[]; end?: string | null; location?: string; problem?: string | null; recurrence?: string | null; recurrence_words?: string | null; start?: string | null; title: string; words?: string | null };

export type UnderstoodTask = { ambiguous?: readonly TaskReading[]; due_at?: string | null; due_date?: string | null; priority?: "low" | "medium" | "high" | "urgent" | null; problem?: string | null; project?: string | null; recurrence?: string | null; recurs_from?: "due" | "done" | null; tags?: readonly string[]; title: string; words?: string | null };

export type UndoBody = { token: string };

export type UndoToken = { token: string };

export type UndoneEvents = { items: readonly EventShown[] };

export type UndoneTasks = { items: readonly TaskShown[] };

export type UploadDraft = { collection?: string | null; media_type?: string; name: string; project?: string | null; sha256?: string; size: number; tags?: readonly string[]; version_of?: string | null };

export type UploadShown = { document: DocumentShown | null; expires_at: string; id: string; offset: number };

export type Usage = { cost_usd?: number | null; estimated?: boolean; input_tokens: number; job: string; kind: "usage"; model: string; output_tokens: number };

export type UsageTotal = { cost_usd: number | null; estimated: boolean; input_tokens: number; output_tokens: number };

export type UserBody = { admin?: boolean; name: string; password?: string | null };

export type UserList = { items: readonly UserShown[] };

export type UserPatch = { admin?: boolean | null; disabled?: boolean | null; password?: string | null };

export type UserShown = { admin: boolean; created_at: string; disabled: boolean; has_password: boolean; id: string; live_keys: number; name: string };

export type VaultAnswer = { reason: string; reply: string; sources: readonly string[]; thoughts: string };

export type VaultBacklinks = { items: readonly VaultPointer[] };

export type VaultChange = { after: string | null; before: string | null; moved_from: string | null; path: string; undo: string | null };

export type VaultChoice = { is_sure: boolean; path: string; said: string; target: string; to: string; way: "lead" | "create" | "unlink" | "merge" | "mend" | "aside" | "split" | "rename" | "convert" };

export type VaultConflict = { current: VaultPage | null; detail: string; errors?: readonly Fault[]; status: number; title: string; type: string; yours: string | null };

export type VaultDiff = { diff: string };

export type VaultEdge = { count: number; source: string; target: string };

export type VaultEntry = { changed_at: string | null; is_folder: boolean; path: string; problem: string | null; size: number };

export type VaultExcerpt = { line: number; marks: readonly VaultMarked[]; text: string };

export type VaultFilter = { action: "hide" | "mask" | "generalise"; audiences: readonly string[]; field: string; id: string; note: string; path: string; pattern: string; section: string; text: string };

export type VaultFilterBody = { action?: "hide" | "mask" | "generalise"; audiences?: readonly string[]; field?: string; note?: string; path?: string; pattern?: string; section?: string; text?: string };

export type VaultFilterTest = { audience: string; path: string };

export type VaultFilters = { items: readonly VaultFilter[] };

export type VaultFinding = { choices: readonly VaultChoice[]; kind: "broken_link" | "same_content" | "same_name" | "front_matter" | "unread" | "name" | "memory_line"; line: number; near: readonly string[]; path: string; said: string };

export type VaultFound = { has_more: boolean; is_exact: boolean; items: readonly VaultHit[]; notes: readonly string[]; total: number };

export type VaultGraph = { edges: readonly VaultEdge[]; missing: readonly VaultLost[]; nodes: readonly VaultNode[]; orphans: readonly string[]; way: readonly string[] | null };

export type VaultHistory = { items: readonly VaultVersion[] };

export type VaultHit = { changed_at: string | null; excerpts: readonly VaultExcerpt[]; hits: number; path: string; score: number; section: readonly string[]; title: string };

export type VaultLinks = { items: readonly VaultPointer[]; unresolved: readonly VaultMissing[] };

export type VaultLost = { count: number; source: string; target: string };

export type VaultMark = { action: "hide" | "mask" | "generalise"; end: number; rule: string; shown: string; start: number };

export type VaultMarked = { end: number; start: number };

export type VaultMended = { changes: readonly VaultChange[]; undo: readonly string[] };

export type VaultMissing = { line: number; target: string };

export type VaultMoved = { after: string | null; before: string | null; moved_from: string | null; path: string; relinked: readonly VaultChange[]; undo: string | null };

export type VaultNews = { change: number; gone: readonly string[]; items: readonly VaultEntry[] };

export type VaultNode = { backlinks: number; links: number; path: string; tags: readonly string[]; title: string };

export type VaultNotes = { daily_folder: string; daily_name: string; templates: string };

export type VaultPage = { changed_at: string; path: string; problems: readonly string[]; size: number; text: string; version: string };

export type VaultPart = { bytes?: number; is_enabled?: boolean; message?: string | null; pages?: number; status: "ok" | "off" | "loading" | "degraded"; unread?: number; watched?: boolean };

export type VaultPlan = { id: string; steps: readonly VaultStep[] };

export type VaultPointer = { lines: readonly number[]; path: string; title: string };

export type VaultReport = { findings: readonly VaultFinding[]; ignored: readonly ("broken_link" | "same_content" | "same_name" | "front_matter" | "unread" | "name" | "memory_line")[] };

export type VaultSeen = { is_hidden: boolean; marks: readonly VaultMark[]; text: string };

export type VaultStep = { diff: string; path: string; said: string };

export type VaultTag = { name: string; pages: readonly VaultTagged[] };

export type VaultTagged = { path: string; title: string };

export type VaultTags = { items: readonly VaultTag[] };

export type VaultTree = { bytes: number; change: number; items: readonly VaultEntry[]; notes: VaultNotes; pages: number; watching: boolean };

export type VaultUndo = { token: string };

export type VaultVersion = { at: string; by: "person" | "agent" | "outside" | "import" | "mirror"; id: string; moved_from: string | null; note: string; path: string; size: number; undo: string | null; what: "created" | "written" | "moved" | "deleted" | "vouched" };

export type Waiting = { arguments: string; call: string; final: boolean; label: string; name: string; reason: string; run: string };

export type WaitingTool = { change: "new" | "changed"; description: string; name: string };

export type Warned = { kind: "warning"; message: string; part: string };

export type WindowFilled = { history: number; memory: number; summary: number; system: number; tools: number; window: number };

export type bethink__web__calendar___LinkGiven = { id: string; kind: "conversation" | "message" | "fact" | "page" | "document" | "task" };

export type bethink__web__tasks___LinkGiven = { id: string; kind: "conversation" | "message" | "fact" | "page" | "document" | "event" };
