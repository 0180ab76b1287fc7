// The artifacts' part of the HTTP API.
import type {
  ArtifactEdit,
  ArtifactList,
  ArtifactOpen,
  ArtifactShown,
  ArtifactVersions,
  NewArtifact,
} from "../contract/openapi";
import { json, withQuery } from "./client";

export type {
  ArtifactOpen as Artifact,
  ArtifactShown,
  ArtifactVersionShown,
} from "../contract/openapi";

const one = (id: string) => `/artifacts/${encodeURIComponent(id)}`;

export const artifactsApi = {
  /** Of a conversation, or all; what changed last first. */
  list: (conversation: string | null, signal?: AbortSignal) =>
    json<ArtifactList>(
      "GET",
      withQuery("/artifacts", { conversation, limit: 200 }),
      undefined,
      signal,
    ),
  get: (id: string, version?: number, signal?: AbortSignal) =>
    json<ArtifactOpen>("GET", withQuery(one(id), { version }), undefined, signal),
  versions: (id: string, signal?: AbortSignal) =>
    json<ArtifactVersions>("GET", `${one(id)}/versions`, undefined, signal),
  add: (made: NewArtifact) => json<ArtifactShown>("POST", "/artifacts", made),
  change: (id: string, edit: ArtifactEdit) => json<ArtifactOpen>("PATCH", one(id), edit),
  remove: (id: string) => json<void>("DELETE", one(id)),
};
