// The Markdown parser is half of the interface's weight: it comes after the page is there.
import { lazy, Suspense } from "react";
import type { MarkdownProps } from "./Markdown";
import css from "./markdown.module.css";

const load = () => import("./Markdown");
const AGAIN_MS = 300;
const loadAgain = () => new Promise((done) => setTimeout(done, AGAIN_MS)).then(load);
let prepared: ReturnType<typeof load> | undefined;

type Props = MarkdownProps;

const Plain = ({ text }: Props) => (
  <div className={`${css.md} ${css.plain}`} data-markdown="plain">
    {text}
  </div>
);

// Another fetch while one is failing would get the same failure, so it is waited for. Chromium gives that
// failure to all later fetches, too, until the page is loaded again: text stays plain then.
const Markdown = lazy(() =>
  (prepared ?? load()).catch(loadAgain).catch(() => ({ default: Plain })),
);

/** Fetches the parser before it is needed; if it does not arrive, it is fetched again when it is needed. */
export function prepareMarkdown(): void {
  prepared ??= load();
  prepared.catch(() => undefined);
}

/** Text as Markdown; plain while the parser is on its way, and if it does not arrive. */
export function LazyMarkdown(props: Props) {
  return (
    <Suspense fallback={<Plain {...props} />}>
      <Markdown {...props} />
    </Suspense>
  );
}
