// An answer as it is read aloud: its words without their marks, in pieces that follow each other without a pause.
import { t } from "../../../i18n";

/** The words of a Markdown text; code, pictures and tables are only named. */
export function spokenText(markdown: string): string {
  return markdown
    .replace(/^(```|~~~)[^\n]*\n[\s\S]*?(?:^\1[^\n]*$|$(?![\s\S]))/gm, `${t("Code.")}\n`)
    .replace(/\$\$[\s\S]*?\$\$|\\\[[\s\S]*?\\\]/g, t("A formula."))
    .replace(/(?:^\|.*\|[ \t]*$\n?){2,}/gm, `${t("A table.")}\n`)
    .replace(/!\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\d{1,3}[.)])[ \t]+/gm, "")
    .replace(/^[ \t]*[-*_]{3,}[ \t]*$/gm, "")
    .replace(/(\*\*|__|~~|`)(.+?)\1/g, "$2")
    .replace(/(?<![\p{L}\p{N}])([*_])(?=\S)(.+?)(?<=\S)\1(?![\p{L}\p{N}])/gu, "$2")
    .replace(/<[^>\n]{1,200}>/g, "")
    .replace(/\bhttps?:\/\/\S+/g, t("a link"))
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

/** The text in pieces of at most so many characters, cut at ends of sentences where there are any. */
export function piecesOf(text: string, most: number): readonly string[] {
  const pieces: string[] = [];
  for (const sentence of text.match(/[^.!?…\n]+(?:[.!?…]+["”’)]*|\n+|$)\s*/gu) ?? []) {
    const last = pieces.at(-1);
    if (last !== undefined && `${last}${sentence}`.trim().length <= most) {
      pieces[pieces.length - 1] = last + sentence;
    } else pieces.push(...cut(sentence, most));
  }
  return pieces.map((piece) => piece.trim()).filter(Boolean);
}

function cut(sentence: string, most: number): string[] {
  const parts: string[] = [];
  let rest = sentence;
  while (rest.length > most) {
    const space = rest.lastIndexOf(" ", most);
    const end = space > most / 2 ? space : most;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...parts, rest];
}
