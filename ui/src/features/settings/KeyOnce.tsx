import { Copy } from "lucide-react";
import { useEffect, useId, useRef } from "react";
import { useCopy } from "../../answer/useCopy";
import type { KeyMade } from "../../api/types";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import styles from "./Keys.module.css";

/** A new key's text: it stays until its reader says that they have it, and is nowhere afterwards. */
export function KeyOnce({ made, onDone }: { made: KeyMade; onDone: () => void }) {
  const copy = useCopy();
  const place = useRef<HTMLElement>(null);
  const heading = useId();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a second key is told of like the first
  useEffect(() => place.current?.focus(), [made.id]);
  return (
    <section ref={place} tabIndex={-1} className={styles.once} aria-labelledby={heading}>
      <Notice tone="ask">
        <strong id={heading}>{t("The key “{name}”", { name: made.name })}</strong>
        <span>{t("It is shown only once. Copy it now; it cannot be shown again.")}</span>
        <span className={styles.text}>
          <code>{made.key}</code>
          <IconButton
            icon={Copy}
            size={15}
            label={t("Copy the key")}
            onClick={() => copy(made.key, t("Key copied"))}
          />
        </span>
        <span>
          <Button onClick={onDone}>{t("Done")}</Button>
        </span>
      </Notice>
    </section>
  );
}
