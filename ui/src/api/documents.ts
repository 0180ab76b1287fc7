// The library's part of the HTTP API; comes with its room.
import type {
  CollectionDraft,
  CollectionList,
  CollectionPatch,
  CollectionShown,
  DocumentAddress,
  DocumentGraphFocus,
  DocumentGraphPath,
  DocumentGraphShown,
  DocumentList,
  DocumentPages,
  DocumentPatch,
  DocumentShown,
  DocumentText,
  LibraryStatus,
  PassageList,
  PendingContent,
  UploadDraft,
  UploadShown,
} from "../contract/openapi";
import { json, withQuery } from "./client";
import { sentPart } from "./upload";

export type {
  CollectionShare as Share,
  CollectionShown as Collection,
  DocumentGraphFocus as GraphFocus,
  DocumentGraphNode as GraphNode,
  DocumentGraphShown as GraphShown,
  DocumentPageShown as PageText,
  DocumentPages as PageTexts,
  DocumentShown as Document,
  LibraryStatus,
  PassageShown as PassageHit,
  PendingContent as Reading,
} from "../contract/openapi";
export type Stage = PendingContent["stage"];
export type DocumentEdit = Pick<DocumentPatch, "name" | "collection" | "tags">;

export type Folder = {
  id: string;
  path: string;
  collection: { id: string; name: string } | null;
  extensions: readonly string[];
  files: number;
  failed: number;
  state: "watching" | "missing" | "paused";
  note: string;
  synced_at: string | null;
};

export type ListQuery = {
  query?: string;
  collection?: string | null;
  tag?: string;
  kind?: string;
  stage?: string;
  limit?: number;
  cursor?: string | null;
};

const at = encodeURIComponent;
const one = (id: string) => `/documents/${at(id)}`;
type Items<T> = { items: readonly T[] };

export const documentsApi = {
  list: (query: ListQuery, signal?: AbortSignal) =>
    json<DocumentList>("GET", withQuery("/documents", query), undefined, signal),
  get: (id: string, signal?: AbortSignal) => json<DocumentShown>("GET", one(id), undefined, signal),
  edit: (id: string, edit: DocumentEdit) => json<DocumentShown>("PATCH", one(id), edit),
  remove: (id: string) => json<void>("DELETE", one(id)),
  cancel: (id: string) => json<DocumentShown>("POST", `${one(id)}/cancel`),
  retry: (id: string) => json<DocumentShown>("POST", `${one(id)}/retry`),
  addText: (body: DocumentText) => json<DocumentShown>("POST", "/documents/text", body),
  addAddress: (body: DocumentAddress) => json<DocumentShown>("POST", "/documents/url", body),
  pages: (
    id: string,
    query: { content?: string | null; first: number; last: number },
    signal?: AbortSignal,
  ) => json<DocumentPages>("GET", withQuery(`${one(id)}/pages`, query), undefined, signal),
  addressOfFile: (id: string, content: string) => withQuery(`${one(id)}/file`, { content }),
  search: (
    query: { query: string; k: number; collection?: string | null; document?: string },
    signal?: AbortSignal,
  ) => json<PassageList>("GET", withQuery("/documents/search", query), undefined, signal),
  status: (signal?: AbortSignal) =>
    json<LibraryStatus>("GET", "/documents/status", undefined, signal),

  collections: (signal?: AbortSignal) =>
    json<CollectionList>("GET", "/documents/collections", undefined, signal),
  addCollection: (body: CollectionDraft) =>
    json<CollectionShown>("POST", "/documents/collections", body),
  editCollection: (id: string, body: CollectionPatch) =>
    json<CollectionShown>("PATCH", `/documents/collections/${at(id)}`, body),
  removeCollection: (id: string, documents: boolean) =>
    json<void>("DELETE", withQuery(`/documents/collections/${at(id)}`, { documents })),
  share: (id: string, user: string, writes: boolean) =>
    json<void>("PUT", `/documents/collections/${at(id)}/shares/${at(user)}`, { writes }),
  unshare: (id: string, user: string) =>
    json<void>("DELETE", `/documents/collections/${at(id)}/shares/${at(user)}`),

  folders: (signal?: AbortSignal) =>
    json<Items<Folder>>("GET", "/documents/folders", undefined, signal),
  addFolder: (body: { path: string; collection?: string; extensions?: readonly string[] }) =>
    json<Folder>("POST", "/documents/folders", body),
  removeFolder: (id: string, documents: boolean) =>
    json<void>("DELETE", withQuery(`/documents/folders/${at(id)}`, { documents })),
  pauseFolder: (id: string, paused: boolean) =>
    json<Folder>("POST", `/documents/folders/${at(id)}/${paused ? "pause" : "resume"}`),
  syncFolder: (id: string) => json<Folder>("POST", `/documents/folders/${at(id)}/sync`),
};

type Inside = { collection: string | null };

/** What hangs together: documents, their passages, facts, pages of the vault, and names. */
export const graphApi = {
  view: (query: Inside, signal?: AbortSignal) =>
    json<DocumentGraphShown>("GET", withQuery("/documents/graph", query), undefined, signal),
  focus: (query: Inside & { node: string }, signal?: AbortSignal) =>
    json<DocumentGraphFocus>("GET", withQuery("/documents/graph/focus", query), undefined, signal),
  search: (query: Inside & { query: string }, signal?: AbortSignal) =>
    json<DocumentGraphPath>("GET", withQuery("/documents/graph/search", query), undefined, signal),
  path: (query: Inside & { start: string; end: string }, signal?: AbortSignal) =>
    json<DocumentGraphPath>("GET", withQuery("/documents/graph/path", query), undefined, signal),
};

/** Files that come in parts, each of which is kept once it was answered. */
export const uploadsApi = {
  begin: (body: UploadDraft) => json<UploadShown>("POST", "/documents/uploads", body),
  state: (id: string) => json<UploadShown>("GET", `/documents/uploads/${at(id)}`),
  drop: (id: string) => json<void>("DELETE", `/documents/uploads/${at(id)}`),
  part: (
    id: string,
    offset: number,
    part: Blob,
    going: { onProgress: (fraction: number) => void; signal: AbortSignal },
  ) => sentPart<UploadShown>(`/documents/uploads/${at(id)}`, offset, part, going),
};
export type UploadsApi = typeof uploadsApi;
