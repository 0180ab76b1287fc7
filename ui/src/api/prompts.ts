// The owner's prompts, over HTTP.
import type { PromptDraft, PromptList, PromptPatch, PromptShown } from "../contract/openapi";
import { json } from "./client";

export type { PromptShown as Prompt } from "../contract/openapi";

const one = (id: string) => `/prompts/${encodeURIComponent(id)}`;

export const promptsApi = {
  list: (signal?: AbortSignal) => json<PromptList>("GET", "/prompts", undefined, signal),
  add: (draft: PromptDraft) => json<PromptShown>("POST", "/prompts", draft),
  edit: (id: string, patch: PromptPatch) => json<PromptShown>("PATCH", one(id), patch),
  remove: (id: string) => json<void>("DELETE", one(id)),
};
