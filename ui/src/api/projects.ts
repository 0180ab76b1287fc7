// What conversations belong to, and what of them is shown to others.
import type { ProjectDraft, ProjectList, ProjectPatch, ProjectShown } from "../contract/openapi";
import { json } from "./client";

export type Project = ProjectShown;
export type { ProjectDraft, ProjectPatch };

const at = encodeURIComponent;

export const projectsApi = {
  list: () => json<ProjectList>("GET", "/projects"),
  create: (draft: ProjectDraft) => json<ProjectShown>("POST", "/projects", draft),
  change: (id: string, patch: ProjectPatch) =>
    json<ProjectShown>("PATCH", `/projects/${at(id)}`, patch),
  remove: (id: string) => json<void>("DELETE", `/projects/${at(id)}`),
};
