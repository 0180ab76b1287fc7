// Buttons that open what floats. What floats is loaded, and made, when it is first opened: a list of hundreds of
// rows with a menu each is hundreds of buttons and no menu.
import type { LucideIcon } from "lucide-react";
import {
  lazy,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  Suspense,
  useRef,
  useState,
} from "react";
import { IconButton } from "./Button";

const MenuPopup = lazy(() => import("./MenuPopup"));
const PopoverPopup = lazy(() => import("./PopoverPopup"));

export type MenuItem = {
  label: string;
  icon?: LucideIcon;
  run?: () => void;
  /** It takes something away. */
  fault?: boolean;
  disabled?: boolean;
  /** One of several that is chosen or not. */
  checked?: boolean;
  /** The shortcut that does the same. */
  combo?: string;
  /** A line stands above it. */
  apart?: boolean;
  /** Opens these beside it. */
  items?: readonly MenuItem[];
};
export type MenuItems = readonly MenuItem[] | (() => readonly MenuItem[]);

/** Where something floats: at an element, or at a point of the window. */
export type Anchor = RefObject<HTMLElement | null> | { getBoundingClientRect: () => DOMRect };

type PopoverProps = {
  /** What the button shows. */
  face: ReactNode;
  label: string;
  className?: string | undefined;
  children: (close: () => void) => ReactNode;
};

/** A button that opens a small note beside it; its content is made when it is opened. */
export function Popover({ face, label, className = "chip", children }: PopoverProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {face}
      </button>
      {open && (
        <Suspense fallback={null}>
          <PopoverPopup anchor={button} label={label} onClose={() => setOpen(false)}>
            {children(() => setOpen(false))}
          </PopoverPopup>
        </Suspense>
      )}
    </>
  );
}

/** A button that opens a list of actions, moved in with the arrow keys or by typing. */
export function Menu(props: {
  icon: LucideIcon;
  label: string;
  items: MenuItems;
  size?: number;
  className?: string;
}) {
  const { icon, label, items, size = 18, className } = props;
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  return (
    <>
      <IconButton
        ref={button}
        icon={icon}
        label={label}
        size={size}
        {...(className ? { className } : {})}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          setOpen(true);
        }}
      />
      {open && (
        <Suspense fallback={null}>
          <MenuPopup anchor={button} label={label} items={items} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/** The same list of actions where somebody asks for it by the right button, the menu key, or a long touch. */
export function useContextMenu(label: string, items: MenuItems) {
  const [at, setAt] = useState<Anchor | null>(null);
  const onContextMenu = (event: MouseEvent<HTMLElement>) => {
    const words = getSelection()?.toString();
    // Words that are marked have the browser's own menu.
    if (words || event.shiftKey) return;
    event.preventDefault();
    const box = event.currentTarget.getBoundingClientRect();
    // By the keyboard it comes without a point.
    const point =
      event.clientX || event.clientY
        ? new DOMRect(event.clientX, event.clientY, 0, 0)
        : new DOMRect(box.left + 8, box.bottom, 0, 0);
    setAt({ getBoundingClientRect: () => point });
  };
  const menu = at && (
    <Suspense fallback={null}>
      <MenuPopup anchor={at} label={label} items={items} onClose={() => setAt(null)} />
    </Suspense>
  );
  return { onContextMenu, menu };
}
