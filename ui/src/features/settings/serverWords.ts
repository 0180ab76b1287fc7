// How servers of tools are, in words, and what to write to have one.
import type { McpServerShown } from "../../api/types";

type State = McpServerShown["state"];
export type Tone = "ok" | "off" | "loading" | "degraded";

const states: Record<State, { word: string; tone: Tone }> = {
  off: { word: "Switched off", tone: "off" },
  idle: { word: "Connects when needed", tone: "off" },
  connecting: { word: "Connecting", tone: "loading" },
  ready: { word: "Connected", tone: "ok" },
  retrying: { word: "Cannot be reached", tone: "degraded" },
  sign_in: { word: "Sign-in required", tone: "degraded" },
};
export const stateOf = (state: State) => states[state] ?? { word: state, tone: "degraded" };

const ways: Record<McpServerShown["transport"], string> = {
  stdio: "A program on this machine",
  http: "Over HTTP",
  sse: "Over HTTP (older SSE transport)",
};
export const wayOf = (transport: McpServerShown["transport"]): string => ways[transport];

/** What a server said, as a sentence. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What to put into `bethink.toml`: a program that Bethink starts, and a server that runs elsewhere. */
export const EXAMPLE = `[mcpServers.time]
command = "uvx"
args = ["mcp-server-time"]

[mcpServers.notes]
url = "https://notes.example/mcp"`;
