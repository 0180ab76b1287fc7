import { ArrowLeft, Trash2 } from "lucide-react";
import { useState } from "react";
import { locale, t } from "../../../i18n";
import { Button, IconButton } from "../../../kit/Button";
import { Confirm } from "../../../kit/Dialog";
import { useApp } from "../../../services/context";
import type { Place } from "../../../services/conversations";
import { useConversationActions } from "../useConversationActions";
import styles from "./list.module.css";

/** What is listed if it is not what is in use: the archive, or the trash, which can be emptied. */
export function PlaceHead({ place, total }: { place: Place; total: number | null }) {
  const { conversations } = useApp();
  return (
    <>
      <div className={styles.place}>
        <IconButton
          icon={ArrowLeft}
          label={t("All conversations")}
          onClick={() => conversations.show("list")}
        />
        <h2>{place === "trash" ? t("Trash") : t("Archived")}</h2>
        {total !== null && <span>{total.toLocaleString(locale())}</span>}
      </div>
      {place === "trash" && (
        <div className={styles.hint}>
          <p>{t("What is here is deleted for good after 30 days.")}</p>
          {total ? <EmptyTrash total={total} /> : null}
        </div>
      )}
    </>
  );
}

function EmptyTrash({ total }: { total: number }) {
  const { emptyTrash } = useConversationActions();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button look="quiet" icon={Trash2} onClick={() => setAsking(true)}>
        {t("Empty the trash")}
      </Button>
      {asking && (
        <Confirm
          title={t(
            "Delete {count, plural, one {# conversation} other {# conversations}} for good?",
            { count: total },
          )}
          action={t("Delete for good")}
          onConfirm={() => void emptyTrash()}
          onClose={() => setAsking(false)}
        >
          <p>{t("Memories from them stay in Memory.")}</p>
        </Confirm>
      )}
    </>
  );
}
