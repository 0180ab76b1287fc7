// The vault's part of the HTTP API; comes with its room.
import { t } from "../i18n";
import { json, Problem, problemIn, request, send, withQuery } from "./client";
import type {
  VaultBacklinks,
  VaultChange,
  VaultChoice,
  VaultConflict,
  VaultFilter,
  VaultFilterBody,
  VaultFilters,
  VaultFound,
  VaultGraph,
  VaultHistory,
  VaultLinks,
  VaultMended,
  VaultMoved,
  VaultNews,
  VaultPage,
  VaultPlan,
  VaultReport,
  VaultSeen,
  VaultTags,
  VaultTree,
} from "./types";

/** A page was changed by somebody else; `current` is how it is now, null where it is gone. */
export class PageConflict extends Problem {
  constructor(
    problem: Problem,
    readonly current: VaultPage | null,
  ) {
    super(problem.code, problem.title, problem.detail, problem.status);
  }
}

/** A path as part of an address. A browser would resolve `..` before the server could refuse it. */
function at(path: string): string {
  const parts = path.split("/");
  if (parts.some((part) => /^\.{0,2}$/.test(part))) {
    throw new Problem(
      "bad_input",
      t("This is not a valid path in the vault"),
      t("A part of the path is empty, `.` or `..`."),
      422,
    );
  }
  return parts.map(encodeURIComponent).join("/");
}
const REVISION = { accept: "application/json", "content-type": "application/json" };

async function write(path: string, text: string, version: string): Promise<VaultChange> {
  const body = JSON.stringify({ text, if_version: version });
  const response = await send(`/vault/pages/${at(path)}`, {
    method: "PUT",
    headers: REVISION,
    body,
  });
  if (response.status === 409) {
    const told = (await response.json()) as VaultConflict;
    const problem = problemIn(409, JSON.stringify(told));
    throw "current" in told ? new PageConflict(problem, told.current) : problem;
  }
  if (!response.ok) throw problemIn(response.status, await response.text());
  return (await response.json()) as VaultChange;
}

/** The page, or null where it is still of this version. */
async function newer(path: string, version: string) {
  const headers = { accept: "application/json", "if-none-match": `"${version}"` };
  const response = await send(`/vault/pages/${at(path)}`, { headers });
  if (response.status === 304) return null;
  if (!response.ok) throw problemIn(response.status, await response.text());
  return (await response.json()) as VaultPage;
}

/** The address of a picture that a page names. */
export const addressOfPicture = (source: string, page: string): string =>
  withQuery("/vault/pictures", { source, page });

const chosen = ({ way, path, target, to }: VaultChoice) => ({ way, path, target, to });

export const vaultApi = {
  /** The events of an answer, as they come. */
  ask: (question: string, signal: AbortSignal) =>
    request("/vault/ask", {
      method: "POST",
      headers: { accept: "text/event-stream", "content-type": "application/json" },
      body: JSON.stringify({ question, stream: true }),
      signal,
    }),
  tree: (signal?: AbortSignal) => json<VaultTree>("GET", "/vault", undefined, signal),
  news: (after: number, signal?: AbortSignal) =>
    json<VaultNews>("GET", withQuery("/vault/changes", { after }), undefined, signal),
  page: (path: string, signal?: AbortSignal) =>
    json<VaultPage>("GET", `/vault/pages/${at(path)}`, undefined, signal),
  newer,
  write,
  remove: (path: string) => json<VaultChange>("DELETE", `/vault/pages/${at(path)}`),
  move: (path: string, to: string) => json<VaultMoved>("POST", "/vault/move", { path, to }),
  makeFolder: (path: string) => json<void>("POST", "/vault/folders", { path }),
  /** Removes a folder in which nothing is. */
  removeFolder: (path: string) => json<void>("DELETE", `/vault/folders/${at(path)}`),
  undo: (token: string) => json<VaultChange>("POST", "/vault/undo", { token }),
  history: (path: string, signal?: AbortSignal) =>
    json<VaultHistory>("GET", `/vault/history/${at(path)}`, undefined, signal),
  diff: (path: string, version: string, signal?: AbortSignal) =>
    json<{ diff: string }>("GET", `/vault/diff/${at(version)}/${at(path)}`, undefined, signal),
  restore: (path: string, version: string) =>
    json<VaultChange>("POST", `/vault/restore/${at(path)}`, { version }),
  search: (query: string, signal?: AbortSignal) =>
    json<VaultFound>("GET", withQuery("/vault/search", { query, limit: 30 }), undefined, signal),
  links: (path: string, signal?: AbortSignal) =>
    json<VaultLinks>("GET", `/vault/links/${at(path)}`, undefined, signal),
  backlinks: (path: string, signal?: AbortSignal) =>
    json<VaultBacklinks>("GET", `/vault/backlinks/${at(path)}`, undefined, signal),
  /** The pages that are at most so many links away. */
  graph: (around: string, depth: number, signal?: AbortSignal) =>
    json<VaultGraph>("GET", withQuery("/vault/graph", { around, depth }), undefined, signal),
  /** The graph of all pages. */
  wholeGraph: (signal?: AbortSignal) => json<VaultGraph>("GET", "/vault/graph", undefined, signal),
  tags: (signal?: AbortSignal) => json<VaultTags>("GET", "/vault/tags", undefined, signal),
  check: (signal?: AbortSignal) => json<VaultReport>("GET", "/vault/check", undefined, signal),
  /** Has a check say nothing of these kinds. */
  ignore: (kinds: VaultReport["ignored"]) => json<void>("PUT", "/vault/check/ignored", { kinds }),
  /** What a choice would do. */
  plan: (choice: VaultChoice) => json<VaultPlan>("POST", "/vault/check/plan", chosen(choice)),
  repair: (choice: VaultChoice, id: string) =>
    json<VaultMended>("POST", "/vault/check/repair", { ...chosen(choice), id }),
  filters: (signal?: AbortSignal) => json<VaultFilters>("GET", "/vault/filters", undefined, signal),
  addFilter: (body: VaultFilterBody) => json<VaultFilter>("POST", "/vault/filters", body),
  removeFilter: (id: string) => json<VaultFilter>("DELETE", `/vault/filters/${at(id)}`),
  seenBy: (path: string, audience: string) =>
    json<VaultSeen>("POST", "/vault/filters/test", { path, audience }),
};
