import { expect, test } from "vitest";
import { commandOf, configOf, emptyForm, formOf, lineOf, pasted, wordsOf } from "./serverConfig";

test("a command line is taken apart and put together as a shell does", () => {
  expect(wordsOf(`npx -y "@acme/files" '/home/ann/my notes' a\\ b`)).toEqual([
    "npx",
    "-y",
    "@acme/files",
    "/home/ann/my notes",
    "a b",
  ]);
  expect(wordsOf("run 'without end")).toBeNull();
  expect(wordsOf("")).toEqual([]);
  expect(wordsOf("a ''")).toEqual(["a", ""]);
  const words = ["npx", "it's", "a b", "$HOME", "--x=1"];
  expect(wordsOf(lineOf(words))).toEqual(words);
  expect(lineOf(["npx", "it's"])).toBe(`npx 'it'"'"'s'`);
});

test("a form means a configuration, and what it does not show stays", () => {
  const form = {
    ...emptyForm,
    kind: "stdio" as const,
    command: "uvx mcp-server-time",
    env: "A=b=c",
  };
  const config = configOf(form, { url: "https://x", trust: "owner" });
  expect(config).toEqual({
    trust: "owner",
    command: "uvx",
    args: ["mcp-server-time"],
    env: { A: "b=c" },
    sandbox: true,
  });
  expect(config && commandOf(config)).toBe("uvx mcp-server-time");
  const held = { command: "uvx", args: ["mcp-server-time"], env: { A: "b=c" }, sandbox: true };
  expect(formOf(held)).toEqual(form);
  expect(configOf({ ...emptyForm, kind: "stdio", command: "'" })).toBeNull();
  expect(configOf(emptyForm)).toBeNull();
});

test("a program is held as the form says, and one of which nothing was said stays so", () => {
  const form = { ...emptyForm, kind: "stdio" as const, command: "run" };
  const held = { ...form, network: false, writable: "/home/ann/a\n\n /home/ann/b " };
  const config = { command: "run", args: [], sandbox: true, network: false };
  expect(configOf(held)).toEqual({ ...config, writable: ["/home/ann/a", "/home/ann/b"] });
  expect(configOf({ ...form, sandbox: false })).toEqual({
    command: "run",
    args: [],
    sandbox: false,
  });
  const unsaid = { command: "run", args: [] };
  expect(configOf(formOf(unsaid), unsaid)).toEqual(unsaid);
  expect(configOf({ ...formOf(config), sandbox: false }, config)).toEqual({
    ...unsaid,
    sandbox: false,
  });
  expect(formOf(config).network).toBe(false);
});

test("what other programs write can be pasted", () => {
  const text = `{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}`;
  expect(pasted(text)?.name).toBe("time");
  expect(pasted(text)?.form.command).toBe("uvx mcp-server-time");
  expect(pasted("[1]")).toBeNull();
  expect(pasted("no json")).toBeNull();
});
