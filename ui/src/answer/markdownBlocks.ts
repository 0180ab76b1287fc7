// Cuts Markdown where a new block surely begins, so that a growing answer is parsed anew only at its end.

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** A line that may belong to what is above it, across an empty line: lists, quotes, indented text. */
const CONTINUES = /^(\s|[-*+>|]|\d+[.)])/;
/** Definitions and footnotes reach over the whole text: then it is not cut. */
const REACHES_FAR = /^ {0,3}\[[^\]]+\]:/m;

export function markdownBlocks(text: string): string[] {
  if (REACHES_FAR.test(text)) return [text];
  const blocks: string[] = [];
  let block: string[] = [];
  let fence = "";
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    const begins = !fence && block.at(-1) === "" && line !== "" && !CONTINUES.test(line);
    if (begins && block.some((each) => each !== "")) {
      blocks.push(block.join("\n"));
      block = [];
    }
    if (mark && !fence) fence = mark;
    else if (mark && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark)
      fence = "";
    block.push(line);
  }
  blocks.push(block.join("\n"));
  return blocks;
}
