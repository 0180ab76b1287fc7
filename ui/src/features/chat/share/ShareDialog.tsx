import type { Conversation } from "../../../api/types";
import { t } from "../../../i18n";
import { Dialog } from "../../../kit/Dialog";

export default function ShareDialog({
  onClose,
}: {
  conversation: Conversation;
  onClose: () => void;
}) {
  return (
    <Dialog title={t("Share")} onClose={onClose}>
      {null}
    </Dialog>
  );
}
