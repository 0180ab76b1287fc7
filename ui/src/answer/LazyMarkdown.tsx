// The Markdown parser is half of the interface's weight: it comes after the page is there.
import { lazy, Suspense } from "react";

const load = () => import("./Markdown");
const AGAIN_MS = 300;
const loadAgain = () => new Promise((done) => setTimeout(done, AGAIN_MS)).then(load);
// Who asks while an earlier fetch is failing gets that failure: once more, then.
const Markdown = lazy(() => load().catch(loadAgain));

/** Fetches the parser before it is needed; what does not arrive is fetched again when it is. */
export const prepareMarkdown = (): void => void load().catch(() => undefined);

/** Text as Markdown; plain while the parser is on its way. */
export function LazyMarkdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className="md plain">{text}</div>}>
      <Markdown text={text} />
    </Suspense>
  );
}
