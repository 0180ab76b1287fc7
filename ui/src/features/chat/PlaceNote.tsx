import { Archive, Trash2 } from "lucide-react";
import type { Conversation } from "../../api/types";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import styles from "./PlaceNote.module.css";
import { useConversationActions } from "./useConversationActions";

const TRASH_MS = 30 * 24 * 60 * 60_000;

/** Says that an opened conversation is in the trash, or archived, and brings it back. */
export function PlaceNote({ conversation }: { conversation: Conversation }) {
  const { archiveAll, trashAll } = useConversationActions();
  const { id, trashed_at: trashed, archived } = conversation;
  if (!trashed && !archived) return null;
  const Icon = trashed ? Trash2 : Archive;
  const date = trashed && new Date(Date.parse(trashed) + TRASH_MS);
  return (
    <div className={styles.note}>
      <Icon size={16} aria-hidden />
      <p>
        {date
          ? t("In the trash. It is deleted for good on {date}.", {
              date: date.toLocaleDateString(locale(), { dateStyle: "long" }),
            })
          : t("Archived.")}
      </p>
      <Button onClick={() => void (trashed ? trashAll([id], false) : archiveAll([id], false))}>
        {t("Restore")}
      </Button>
    </div>
  );
}
