import { t } from "../i18n";
import { Dialog } from "../kit/Dialog";
import { ShortcutList } from "../kit/ShortcutList";

export default function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t("Shortcuts")} className="widest" onClose={onClose}>
      <div className="body scroll">
        <ShortcutList />
      </div>
    </Dialog>
  );
}
