import { useState } from "react";
import { t } from "../i18n";
import { useApp } from "../services/context";

/** Copies text and says so; a browser that refuses (an address without https) is told plainly. */
export function useCopy() {
  const { toasts } = useApp();
  return (text: string, said: string) => {
    const refused = () =>
      toasts.show(t("The browser blocked copying. Select the text and copy it yourself."));
    if (!navigator.clipboard) return refused();
    navigator.clipboard.writeText(text).then(() => toasts.show(said), refused);
  };
}

const COPIED_MS = 1500;

/** Copies text; `copied` is true for a moment then, for a button that says it itself. */
export function useCopied() {
  const { toasts } = useApp();
  const [copied, setCopied] = useState(false);
  const copy = (text: string) => {
    const refused = () =>
      toasts.show(t("The browser blocked copying. Select the text and copy it yourself."));
    const done = () => {
      setCopied(true);
      setTimeout(() => setCopied(false), COPIED_MS);
    };
    if (!navigator.clipboard) return refused();
    navigator.clipboard.writeText(text).then(done, refused);
  };
  return { copied, copy };
}
