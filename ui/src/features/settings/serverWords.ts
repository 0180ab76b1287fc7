// How servers of tools are, in words, and what to write to have one.

import type { McpServerShown } from "../../api/types";
import { t } from "../../i18n";
import type { Tone } from "./Parts";

type State = McpServerShown["state"];

const states = (): Record<State, { word: string; tone: Tone }> => ({
  off: { word: t("Switched off"), tone: "off" },
  idle: { word: t("Connects when needed"), tone: "off" },
  connecting: { word: t("Connecting"), tone: "loading" },
  ready: { word: t("Connected"), tone: "ok" },
  retrying: { word: t("Cannot be reached"), tone: "degraded" },
  sign_in: { word: t("Sign-in required"), tone: "degraded" },
});
export const stateOf = (state: State) => states()[state] ?? { word: state, tone: "degraded" };

const ways = (): Record<McpServerShown["transport"], string> => ({
  stdio: t("A program on this machine"),
  http: t("Over HTTP"),
  sse: t("Over HTTP (older SSE transport)"),
});
export const wayOf = (transport: McpServerShown["transport"]): string => ways()[transport];

const holds = (): Record<NonNullable<McpServerShown["confinement"]>, string> => ({
  none: t("No sandbox"),
  sandbox: t("In a sandbox"),
  offline: t("In a sandbox without the network"),
});
/** How a program is held. */
export const holdOf = (confinement: NonNullable<McpServerShown["confinement"]>): string =>
  holds()[confinement];

/** What a server said, as a sentence. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
