import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { t } from "../i18n";
import { Button, IconButton } from "./Button";
import { Layer } from "./layer";

type DialogProps = {
  title: string;
  onClose: () => void;
  children: ReactNode;
  className?: string;
  /** Shows the title to assistive technology alone. */
  bare?: boolean;
};

/** A modal dialog; the browser keeps the focus in it and gives it back. It is open while it is rendered. It stands in the page
 * and not where it is rendered: the looks of a row from which it was opened are not its own.
 * What is marked `data-first` has the focus at first (React's autoFocus comes before the dialog is open), else the
 * title: the browser would choose the button that closes it, and a second Enter, or one that is held, would press it. */
export function Dialog({ title, onClose, children, className = "", bare = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [layer, setLayer] = useState<HTMLElement | null>(null);
  const heading = useId();
  const name = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    setLayer(element);
    if (element && !element.open) {
      element.showModal();
      (element.querySelector<HTMLElement>("[data-first]") ?? name.current)?.focus();
    }
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return createPortal(
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a modal dialog by itself
    <dialog
      ref={dialog}
      className={`dialog ${className}`}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      {bare ? (
        <h2 ref={name} id={heading} tabIndex={-1} className="visually-hidden">
          {title}
        </h2>
      ) : (
        <div className="dialog-head">
          <h2 ref={name} id={heading} tabIndex={-1}>
            {title}
          </h2>
          <IconButton icon={X} label={t("Close")} onClick={onClose} />
        </div>
      )}
      <Layer value={layer}>{children}</Layer>
    </dialog>,
    document.body,
  );
}

type ConfirmProps = {
  title: string;
  children: ReactNode;
  action: string;
  /** How the button looks that does it: `danger` if it is for good. */
  look?: "fault" | "danger";
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before something that cannot be undone; keeping things as they are is what Enter does. */
export function Confirm(props: ConfirmProps) {
  const { title, children, action, look = "danger", onConfirm, onClose } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="body">
        {children}
        <div className="actions">
          <Button data-first onClick={onClose}>
            {t("Keep")}
          </Button>
          <Button
            look={look}
            onClick={() => {
              onClose();
              onConfirm();
            }}
          >
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
