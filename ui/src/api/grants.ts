// What other programs may do at `/mcp`, which their user allowed on this page.
import type {
  AskedShown,
  DecisionMade,
  GrantDecision,
  GrantList,
  GrantShown,
} from "../contract/openapi";
import { json } from "./client";

export type Asked = AskedShown;
export type Grant = GrantShown;

export const grantsApi = {
  /** What the program asks for that sent the browser here; `request` is the query of the address. */
  asked: (request: string, signal?: AbortSignal) =>
    json<AskedShown>("GET", `/authorize${request}`, undefined, signal),
  decide: (decision: GrantDecision) => json<DecisionMade>("POST", "/authorize", decision),
  list: (signal?: AbortSignal) => json<GrantList>("GET", "/grants", undefined, signal),
  end: (grant: string) => json<GrantShown>("DELETE", `/grants/${encodeURIComponent(grant)}`),
};
