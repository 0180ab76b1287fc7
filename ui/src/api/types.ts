// The shapes of the server's API under the names that the interface uses. Times are ISO 8601 in UTC.
import type {
  ConversationPage,
  ConversationShown,
  ForgetBody,
  MemoryChange,
  Part,
  RunDone,
  SettingsShown,
  Waiting,
} from "../contract/openapi";

export type {
  Attachment,
  Consolidation,
  Conversation,
  ConversationPatch,
  DecisionBody as Decision,
  Event as ContractEvent,
  ForgetPreview,
  Forgotten,
  Health,
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
  ModelMessage,
  RunStarted,
  ToolFinished,
  ToolResult,
  Usage,
} from "../contract/openapi";

/** What to forget, in one way. */
export type ForgetWanted = Pick<ForgetBody, "ids" | "query" | "all">;
export type StopReason = RunDone["reason"];
export type ConversationList = ConversationPage;
export type OpenConversation = ConversationShown;
export type StoredMessage = ConversationShown["messages"][number];
export type WaitingCall = Waiting;
export type MemoryWritten = MemoryChange;
export type PartHealth = Part;
export type Settings = SettingsShown;
