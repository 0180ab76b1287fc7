import { ArrowUp, Paperclip, Square } from "lucide-react";
import { useRef } from "react";
import { IconButton } from "../../kit/Button";
import { Keys } from "../../kit/pieces";
import type { SessionView } from "../../run/view";

type FootProps = {
  view: SessionView;
  /** What to know before it is sent; null where there is nothing. */
  hint: string | null;
  empty: boolean;
  onFiles: (files: readonly File[]) => void;
  onStop: () => void;
};

function Attach({ onFiles }: Pick<FootProps, "onFiles">) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton
        icon={Paperclip}
        size={16}
        label="Attach files"
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        tabIndex={-1}
        aria-label="Files to attach"
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </>
  );
}

/** What stands below the field: files, hints, stop and send. */
export function ComposerFoot({ view, hint, empty, onFiles, onStop }: FootProps) {
  return (
    <div className="composer-foot">
      <Attach onFiles={onFiles} />
      {hint ? (
        <span className="held" role="status">
          {hint}
        </span>
      ) : (
        <span className="hint">
          <kbd>/</kbd> commands
        </span>
      )}
      <span className="gap" />
      {view.running && (
        <>
          <span className="hint">
            <Keys combo="mod+." />
          </span>
          <IconButton
            icon={Square}
            size={14}
            className="stop"
            label={view.stopping ? "Stopping…" : "Stop the answer"}
            disabled={view.stopping}
            onClick={onStop}
          />
        </>
      )}
      {(!view.running || !empty) && (
        <IconButton
          icon={ArrowUp}
          className="send"
          type="submit"
          label={view.running ? "Send when this answer ends" : "Send"}
          disabled={empty}
        />
      )}
    </div>
  );
}
