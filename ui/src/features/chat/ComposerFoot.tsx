import { ArrowUp, Mic, Paperclip, Square } from "lucide-react";
import { useRef } from "react";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { Keys } from "../../kit/pieces";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import styles from "./Composer.module.css";
import { ModelPicker } from "./ModelPicker";

type FootProps = {
  session: Session;
  view: SessionView;
  /** What to know before it is sent; null where there is nothing. */
  hint: string | null;
  empty: boolean;
  onFiles: (files: readonly File[]) => void;
  onDictate: () => void;
  onStop: () => void;
};

function Attach({ onFiles }: Pick<FootProps, "onFiles">) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton
        icon={Paperclip}
        size={16}
        label={t("Attach files")}
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        tabIndex={-1}
        aria-label={t("Files to attach")}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </>
  );
}

/** What can be named by which sign; nothing beside something that has to be known. */
function Signs() {
  // They stand behind who answers, and come with it.
  if (useStore(useApp().health.store).settings === null) return null;
  return (
    <span className={styles.hint} aria-hidden>
      <kbd>/</kbd> {t("prompts")} <kbd>@</kbd> {t("files")} <kbd>#</kbd> {t("pages")}
    </span>
  );
}

/** Whether anything of this browser can hear. */
const canHear = (): boolean =>
  Boolean(navigator.mediaDevices?.getUserMedia) || "webkitSpeechRecognition" in globalThis;

/** What stands below the field: files, who answers, hints, the microphone, stop and send. */
export function ComposerFoot(props: FootProps) {
  const { session, view, hint, empty, onFiles, onDictate, onStop } = props;
  return (
    <div className={styles.foot}>
      <Attach onFiles={onFiles} />
      <ModelPicker session={session} view={view} />
      {hint ? (
        <span className={styles.held} role="status">
          {hint}
        </span>
      ) : (
        !view.running && <Signs />
      )}
      <span className="gap" />
      {view.running && (
        <span className={styles.hint}>
          <Keys combo="mod+." />
        </span>
      )}
      {canHear() && <IconButton icon={Mic} size={16} label={t("Dictate")} onClick={onDictate} />}
      {view.running && (
        <IconButton
          icon={Square}
          size={14}
          className={styles.stop ?? ""}
          label={view.stopping ? t("Stopping…") : t("Stop the answer")}
          disabled={view.stopping}
          onClick={onStop}
        />
      )}
      {(!view.running || !empty) && (
        <IconButton
          icon={ArrowUp}
          className={styles.send ?? ""}
          type="submit"
          label={view.running ? t("Send when this answer ends") : t("Send")}
          disabled={empty}
        />
      )}
    </div>
  );
}
