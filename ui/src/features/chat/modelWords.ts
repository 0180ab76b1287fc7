// What is known of a model, in small words.
import type { OfferedModel } from "../../api/models";
import { locale, t } from "../../i18n";

/** A model's name without its provider and its maker: `gpt-4o` of `openrouter:openai/gpt-4o`. */
export const shortModel = (name: string): string =>
  name.slice(name.indexOf(":") + 1).replace(/^.*\//, "") || name;

/** `128k` of 128,000 tokens; `1M` of a million. */
function tokens(count: number): string {
  const million = 1_000_000;
  if (count >= million) return `${Number((count / million).toFixed(1)).toLocaleString(locale())}M`;
  return `${Math.round(count / 1000).toLocaleString(locale())}k`;
}

const dollars = (price: number): string =>
  price.toLocaleString(locale() ?? "en", { style: "currency", currency: "USD" });

/** What it holds, what it can do and what it costs. */
export function factsOf(model: OfferedModel): readonly string[] {
  const { context_tokens, pictures, tools, memory, input_usd, output_usd } = model;
  const priced = input_usd != null && output_usd != null;
  const free = priced && input_usd === 0 && output_usd === 0;
  return [
    context_tokens && t("{tokens} window", { tokens: tokens(context_tokens) }),
    pictures && t("sees pictures"),
    tools === false && t("no tools"),
    memory === false && t("no memory"),
    free && t("free of charge"),
    priced &&
      !free &&
      t("{input} in, {output} out per million", {
        input: dollars(input_usd),
        output: dollars(output_usd),
      }),
  ].filter((fact): fact is string => Boolean(fact));
}
