// What a conversation can be answered by.
import type { OfferedModels } from "../contract/openapi";
import { json } from "./client";

export type { OfferedModel } from "../contract/openapi";

export const offeredModels = (signal?: AbortSignal) =>
  json<OfferedModels>("GET", "/models", undefined, signal);
