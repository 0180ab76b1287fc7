// The shapes of the server's API under the names that the interface uses. Times are ISO 8601 in UTC.
import type {
  CallShown,
  Conversation,
  ConversationPage,
  ConversationShown,
  ForgetBody,
  PartHealth as HealthPart,
  MemoryChange,
  RuleBody,
  RunDone,
  SessionShown,
  SettingsShown,
  SummaryShown,
  ToolShown,
  Waiting,
} from "../contract/openapi";

export type {
  ApprovalNeeded,
  Attachment,
  CallPage,
  Consolidation,
  Conversation,
  ConversationFile,
  ConversationPatch,
  DecisionBody as Decision,
  Event as ContractEvent,
  FileList,
  ForgetPreview,
  Forgotten,
  FoundMessage,
  FoundMessages,
  Health,
  ImportChoice,
  ImportList,
  ImportReport,
  ImportShown,
  ImportTally,
  KeyBody,
  KeyList,
  KeyMade,
  KeyShown,
  McpServerShown,
  McpServersShown,
  Memory,
  MemoryDoubt,
  MemoryDraft,
  MemoryFinding,
  MemoryHealth,
  MemoryHistory,
  MemoryImport,
  MemoryMerge,
  MemoryNumbers,
  MemoryPage,
  MemoryPatch,
  MemorySource,
  MessageSiblings,
  ModelMessage,
  NewConversation,
  RunStarted,
  ToolFinished,
  ToolList,
  ToolResult,
  Usage,
  UserBody,
  UserList,
  UserPatch,
  UserShown,
  VaultBacklinks,
  VaultChange,
  VaultChoice,
  VaultConflict,
  VaultEntry,
  VaultFilter,
  VaultFilterBody,
  VaultFilters,
  VaultFound,
  VaultGraph,
  VaultHistory,
  VaultHit,
  VaultLinks,
  VaultMended,
  VaultMoved,
  VaultNews,
  VaultPage,
  VaultPlan,
  VaultPointer,
  VaultReport,
  VaultSeen,
  VaultTags,
  VaultTree,
  VaultVersion,
} from "../contract/openapi";

/** What to forget, in one way. */
export type ForgetWanted = Pick<ForgetBody, "ids" | "query" | "all" | "kinds" | "conversations">;
export type StopReason = RunDone["reason"];
export type ConversationList = ConversationPage;
/** A conversation as it is now; null if it is gone. */
export type ConversationChange = { id: string; conversation: Conversation | null };
export type OpenConversation = ConversationShown;
export type StoredMessage = ConversationShown["messages"][number];
export type WaitingCall = Waiting;
export type MemoryWritten = MemoryChange;
export type PartHealth = HealthPart;
export type Session = SessionShown;
export type Summary = SummaryShown;
export type Settings = SettingsShown;
export type KnownTool = ToolShown;
export type ToolCallRecord = CallShown;
/** What the owner decided about a tool for always; null where nothing. */
export type Rule = RuleBody["rule"];
