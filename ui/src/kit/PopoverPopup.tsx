import { Popover } from "@base-ui/react/popover";
import type { ReactNode } from "react";
import styles from "./floating.module.css";
import { useLayer } from "./layer";
import type { Anchor } from "./Popover";
import { useBack } from "./useBack";

type PopoverPopupProps = {
  anchor: Anchor;
  label: string;
  onClose: () => void;
  children: ReactNode;
};

/** An open note beside what it tells of; it is open while it is rendered. */
export default function PopoverPopup({ anchor, label, onClose, children }: PopoverPopupProps) {
  const layer = useLayer();
  const back = useBack(anchor);
  return (
    <Popover.Root
      open
      onOpenChange={(open, { event, reason }) => {
        const isOnButton = back.current?.contains(event.target as Node | null);
        if (open || (reason === "outside-press" && isOnButton)) return;
        onClose();
        if (reason === "escape-key") back.current?.focus({ preventScroll: true });
      }}
    >
      <Popover.Portal {...(layer ? { container: layer } : {})}>
        <Popover.Positioner
          anchor={anchor}
          align="start"
          sideOffset={6}
          collisionPadding={8}
          className={styles.floating}
        >
          <Popover.Popup
            className={`${styles.popup} ${styles.note} scroll`}
            aria-label={label}
            finalFocus={back}
          >
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
