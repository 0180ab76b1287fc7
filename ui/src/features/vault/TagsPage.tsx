// All tags of the vault, each with its pages.
import { Hash } from "lucide-react";
import { useState } from "react";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { PageHead } from "../../kit/PageHead";
import { Empty, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { addressOfPage } from "../../services/router";
import { useRead } from "../../services/useRead";
import styles from "./TagsPage.module.css";
import { folderOf, titleOf } from "./treeRows";
import vault from "./vault.module.css";

/** `news` is another value whenever pages changed. */
export function TagsPage({ news }: { news: unknown }) {
  const { value, problem, read } = useRead(vaultApi.tags, news);
  const [query, setQuery] = useState("");
  const wanted = query.trim().replace(/^#/, "").toLowerCase();
  const found = value?.items.filter(({ name }) => name.toLowerCase().includes(wanted)) ?? [];
  return (
    <div className={vault.page}>
      <PageHead title={t("Tags")} isMain />
      <div className={`${vault.body} scroll`}>
        <div className="page-inner">
          {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
          {!value && !problem && <Skeleton lines={6} label={t("Loading the tags")} />}
          {value?.items.length === 0 && (
            <Empty icon={Hash} title={t("No tags yet")}>
              <p>{t("Write #a_word in a page, or fill in its property “tags”.")}</p>
            </Empty>
          )}
          {value && value.items.length > 0 && (
            <input
              type="search"
              className={`input ${styles.find}`}
              aria-label={t("Find a tag")}
              placeholder={t("Find a tag")}
              value={query}
              onChange={(event) => setQuery(event.target.value)}
            />
          )}
          <ul className={styles.tags}>
            {found.map(({ name, pages }) => (
              <li key={name}>
                <details open={found.length === 1}>
                  <summary>
                    #{name} <small>{pages.length}</small>
                  </summary>
                  <ul className={vault.links}>
                    {pages.map(({ path, title }) => (
                      <li key={path}>
                        <Link to={addressOfPage(path)}>
                          {title || titleOf(path)}
                          {folderOf(path) && <small>{folderOf(path)}</small>}
                        </Link>
                      </li>
                    ))}
                  </ul>
                </details>
              </li>
            ))}
          </ul>
          {value && value.items.length > 0 && found.length === 0 && (
            <p className={vault.note} role="status">
              {t("No tag is called this.")}
            </p>
          )}
        </div>
      </div>
    </div>
  );
}
