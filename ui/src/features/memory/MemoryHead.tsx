import type { ReactNode } from "react";
import { api } from "../../api/client";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useStore } from "../../services/store";
import { useRead } from "../../services/useRead";

const pages = [
  { path: "/memory", name: "All" },
  { path: "/memory/review", name: "To review" },
  { path: "/memory/health", name: "Health" },
] as const;

const ask = (signal: AbortSignal) => api.memories({ state: "suggested", limit: 1 }, signal);

/** The head of every page of Memory: where one is, and how many memories wait for review. */
export function MemoryHead({ children }: { children?: ReactNode }) {
  const { router, memoryNews } = useApp();
  const here = useStore(router.path);
  const { value, look } = useRead(ask);
  useNews(memoryNews, look);
  const waiting = value?.total ?? 0;
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
