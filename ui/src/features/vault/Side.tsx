import { useState } from "react";
import { Segmented } from "../../kit/pieces";
import { History } from "./History";
import { LinksPanel } from "./LinksPanel";

type SideProps = {
  path: string;
  /** Another value whenever a page changed. */
  news: unknown;
  onRestore: (version: string) => void;
};

/** Beside a page: what it hangs together with, and what it was. */
export function Side({ path, news, onRestore }: SideProps) {
  const [shown, setShown] = useState<"links" | "history">("links");
  return (
    <aside className="vault-side scroll" aria-label="Links and history">
      <Segmented
        label="Beside the page"
        value={shown}
        options={[
          { value: "links", label: "Links" },
          { value: "history", label: "History" },
        ]}
        onChange={setShown}
      />
      {shown === "links" && <LinksPanel path={path} news={news} />}
      {shown === "history" && (
        <History path={path} news={news} onRestore={({ id }) => onRestore(id)} />
      )}
    </aside>
  );
}
