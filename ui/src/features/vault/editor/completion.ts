// What is offered while one types: pages behind `[[`, headings behind `#` in a link, tags behind `#`.
import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  pickedCompletion,
} from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { EditorView } from "@codemirror/view";
import { t } from "../../../i18n";
import { folderOf, named, titleOf } from "../treeRows";
import { openLink, type Pages, pathFor } from "../wikilinks";

const SHOWN = 12;

export type Offered = {
  path: string;
  pages: Pages;
  /** The headings of a page. */
  headings: (path: string) => Promise<readonly string[]>;
  tags: () => Promise<readonly string[]>;
  /** Makes a page that is not there. */
  onCreate: (path: string) => void;
};

/** Closes the link behind what was chosen, whether or not its end stands there already. */
function closing(name: string) {
  return (view: EditorView, completion: Completion, from: number, to: number) => {
    const behind = view.state.sliceDoc(to, to + 2) === "]]" ? 2 : 0;
    view.dispatch({
      changes: { from, to: to + behind, insert: `${name}]]` },
      selection: { anchor: from + name.length + 2 },
      userEvent: "input.complete",
      annotations: pickedCompletion.of(completion),
    });
  };
}

function pageOptions({ path, pages, onCreate }: Offered, typed: string): Completion[] {
  const others = pages.paths.filter((one) => one !== path);
  const found = typed.trim() ? named(others, typed, SHOWN) : others.slice(0, SHOWN);
  const options = found.map(
    (one): Completion => ({
      label: titleOf(one),
      detail: folderOf(one),
      type: "page",
      apply: closing(pages.shortest(one, path)),
    }),
  );
  const name = typed.trim();
  if (!name || pages.resolve(name, path)) return options;
  const make = closing(name);
  const apply = (view: EditorView, completion: Completion, from: number, to: number) => {
    make(view, completion, from, to);
    onCreate(pathFor(name));
  };
  return [...options, { label: t("Create “{name}”", { name }), type: "new", apply }];
}

async function headingOptions(offered: Offered, typed: string, target: string) {
  const page = target ? offered.pages.resolve(target, offered.path) : offered.path;
  if (!page) return [];
  const wanted = typed.toLowerCase();
  const all = await offered.headings(page).catch(() => []);
  return all
    .filter((one) => one.toLowerCase().includes(wanted))
    .slice(0, SHOWN)
    .map((label): Completion => ({ label, type: "heading", apply: closing(label) }));
}

/** Pages and their headings. */
export const links =
  (offered: () => Offered) =>
  async (context: CompletionContext): Promise<CompletionResult | null> => {
    const { from, text } = context.state.doc.lineAt(context.pos);
    const link = openLink(text, context.pos - from);
    if (!link) return null;
    const hash = link.typed.indexOf("#");
    const start = from + link.start + (hash < 0 ? 0 : hash + 1);
    const options =
      hash < 0
        ? pageOptions(offered(), link.typed)
        : await headingOptions(
            offered(),
            link.typed.slice(hash + 1),
            link.typed.slice(0, hash).trim(),
          );
    return options.length ? { from: start, options, filter: false } : null;
  };

/** Tags that other pages have. */
export const tags =
  (offered: () => Offered) =>
  async (context: CompletionContext): Promise<CompletionResult | null> => {
    const typed = context.matchBefore(/(?:^|\s)#[\p{L}\p{N}_/-]*$/u);
    if (!typed) return null;
    const hash = typed.from + typed.text.indexOf("#");
    const name = typed.text.trim().slice(1);
    // A single `#` at the start of a line begins a heading.
    const isHeading = hash === context.state.doc.lineAt(hash).from && !name;
    if (isHeading && !context.explicit) return null;
    if (/Code/.test(syntaxTree(context.state).resolveInner(hash, 1).name)) return null;
    const options = (
      await offered()
        .tags()
        .catch(() => [])
    )
      .filter((tag) => tag.toLowerCase().startsWith(name.toLowerCase()) && tag !== name)
      .slice(0, SHOWN)
      .map((tag): Completion => ({ label: `#${tag}`, type: "tag" }));
    return options.length ? { from: hash, options, filter: false } : null;
  };
