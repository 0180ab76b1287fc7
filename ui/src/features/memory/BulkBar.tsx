// What can be done with all that are selected, in one step each.
import { Eraser, Pin, PinOff, Undo2, X } from "lucide-react";
import { useState } from "react";
import { locale, t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { Select } from "../../kit/Select";
import { ForgetDialog } from "./ForgetDialog";
import styles from "./memory.module.css";
import type { MemoryActions } from "./useMemoryActions";
import { categoryName, taught } from "./words";

type BarProps = { ids: readonly string[]; actions: MemoryActions; onDone: () => void };

export function BulkBar({ ids, actions, onDone }: BarProps) {
  const [forgetting, setForgetting] = useState(false);
  const change = (edit: Parameters<MemoryActions["batch"]>[1]) =>
    void actions.batch(ids, edit).then((done) => done && onDone());
  return (
    <section className={styles.bulk} aria-label={t("What is selected")}>
      <strong role="status">
        {t("{count} selected", { count: ids.length.toLocaleString(locale()) })}
      </strong>
      <Select
        label={t("Category of these")}
        look="quiet"
        value=""
        face={t("Category")}
        options={taught.map((value) => ({ value, label: categoryName(value) }))}
        onChange={(category) => change({ category })}
      />
      <IconButton icon={Pin} label={t("Pin these")} onClick={() => change({ pinned: true })} />
      <IconButton
        icon={PinOff}
        label={t("Unpin these")}
        onClick={() => change({ pinned: false })}
      />
      <IconButton
        icon={Undo2}
        label={t("Retract these")}
        combo="x"
        onClick={() => change({ retract: true })}
      />
      <IconButton
        icon={Eraser}
        label={t("Forget these for good")}
        className="fault"
        onClick={() => setForgetting(true)}
      />
      <IconButton icon={X} label={t("Select none")} onClick={onDone} />
      {forgetting && (
        <ForgetDialog
          given={{ ids: [...ids] }}
          onClose={() => {
            setForgetting(false);
            onDone();
          }}
        />
      )}
    </section>
  );
}
