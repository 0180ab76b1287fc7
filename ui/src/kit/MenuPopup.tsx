import { Menu } from "@base-ui/react/menu";
import { Check, ChevronRight } from "lucide-react";
import { useEffect, useRef } from "react";
import { flushSync } from "react-dom";
import styles from "./floating.module.css";
import { useLayer } from "./layer";
import type { Anchor, MenuItem, MenuItems } from "./Popover";
import { Keys } from "./pieces";
import { useBack } from "./useBack";

type MenuPopupProps = { anchor: Anchor; label: string; items: MenuItems; onClose: () => void };

/** The open list of actions; it is open while it is rendered. */
export default function MenuPopup({ anchor, label, items, onClose }: MenuPopupProps) {
  const layer = useLayer();
  const back = useBack(anchor);
  const all = typeof items === "function" ? items() : items;
  const popup = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The library itself gives the focus to the menu first.
    const frame = requestAnimationFrame(() =>
      popup.current?.querySelector<HTMLElement>("[role^=menuitem]")?.focus(),
    );
    return () => cancelAnimationFrame(frame);
  }, []);
  const choose = (item: MenuItem) => {
    // It is gone before what it opens is there, which gives the focus back to where it was.
    flushSync(onClose);
    back.current?.focus({ preventScroll: true });
    item.run?.();
  };
  return (
    <Menu.Root
      open
      modal={false}
      onOpenChange={(open, { event, reason }) => {
        const isOnButton = back.current?.contains(event.target as Node | null);
        // A press on its own button is that button's.
        if (open || (reason === "outside-press" && isOnButton)) return;
        if (reason !== "item-press") onClose();
        if (reason === "escape-key") back.current?.focus({ preventScroll: true });
      }}
    >
      <Menu.Portal {...(layer ? { container: layer } : {})}>
        <Menu.Positioner
          anchor={anchor}
          align={"current" in anchor ? "end" : "start"}
          sideOffset={4}
          collisionPadding={8}
          className={styles.floating}
        >
          <Menu.Popup ref={popup} className={styles.popup} aria-label={label} finalFocus={back}>
            <Items items={all} onChoose={choose} />
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

type ItemsProps = { items: readonly MenuItem[]; onChoose: (item: MenuItem) => void };

function Items({ items, onChoose }: ItemsProps) {
  const layer = useLayer();
  return items.map((item) => (
    <div key={item.label} role="presentation">
      {item.apart && <Menu.Separator className={styles.line} />}
      {item.items ? (
        <Menu.SubmenuRoot>
          <Menu.SubmenuTrigger className={styles.item} disabled={item.disabled ?? false}>
            <Face item={item} />
            <ChevronRight size={14} aria-hidden className={styles.onward} />
          </Menu.SubmenuTrigger>
          <Menu.Portal {...(layer ? { container: layer } : {})}>
            <Menu.Positioner sideOffset={2} collisionPadding={8} className={styles.floating}>
              <Menu.Popup className={styles.popup}>
                <Items items={item.items} onChoose={onChoose} />
              </Menu.Popup>
            </Menu.Positioner>
          </Menu.Portal>
        </Menu.SubmenuRoot>
      ) : item.checked === undefined ? (
        <Menu.Item
          className={`${styles.item} ${item.fault ? styles.fault : ""}`}
          disabled={item.disabled ?? false}
          onClick={() => onChoose(item)}
        >
          <Face item={item} />
        </Menu.Item>
      ) : (
        <Menu.CheckboxItem
          className={styles.item}
          checked={item.checked}
          closeOnClick
          disabled={item.disabled ?? false}
          onClick={() => onChoose(item)}
        >
          <Face item={item} />
          {item.checked && <Check size={14} aria-hidden className={styles.onward} />}
        </Menu.CheckboxItem>
      )}
    </div>
  ));
}

function Face({ item }: { item: MenuItem }) {
  const { icon: Icon, label, combo } = item;
  return (
    <>
      {Icon && <Icon size={16} aria-hidden />}
      <span className={styles.words}>{label}</span>
      {combo && (
        <span aria-hidden>
          <Keys combo={combo} />
        </span>
      )}
    </>
  );
}
