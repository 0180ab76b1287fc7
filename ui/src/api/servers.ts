// What MCP servers lend beside tools, and what they ask.
import type {
  CallAnswerBody,
  FileList,
  RunRef,
  ServerPromptList,
  ServerPromptText,
  ServerResourceContent,
  ServerResourceList,
} from "../contract/openapi";
import { json } from "./client";

const at = encodeURIComponent;

export const serversApi = {
  answer: (run: string, question: string, answer: CallAnswerBody) =>
    json<RunRef>("POST", `/runs/${at(run)}/questions/${at(question)}`, answer),
  resources: (server: string) =>
    json<ServerResourceList>("GET", `/mcp-servers/${at(server)}/resources`),
  read: (server: string, uri: string) =>
    json<ServerResourceContent>("GET", `/mcp-servers/${at(server)}/resource?uri=${at(uri)}`),
  attach: (conversation: string, server: string, uri: string) =>
    json<FileList>("POST", `/conversations/${at(conversation)}/resources`, { server, uri }),
  prompts: (server: string) => json<ServerPromptList>("GET", `/mcp-servers/${at(server)}/prompts`),
  prompt: (server: string, prompt: string, args: Readonly<Record<string, string>>) =>
    json<ServerPromptText>("POST", `/mcp-servers/${at(server)}/prompts`, {
      prompt,
      arguments: args,
    }),
};
