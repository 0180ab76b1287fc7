import { useCallback, useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { documentsApi, type PageText as Text } from "../../api/documents";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import styles from "./Documents.module.css";
import PageText from "./PageText";
import type { Target } from "./useTarget";
import viewer from "./Viewer.module.css";

const AT_ONCE = 10;
const BEFORE = 1;

type PagesProps = {
  id: string;
  content: string;
  isPlain: boolean;
  target: Target | null;
  onCount: (count: number) => void;
  onPage: (number: number) => void;
};

type Loaded = { count: number; items: readonly Text[] };

/** Pages around the one that is wanted; more of them when they are asked for. */
function usePages(id: string, content: string, wanted: number, onCount: (count: number) => void) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const busy = useRef(false);
  const read = useCallback(
    async (first: number, last: number, put: (now: Loaded | null, some: Loaded) => Loaded) => {
      busy.current = true;
      try {
        const some = await documentsApi.pages(id, { content, first, last });
        setLoaded((now) => put(now, some));
        setProblem(null);
        onCount(some.count);
      } catch (error) {
        setProblem(asProblem(error));
      }
      busy.current = false;
    },
    [id, content, onCount],
  );
  const isThere = loaded?.items.some(({ number }) => number === wanted);
  const begin = useCallback(() => {
    const first = Math.max(1, wanted - BEFORE);
    return read(first, first + AT_ONCE - 1, (_, some) => some);
  }, [read, wanted]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is there is not read again
  useEffect(() => {
    if (!isThere && !(loaded && wanted > loaded.count)) void begin();
  }, [begin]);
  const first = loaded?.items[0]?.number ?? 1;
  const last = loaded?.items.at(-1)?.number ?? 0;
  const later = async () => {
    if (busy.current || !loaded || last >= loaded.count) return;
    await read(last + 1, last + AT_ONCE, (now, some) => ({
      count: some.count,
      items: [...(now?.items ?? []), ...some.items],
    }));
  };
  const earlier = () =>
    read(Math.max(1, first - AT_ONCE), first - 1, (now, some) => ({
      count: some.count,
      items: [...some.items, ...(now?.items ?? [])],
    }));
  return { loaded, problem, begin, earlier, later, first, last };
}

/** What was read of a document, page after page. */
export default function TextPages(props: PagesProps) {
  const { id, content, isPlain, target, onCount, onPage } = props;
  const box = useRef<HTMLElement>(null);
  const { loaded, problem, begin, earlier, later, first, last } = usePages(
    id,
    content,
    target?.page ?? 1,
    onCount,
  );
  const reached = useRef<Target | null>(null);
  useEffect(() => {
    const page = box.current?.querySelector(`[data-page="${target?.page}"]`);
    if (!target || !page || reached.current === target) return;
    reached.current = target;
    const mark = target.at && page.querySelector("mark, .marked");
    (mark || page).scrollIntoView({ block: mark ? "center" : "start" });
  });
  const more = useRef(later);
  more.current = later;
  const end = useRef<HTMLDivElement>(null);
  const isEnd = loaded !== null && last >= loaded.count;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the pages that came may not have filled the box
  useEffect(() => {
    const place = end.current;
    if (!place || isEnd) return;
    const watch = new IntersectionObserver(([seen]) => seen?.isIntersecting && more.current(), {
      root: box.current,
      rootMargin: "600px",
    });
    watch.observe(place);
    return () => watch.disconnect();
  }, [isEnd, last]);
  const look = () => {
    const pages = [...(box.current?.querySelectorAll<HTMLElement>("[data-page]") ?? [])];
    const { top = 0, height = 0 } = box.current?.getBoundingClientRect() ?? {};
    const shown = pages.findLast((page) => page.getBoundingClientRect().top <= top + height / 3);
    onPage(Number((shown ?? pages[0])?.dataset.page ?? 1));
  };
  const isAlone = loaded?.count === 1;
  return (
    <section
      ref={box}
      className={`${viewer.text} scroll`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: pages are scrolled with the keyboard
      tabIndex={0}
      aria-label={t("Text")}
      onScroll={look}
    >
      <div className={viewer.column}>
        {!loaded && !problem && <Skeleton lines={8} label={t("Loading the document")} />}
        {first > 1 && <Button onClick={() => void earlier()}>{t("Earlier pages")}</Button>}
        {loaded?.items.map(({ number, label, text }) => (
          <section
            key={number}
            data-page={number}
            aria-label={label || t("Page {number}", { number })}
          >
            {(label || !isAlone) && <h2>{label || t("Page {number}", { number })}</h2>}
            <PageText
              text={text}
              at={target?.page === number ? target.at : null}
              isPlain={isPlain}
              top={label || !isAlone ? 3 : 2}
            />
          </section>
        ))}
        {loaded?.count === 0 && <p className={styles.note}>{t("Nothing of it was read yet.")}</p>}
        {problem && (
          <ProblemNotice problem={problem} onRetry={() => void (loaded ? later() : begin())} />
        )}
        <div ref={end} />
      </div>
    </section>
  );
}
