// "What would this client see?": a page as somebody else gets it.

import { useEffect, useRef, useState } from "react";
import { asProblem } from "../../api/client";
import type { VaultFilter, VaultPage, VaultSeen } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Combobox } from "../../kit/Combobox";
import { Field } from "../../kit/Field";
import { SelectField } from "../../kit/Select";
import styles from "./Filters.module.css";
import { readers, THE_AGENT } from "./filterWords";

type Place = { path: string; audience: string };
type Shown = Place & { seen: VaultSeen; page: VaultPage };

export function Seen(props: { paths: readonly string[]; filters: readonly VaultFilter[] }) {
  const { paths, filters } = props;
  const [path, setPath] = useState("");
  const [audience, setAudience] = useState<string>(THE_AGENT);
  const [shown, setShown] = useState<Shown | null>(null);
  const [why, setWhy] = useState("");
  /** What was asked for last: only the answer to this counts. */
  const asked = useRef<Place>(undefined);
  const look = async (place: Place) => {
    const { path, audience } = place;
    asked.current = place;
    try {
      const [seen, page] = await Promise.all([
        vaultApi.seenBy(path, audience),
        vaultApi.page(path),
      ]);
      if (place !== asked.current) return;
      setShown({ path, audience, seen, page });
      setWhy("");
    } catch (error) {
      if (place !== asked.current) return;
      setShown(null);
      setWhy(asProblem(error).detail);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was asked for is asked for again when filters or pages change
  useEffect(() => {
    if (asked.current) void look({ ...asked.current });
  }, [filters, paths]);
  return (
    <form
      className={styles.form}
      aria-label={t("What would this client see?")}
      onSubmit={(event) => {
        event.preventDefault();
        void look({ path, audience });
      }}
    >
      <h2>{t("What would this client see?")}</h2>
      <div className={styles.fields}>
        <Field label={t("Page")}>
          {({ id }) => (
            <Combobox
              id={id}
              value={path}
              options={paths}
              placeholder="user.md"
              onChange={setPath}
            />
          )}
        </Field>
        <SelectField
          label={t("Seen by")}
          value={audience}
          options={readers()}
          onChange={setAudience}
        />
        <Button type="submit" disabled={!path.trim()}>
          {t("Show")}
        </Button>
      </div>
      {why && (
        <p className="why" role="alert">
          {why}
        </p>
      )}
      {shown && <Page shown={shown} />}
    </form>
  );
}

function Page({ shown: { seen, page } }: { shown: Shown }) {
  if (seen.is_hidden) return <p role="status">{t("They cannot see this page.")}</p>;
  // A mark counts characters, of which an emoji is one; a string's own indices count it as two.
  const characters = Array.from(page.text);
  const cut = (start: number, end?: number) => characters.slice(start, end).join("");
  const ends = seen.marks.map(({ end }) => end);
  return (
    <>
      <p role="status">
        {seen.marks.length
          ? t("They do not see the struck-out text. Its replacement is highlighted.")
          : t("They see all of this page.")}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long page is scrolled with the keyboard */}
      <section className={styles.seen} tabIndex={0} aria-label={t("The page as they see it")}>
        {seen.marks.map(({ start, end, shown }, i) => (
          <span key={start}>
            {cut(ends[i - 1] ?? 0, start)}
            <del>{cut(start, end)}</del>
            {shown && <ins>{shown}</ins>}
          </span>
        ))}
        {cut(ends.at(-1) ?? 0)}
      </section>
    </>
  );
}
