import { useState } from "react";
import { t } from "../../i18n";
import { Segmented } from "../../kit/pieces";
import { History } from "./History";
import { LinksPanel } from "./LinksPanel";
import { Outline } from "./Outline";
import styles from "./Side.module.css";

type SideProps = {
  path: string;
  text: string;
  /** Another value whenever a page changed. */
  news: unknown;
  onRestore: (version: string) => void;
};

/** Beside a page: what it hangs together with, and what it was. */
export function Side({ path, text, news, onRestore }: SideProps) {
  const [shown, setShown] = useState<"links" | "outline" | "history">("links");
  return (
    <div className={styles.side}>
      <Segmented
        label={t("Beside the page")}
        value={shown}
        options={[
          { value: "links", label: t("Links") },
          { value: "outline", label: t("Outline") },
          { value: "history", label: t("History") },
        ]}
        onChange={setShown}
      />
      {shown === "links" && <LinksPanel path={path} news={news} />}
      {shown === "outline" && <Outline text={text} />}
      {shown === "history" && (
        <History path={path} news={news} onRestore={({ id }) => onRestore(id)} />
      )}
    </div>
  );
}
