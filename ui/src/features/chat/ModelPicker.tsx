import { Bot, ChevronDown, Sparkles } from "lucide-react";
import { lazy, Suspense, useRef, useState } from "react";
import { t } from "../../i18n";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { chosenIn } from "./InstructionsDialog";
import styles from "./ModelPicker.module.css";
import { shortModel } from "./modelWords";

const PopoverPopup = lazy(() => import("../../kit/PopoverPopup"));
const ModelList = lazy(() => import("./ModelList"));

type PickerProps = { session: Session; view: SessionView };

/** Who answers here, and a way to have another one do so. */
export function ModelPicker({ session, view }: PickerProps) {
  const { health, toasts } = useApp();
  const { settings } = useStore(health.store);
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const { model, system } = chosenIn(view);
  const shown = model ?? settings?.model ?? null;
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const choose = (name: string | null) => {
    close();
    if (name !== model) session.settle({ model: name, system }).catch(toasts.fault);
  };
  if (settings === null) return null;
  const isAssistant = shown !== null && !shown.includes(":");
  const Icon = isAssistant ? Sparkles : Bot;
  return (
    <>
      <button
        ref={button}
        type="button"
        className={styles.button}
        aria-haspopup="dialog"
        aria-expanded={open}
        data-tip={shown ?? undefined}
        onClick={() => setOpen(!open)}
      >
        <Icon size={15} strokeWidth={1.75} aria-hidden />
        <span className="visually-hidden">{t("Model")}: </span>
        <span className="clip">{shown ? shortModel(shown) : t("No model")}</span>
        <ChevronDown size={13} aria-hidden />
      </button>
      {open && (
        <Suspense fallback={null}>
          <PopoverPopup anchor={button} label={t("Who answers")} onClose={() => setOpen(false)}>
            <ModelList chosen={model} onChoose={choose} />
          </PopoverPopup>
        </Suspense>
      )}
    </>
  );
}
