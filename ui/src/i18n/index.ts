// The reader's language. English sentences in ICU MessageFormat are the keys; `de/` has the German ones, a file a room.
import { setupI18n } from "@lingui/core";
import { compileMessage } from "@lingui/message-utils/compileMessage";
import { remember, remembered } from "../services/store";
import { teller } from "./sentences";

/** A language: its sentences, and which of them the server says. */
type Words = { catalogue: Record<string, string>; server: readonly string[] };

/** Languages that the page is complete in, by what they call themselves. */
export const languages = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof languages;

const KEY = "bethink.language";
const others: Record<Exclude<Language, "en">, () => Promise<Words>> = {
  de: () => import("./de"),
};
const rightToLeft = new Set(["ar", "fa", "he", "ur"]);
const i18n = setupI18n({ locale: "en", messages: { en: {} } });
const compiled = new Map<string, ReturnType<typeof compileMessage>>();

/** Lingui has a sentence compiled each time that it is said, and rows say theirs in every frame. */
i18n.setMessagesCompiler((sentence) => {
  const tokens = compiled.get(sentence) ?? compileMessage(sentence);
  compiled.set(sentence, tokens);
  return tokens;
});

/** What this device is set to; null where the browser decides. */
export const chosenLanguage = (): Language | null =>
  remembered<{ language: Language | null }>(KEY, { language: null }).language;

/** The language to show: the chosen one, else the first of the browser's that there is. */
export function languageOf(wanted: readonly string[], chosen: Language | null): Language {
  if (chosen) return chosen;
  const known = wanted.map((tag) => tag.toLowerCase().split("-")[0] ?? "");
  return (known.find((tag) => tag in languages) as Language | undefined) ?? "en";
}

/** Sets the language of this device; the page is loaded anew, since words are everywhere. */
export function chooseLanguage(language: Language | null): void {
  remember(KEY, { language });
  location.reload();
}

/** The side on which lines begin; `?dir=rtl` in an address has any language stand as Arabic does. */
export const directionOf = (language: string, query: string): "ltr" | "rtl" =>
  rightToLeft.has(language) || new URLSearchParams(query).get("dir") === "rtl" ? "rtl" : "ltr";

/** Makes `t` speak the reader's language; before anything is drawn. */
export async function startLanguage(): Promise<void> {
  const language = languageOf(navigator.languages, chosenLanguage());
  if (language !== "en") {
    const { catalogue, server } = await others[language]();
    i18n.loadAndActivate({ locale: language, messages: catalogue });
    tell = teller(catalogue, server, t);
  }
  document.documentElement.lang = language;
  document.documentElement.dir = directionOf(language, location.search);
}

/** The language of the page, for `Intl` and `toLocaleString`; undefined leaves English to the browser's kind of it. */
export const locale = (): string | undefined => (i18n.locale === "en" ? undefined : i18n.locale);

/**
 * A sentence in the reader's language: `t("{count, plural, one {# memory} other {# memories}}", { count })`.
 * At the top of a module only in parts that come with their room: what is loaded at first does not know the
 * language yet.
 */
export const t = (sentence: string, values?: Record<string, unknown>): string =>
  i18n._(sentence, values);

let tell = (sentence: string): string => sentence;

/**
 * What the server says, in the reader's language: its sentences are English. One that is not known stays as it is.
 * Never for words of the owner's, the model's or another program's.
 */
export const told = (sentence: string): string => tell(sentence);
