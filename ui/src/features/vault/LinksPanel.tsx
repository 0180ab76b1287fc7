// How a page hangs together with others: what links to it, where it leads, and what it names that is not made.
import { useCallback } from "react";
import type { VaultPointer } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { addressOfPage } from "../../services/router";
import { useRead } from "../../services/useRead";
import { folderOf, titleOf } from "./treeRows";
import vault from "./vault.module.css";
import { pathFor } from "./wikilinks";

type PanelProps = {
  path: string;
  /** Another value whenever a page changed. */
  news: unknown;
};

export function LinksPanel({ path, news }: PanelProps) {
  const ask = useCallback(
    async (signal: AbortSignal) => {
      const read = [vaultApi.links(path, signal), vaultApi.backlinks(path, signal)] as const;
      const [links, { items: back }] = await Promise.all(read);
      return { ...links, back };
    },
    [path],
  );
  const { value: known, problem, read } = useRead(ask, news);
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!known) return <Skeleton lines={4} label={t("Loading the links")} />;
  const missing = [...new Set(known.unresolved.map(({ target }) => target))];
  return (
    <>
      <section>
        <h2>{t("Linked from")}</h2>
        <Pointers items={known.back} none={t("No page links here.")} />
      </section>
      <section>
        <h2>{t("Links to")}</h2>
        <Pointers items={known.items} none={t("This page links to no other.")} />
      </section>
      {missing.length > 0 && (
        <section>
          <h2>{t("Does not exist yet")}</h2>
          <ul className={vault.links}>
            {missing.map((target) => (
              <li key={target}>
                <Link className={vault.missing} to={addressOfPage(pathFor(target))}>
                  {target}
                </Link>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Pointers({ items, none }: { items: readonly VaultPointer[]; none: string }) {
  if (!items.length) return <p className={vault.note}>{none}</p>;
  return (
    <ul className={vault.links}>
      {items.map(({ path, title }) => (
        <li key={path}>
          <Link to={addressOfPage(path)}>
            {title || titleOf(path)}
            {folderOf(path) && <small>{folderOf(path)}</small>}
          </Link>
        </li>
      ))}
    </ul>
  );
}
