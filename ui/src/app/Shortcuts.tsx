import { Dialog } from "../kit/Dialog";
import { ShortcutList } from "../kit/ShortcutList";

export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Shortcuts" className="wide" onClose={onClose}>
      <div className="body scroll">
        <ShortcutList />
      </div>
    </Dialog>
  );
}
