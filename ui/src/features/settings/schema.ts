// Which widget a setting has, by the type that its JSON schema tells.
import type { Schema } from "../../api/settings";

export type Widget =
  | { kind: "switch" }
  | { kind: "choice"; options: readonly (string | boolean)[]; optional: boolean }
  | { kind: "checks"; options: readonly string[] }
  | NumberWidget
  | { kind: "text"; maxLength: number | undefined; optional: boolean; examples: readonly string[] }
  | { kind: "texts"; numbers: boolean }
  | { kind: "record"; entry: Schema }
  | { kind: "json" };
export type NumberWidget = {
  kind: "number";
  whole: boolean;
  min: number | undefined;
  max: number | undefined;
  optional: boolean;
};

/** A schema with what it refers to in its place, and whether it may be null. */
export function resolved(
  schema: Schema,
  defs: Schema["$defs"] = schema.$defs,
): { schema: Schema; optional: boolean } {
  if (schema.$ref) {
    const target = defs?.[schema.$ref.split("/").at(-1) ?? ""] ?? {};
    const { schema: found, optional } = resolved(target, defs);
    return { schema: withDefs(found, defs), optional };
  }
  const options = schema.anyOf?.filter((each) => each.type !== "null");
  if (schema.anyOf && options?.length === 1 && options[0]) {
    const { anyOf, ...outer } = schema;
    const { schema: inner } = resolved(options[0], defs);
    return {
      schema: withDefs({ ...inner, ...outer }, defs),
      optional: anyOf.length > 1,
    };
  }
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const [type] = schema.type.filter((each) => each !== "null");
    return { schema: { ...schema, ...(type && { type }) }, optional: true };
  }
  return { schema, optional: false };
}

const withDefs = (schema: Schema, defs: Schema["$defs"]): Schema =>
  defs ? { ...schema, $defs: defs } : schema;

/** All values that may be chosen in a setting, or in a part of it. */
export function choicesIn(schema: unknown): ReadonlySet<string> {
  if (!schema || typeof schema !== "object") return new Set();
  const own = "enum" in schema && Array.isArray(schema.enum) ? schema.enum.map(String) : [];
  return new Set([...own, ...Object.values(schema).flatMap((part) => [...choicesIn(part)])]);
}

export function widgetOf(given: Schema): Widget {
  const { schema, optional } = resolved(given);
  const defs = given.$defs ?? schema.$defs;
  if (schema.enum) return { kind: "choice", options: schema.enum.map(String), optional };
  switch (schema.type) {
    case "boolean":
      return optional ? { kind: "choice", options: [true, false], optional } : { kind: "switch" };
    case "integer":
    case "number":
      return {
        kind: "number",
        whole: schema.type === "integer",
        min: schema.minimum ?? schema.exclusiveMinimum,
        max: schema.maximum,
        optional,
      };
    case "string":
      return {
        kind: "text",
        maxLength: schema.maxLength,
        optional,
        examples: (schema.examples ?? []).map(String),
      };
    case "array":
      return listWidget(resolved(schema.items ?? {}, defs).schema);
    case "object":
      return typeof schema.additionalProperties === "object" && !schema.properties
        ? { kind: "record", entry: withDefs(schema.additionalProperties, defs) }
        : { kind: "json" };
    default:
      return { kind: "json" };
  }
}

function listWidget(items: Schema): Widget {
  if (items.enum) return { kind: "checks", options: items.enum.map(String) };
  if (items.type === "integer" || items.type === "number") return { kind: "texts", numbers: true };
  return items.type === "string" ? { kind: "texts", numbers: false } : { kind: "json" };
}
