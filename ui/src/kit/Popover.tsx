import type { LucideIcon } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { IconButton } from "./Button";

type PopoverProps = {
  /** What the button shows. */
  face: ReactNode;
  label: string;
  className?: string;
  children: () => ReactNode;
};

/** A button that opens a small note beside it; its content is made when it is first opened. */
export function Popover({ face, label, className = "chip", children }: PopoverProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} popoverTarget={id} aria-expanded={open}>
        {face}
      </button>
      <div
        id={id}
        popover="auto"
        className="popover"
        role="dialog"
        aria-label={label}
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {open && children()}
      </div>
    </>
  );
}

export type MenuItem = { label: string; icon: LucideIcon; run: () => void; fault?: boolean };

/** A button that opens a list of actions, moved in with the arrow keys. */
export function Menu(props: {
  icon: LucideIcon;
  label: string;
  items: readonly MenuItem[];
  size?: number;
}) {
  const { icon, label, items, size = 18 } = props;
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const buttons = () => [...(menu.current?.querySelectorAll("button") ?? [])];
  const move = (event: KeyboardEvent) => {
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    all.at(to % all.length)?.focus();
  };
  return (
    <>
      <IconButton
        icon={icon}
        label={label}
        size={size}
        popoverTarget={id}
        aria-haspopup="menu"
        aria-expanded={open}
      />
      <div
        ref={menu}
        id={id}
        popover="auto"
        className="popover end"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        onKeyDown={move}
        onToggle={(event) => {
          setOpen(event.newState === "open");
          if (event.newState === "open") buttons()[0]?.focus();
        }}
      >
        {items.map(({ label: text, icon: Icon, run, fault }) => (
          <button
            key={text}
            type="button"
            role="menuitem"
            tabIndex={-1}
            className={`menu-item ${fault ? "fault" : ""}`}
            onClick={() => {
              menu.current?.hidePopover();
              run();
            }}
          >
            <Icon size={16} aria-hidden />
            {text}
          </button>
        ))}
      </div>
    </>
  );
}
