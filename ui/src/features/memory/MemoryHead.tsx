import { type ReactNode, useEffect, useState } from "react";
import { api } from "../../api/client";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";

const pages = [
  { path: "/memory", name: "All" },
  { path: "/memory/review", name: "To review" },
  { path: "/memory/health", name: "Health" },
] as const;

/** How many memories wait for review; asked again when `again` changes. */
function useWaiting(again: unknown): number {
  const [waiting, setWaiting] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `again` says when to ask
  useEffect(() => {
    let asked = true;
    api.memories({ state: "suggested", limit: 1 }).then(
      ({ total }) => asked && setWaiting(total),
      () => undefined,
    );
    return () => {
      asked = false;
    };
  }, [again]);
  return waiting;
}

/** The head of every page of Memory: where one is, and how many memories wait for review. */
export function MemoryHead({ children, again }: { children?: ReactNode; again?: unknown }) {
  const { router } = useApp();
  const here = useStore(router.path);
  const waiting = useWaiting(again);
  return (
    <>
      <header className="page-head">
        <h1>Memory</h1>
        <div className="actions">{children}</div>
      </header>
      <nav className="tabs" aria-label="Pages of Memory">
        {pages.map(({ path, name }) => (
          <Link key={path} to={path} aria-current={here === path ? "page" : undefined}>
            {name}
            {path.endsWith("review") && waiting > 0 && <span className="badge">{waiting}</span>}
          </Link>
        ))}
      </nav>
    </>
  );
}
