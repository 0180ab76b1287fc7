// The Markdown parser is half of the interface's weight: it comes after the page is there.
import { lazy, Suspense } from "react";

const load = () => import("./Markdown");
const AGAIN_MS = 300;
const loadAgain = () => new Promise((done) => setTimeout(done, AGAIN_MS)).then(load);
let prepared: ReturnType<typeof load> | undefined;
// Another fetch while one is failing would get the same failure: it is waited for, and then fetched again.
const Markdown = lazy(() => (prepared ?? load()).catch(loadAgain));

/** Fetches the parser before it is needed; if it does not arrive, it is fetched again when it is needed. */
export function prepareMarkdown(): void {
  prepared ??= load();
  prepared.catch(() => undefined);
}

/** Text as Markdown; plain while the parser is on its way. */
export function LazyMarkdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className="md plain">{text}</div>}>
      <Markdown text={text} />
    </Suspense>
  );
}
