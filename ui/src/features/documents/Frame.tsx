// The library's list of places, and beside it what is open of them.
import { type ReactNode, useState } from "react";
import { t } from "../../i18n";
import { Panes } from "../../kit/Panes";
import { CollectionNav } from "./CollectionNav";
import type { useCollections } from "./useCollections";

type FrameProps = {
  library: ReturnType<typeof useCollections>;
  /** The collection that is shown. */
  current?: string | null;
  /** What is shown in place of documents. */
  view?: "folders" | "graph";
  children: ReactNode;
};

export function Frame({ library, current = null, view, children }: FrameProps) {
  // On a phone, where the list and the page take turns.
  const [isListed, setListed] = useState(false);
  const { collections, status } = library;
  return (
    <Panes
      name="documents"
      listLabel={t("Library")}
      isOpen={!isListed}
      onBack={() => setListed(true)}
      list={
        <CollectionNav
          collections={collections}
          status={status}
          current={current}
          onChosen={() => setListed(false)}
          {...(view ? { view } : {})}
        />
      }
    >
      {children}
    </Panes>
  );
}
