// Words of the server in the reader's language, units of numbers, and what choices mean.
import { Fragment } from "react";
import type { SettingShown } from "../../api/settings";
import { locale, t, told } from "../../i18n";
import { bytes } from "../../services/words";

/** The same as a text of a setting: how to write a list in a file is no matter of this page. */
const said = (text: string): string =>
  told(text).replace(/ \((comma-separated|durch Kommas getrennt)\)/, "");

type ToldProps = {
  text: string;
  /** What the page calls something that stands as `code`, if it has a word for it. */
  nameOf?: (code: string) => string | undefined;
};

/** A sentence in which `code` stands as code, or by the page's own word for it. */
export function Told({ text, nameOf }: ToldProps) {
  return said(text)
    .split("`")
    .map((part, at) => {
      const name = at % 2 ? nameOf?.(part) : undefined;
      // biome-ignore-start lint/suspicious/noArrayIndexKey: parts have no other name and never move
      if (name) return <q key={at}>{name}</q>;
      return at % 2 ? <code key={at}>{part}</code> : <Fragment key={at}>{part}</Fragment>;
      // biome-ignore-end lint/suspicious/noArrayIndexKey: as above
    });
}

/** The same without marks, for what is read aloud and searched. */
export const plain = (text: string): string => said(text).replaceAll("`", "");

const units: readonly [ending: RegExp, unit: () => string][] = [
  [/_ms$/, () => t("ms")],
  [/_s$/, () => t("seconds")],
  [/_minutes$/, () => t("minutes")],
  [/_days$/, () => t("days")],
  [/_mb$/, () => t("MB")],
  [/_bytes$/, () => t("bytes")],
  [/_tokens$/, () => t("tokens")],
  [/_chars$/, () => t("characters")],
  [/_usd$/, () => t("dollars")],
];
export const unitOf = (name: string): string =>
  units.find(([ending]) => ending.test(name))?.[1]() ?? "";

const choices = (): Record<string, string> => ({
  off: t("Off"),
  on: t("On"),
  auto: t("Automatic"),
  ask: t("Ask each time"),
  deny: t("Never"),
  suggest: t("Suggest"),
  store: t("Store"),
  words: t("The first words"),
  model: t("Chosen by the model"),
  owner: t("As the owner’s own"),
  untrusted: t("As content from outside"),
  moderate: t("Moderate"),
  strict: t("Strict"),
  native: t("As its server takes them"),
  tagged: t("By tags in the text"),
  routed: t("By a schema"),
  bucket: t("In the user’s bucket"),
  card: t("Card numbers"),
  ssn: t("Social security numbers"),
  phone: t("Telephone numbers"),
  email: t("E-mail addresses"),
  iban: t("Bank accounts (IBAN)"),
  bus: t("What processes tell one another"),
  conversations: t("Copy of the conversations"),
  both: t("Both"),
  read: t("Only reads"),
  write: t("Changes your data; can be undone"),
  destructive: t("Cannot be undone"),
  egress: t("Sends data out of this machine"),
  true: t("Yes"),
  false: t("No"),
});

/** The rule of a tool is more than a choice: `auto` allows it. */
export function choiceName(value: string | boolean, name = ""): string {
  if (name === "tool_policy" && value === "auto") return t("Always allow");
  const known = choices()[String(value)];
  return known ?? String(value).charAt(0).toUpperCase() + String(value).slice(1);
}

/** A value in words, short. */
export function valueWords(value: unknown, name = ""): string {
  if (value === null || value === undefined || value === "") return t("not set");
  if (typeof value === "boolean") return value ? t("on") : t("off");
  if (typeof value === "number") return `${value.toLocaleString(locale())} ${unitOf(name)}`.trim();
  if (Array.isArray(value)) {
    const known = choices();
    return value.map((each) => known[String(each)] ?? String(each)).join(", ") || t("none");
  }
  if (typeof value === "object") {
    const keys = Object.keys(value);
    return keys.length ? keys.join(", ") : t("none");
  }
  const text = String(value);
  return text in choices() ? choiceName(text, name) : text;
}

const MINUTE_S = 60;
const spans: readonly [seconds: number, words: (count: number) => string][] = [
  [86_400, (count) => t("{count, plural, one {# day} other {# days}}", { count })],
  [3600, (count) => t("{count, plural, one {# hour} other {# hours}}", { count })],
  [MINUTE_S, (count) => t("{count, plural, one {# minute} other {# minutes}}", { count })],
];

/** A large number of seconds or bytes as people say it; empty where it is said already. */
export function largeWords(name: string, value: unknown): string {
  if (typeof value !== "number") return "";
  if (/_bytes$/.test(name)) return bytes(value);
  if (!/_s$/.test(name) || value <= MINUTE_S) return "";
  const span = spans.find(([seconds]) => value >= seconds && value % (seconds / 2) === 0);
  return span ? span[1](value / span[0]) : "";
}

/** Who has the last word on a setting, if not this page. */
export function setBy({ source, source_name }: SettingShown): string | null {
  switch (source) {
    case "flag":
      return t("Set by the command line, which wins. Change it there and start Bethink again.");
    case "environment":
      return t(
        "Set by the environment variable {name}, which wins. Change it there and start Bethink again.",
        { name: source_name ?? "" },
      );
    case "file":
      return t("Set by {name}, which wins. Change it there and start Bethink again.", {
        name: source_name ?? "bethink.toml",
      });
    default:
      return null;
  }
}
