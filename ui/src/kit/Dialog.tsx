import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button, IconButton } from "./Button";

type DialogProps = {
  title: string;
  onClose: () => void;
  children: ReactNode;
  className?: string;
  /** Shows the title to assistive technology alone. */
  bare?: boolean;
};

/** A modal dialog; the browser keeps the focus in it and gives it back. It is open while it is rendered.
 * What is marked `data-first` has the focus at first (React's autoFocus comes before the dialog is open), else the
 * title: the browser would choose the button that closes it, and a second Enter, or one that is held, would press it. */
export function Dialog({ title, onClose, children, className = "", bare = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const name = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    if (element && !element.open) {
      element.showModal();
      (element.querySelector<HTMLElement>("[data-first]") ?? name.current)?.focus();
    }
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
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
        <header>
          <h2 ref={name} id={heading} tabIndex={-1}>
            {title}
          </h2>
          <IconButton icon={X} label="Close" onClick={onClose} />
        </header>
      )}
      {children}
    </dialog>
  );
}

type ConfirmProps = {
  title: string;
  children: ReactNode;
  action: string;
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before something that cannot be undone; keeping things as they are is what Enter does. */
export function Confirm({ title, children, action, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="body">
        {children}
        <div className="actions">
          <Button data-first onClick={onClose}>
            Keep
          </Button>
          <Button
            look="fault"
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
