// What a reader takes along from an answer, as a file of their own.
const endings: Record<string, string> = {
  bash: "sh",
  csharp: "cs",
  dockerfile: "Dockerfile",
  html: "html",
  javascript: "js",
  jsx: "jsx",
  kotlin: "kt",
  latex: "tex",
  markdown: "md",
  mermaid: "mmd",
  perl: "pl",
  powershell: "ps1",
  python: "py",
  ruby: "rb",
  rust: "rs",
  shell: "sh",
  svg: "svg",
  typescript: "ts",
  yaml: "yaml",
};

/** The name of a file of this language: what is short and plain is its own ending. */
export function fileNameOf(language: string, stem = "code"): string {
  const name = language.toLowerCase();
  const ending = endings[name] ?? (/^[a-z0-9]{1,6}$/.test(name) ? name : "txt");
  return `${stem}.${ending}`;
}

/** Hands a file to the browser. */
export function download(name: string, content: string | Blob, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it behind this turn.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
