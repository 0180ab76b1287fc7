// Settings that are edited while Bethink runs, the models that it may use, and what each owner prefers.

import type {
  ChangesShown,
  SettingShown as ContractSetting,
  FirstUserBody,
  LocalServerShown,
  LocalServersShown,
  McpServerConfigured,
  McpTrialShown,
  ModelFileShown,
  ModelFilesShown,
  ModelListed,
  ModelsListed,
  PreferencesPatch,
  PreferencesShown,
  ProviderShown,
  ProvidersShown,
  RetentionShown,
  SetupShown,
  TrialShown,
} from "../contract/openapi";
import { json } from "./client";
import type { Session, Settings } from "./types";

export type {
  LocalServerShown as LocalServer,
  McpTrialShown as ServerTest,
  ModelFileShown as ModelFile,
  ModelListed as ListedModel,
  PreferencesShown as Preferences,
  ProviderShown as Provider,
  TrialShown as ModelTest,
};

/** The part of JSON Schema that settings are described in. */
export type Schema = {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  enum?: readonly unknown[];
  examples?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: readonly string[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  maxLength?: number;
  minLength?: number;
  maxItems?: number;
  default?: unknown;
  $ref?: string;
  $defs?: Record<string, Schema>;
};

export type SettingShown = Omit<ContractSetting, "schema"> & { schema: Schema };
export type AllSettings = Settings & { settings: readonly SettingShown[] };
export type SettingsPatch = Readonly<Record<string, unknown>>;
export type Reached = { base_url?: string; api_key?: string };

/** A server of tools as it is configured, in the shape of `mcpServers`. */
export type ServerConfig = {
  command?: string;
  args?: readonly string[];
  env?: Record<string, string>;
  cwd?: string;
  sandbox?: boolean | null;
  network?: boolean;
  writable?: readonly string[];
  url?: string;
  headers?: Record<string, string>;
  enabled?: boolean;
  [more: string]: unknown;
};
/** A server with its configuration, and who has the last word on that. */
export type ConfiguredServer = McpServerConfigured & { config: ServerConfig };
export type ConfiguredServers = { servers: readonly ConfiguredServer[]; can_sandbox: boolean };
const at = encodeURIComponent;
const get = <T>(path: string, signal?: AbortSignal) => json<T>("GET", path, undefined, signal);

export const settingsApi = {
  read: (signal?: AbortSignal) => get<AllSettings>("/settings", signal),
  change: (patch: SettingsPatch) => json<AllSettings>("PATCH", "/settings", patch),
  changes: (signal?: AbortSignal) => get<ChangesShown>("/settings/changes", signal),

  providers: (signal?: AbortSignal) => get<ProvidersShown>("/models/providers", signal),
  local: (signal?: AbortSignal) => get<LocalServersShown>("/models/local", signal),
  listModels: (body: Reached & { provider: string }, signal?: AbortSignal) =>
    json<ModelsListed>("POST", "/models/list", body, signal),
  testModel: (body: Reached & { model: string }, signal?: AbortSignal) =>
    json<TrialShown>("POST", "/models/test", body, signal),
  modelFiles: (signal?: AbortSignal) => get<ModelFilesShown>("/models/downloads", signal),
  addModelFile: (source: { url: string } | { path: string }) =>
    json<ModelFileShown>("POST", "/models/downloads", source),
  removeModelFile: (id: string) => json<void>("DELETE", `/models/downloads/${at(id)}`),

  servers: (signal?: AbortSignal) => get<ConfiguredServers>("/mcp-servers", signal),
  putServer: (name: string, server: ServerConfig & { confirm?: string }) =>
    json<ConfiguredServers>("PUT", `/mcp-servers/${at(name)}`, server),
  deleteServer: (name: string) => json<void>("DELETE", `/mcp-servers/${at(name)}`),
  testServer: (server: ServerConfig & { name: string; confirm?: string }) =>
    json<McpTrialShown>("POST", "/mcp-servers/test", server),

  preferences: (signal?: AbortSignal) => get<PreferencesShown>("/preferences", signal),
  retention: (days: number | null, signal?: AbortSignal) =>
    get<RetentionShown>(`/preferences/retention?days=${days ?? 0}`, signal),
  changePreferences: (patch: PreferencesPatch) =>
    json<PreferencesShown>("PATCH", "/preferences", patch),

  setup: (signal?: AbortSignal) => get<SetupShown>("/setup", signal),
  dismissSetup: () => json<SetupShown>("POST", "/setup", { dismissed: true }),
  firstUser: (body: FirstUserBody) => json<Session>("POST", "/setup/user", body),
};
