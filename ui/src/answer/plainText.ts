/** Markdown as one line of plain words, for where there is no room to draw it. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/```\w*|`/g, "")
    .replace(/!?\[\[([^\]|]*\|)?([^\]]*)\]\]/g, "$2")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^\s*\|?[\s:|-]*--[\s:|-]*$/gm, "")
    .replace(/(^|\s)[-*+] \[[ xX]\] /g, "$1• ")
    .replace(/^\s*(#{1,6}|>|[-*+]) +/gm, "")
    .replace(/(\*\*|__|~~)(?=\S)(.*?\S)\1/g, "$2")
    .replace(/(^|[\s(])([*_])(?=\S)([^*_]*\S)\2(?=$|[\s).,;:!?])/g, "$1$3")
    .replace(/\|?(\s*\|[-: ]+)+\|/g, " | ")
    .replace(/\s*\|\s*/g, " · ")
    .replace(/\s+/g, " ")
    .replace(/(^|[^·]) ·( ·)+/g, "$1 ·")
    .replace(/^[· ]+|[· ]+$/g, "");
}
