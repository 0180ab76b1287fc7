import { expect, test } from "vitest";
import { factsOf, shortModel } from "./modelWords";

test("a model is called by its own name", () => {
  expect(shortModel("openrouter:openai/gpt-4o")).toBe("gpt-4o");
  expect(shortModel("ollama:qwen3:8b")).toBe("qwen3:8b");
  expect(shortModel("Lawyer")).toBe("Lawyer");
  expect(shortModel("openai:")).toBe("openai:");
});

test("what it holds, can do and costs is said in a few words", () => {
  const model = { name: "x", kind: "model", model: "openai:x" } as const;
  expect(
    factsOf({ ...model, context_tokens: 128_000, pictures: true, input_usd: 2.5, output_usd: 10 }),
  ).toEqual(["128k window", "sees pictures", "$2.50 in, $10.00 out per million"]);
  expect(factsOf({ ...model, context_tokens: 1_047_576, tools: false, memory: false })).toEqual([
    "1M window",
    "no tools",
    "no memory",
  ]);
  expect(factsOf({ ...model, input_usd: 0, output_usd: 0 })).toEqual(["free of charge"]);
});
