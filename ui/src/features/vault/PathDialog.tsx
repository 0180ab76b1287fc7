import { type FormEvent, useState } from "react";
import { asProblem } from "../../api/client";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";

type PathProps = {
  title: string;
  label: string;
  action: string;
  value: string;
  hint: string;
  /** Does it; what it throws is told here, and what was typed stays. */
  onDone: (path: string) => Promise<void>;
  onClose: () => void;
};

/** Asks where a page should stand. */
export function PathDialog({ title, label, action, value, hint, onDone, onClose }: PathProps) {
  const [path, setPath] = useState(value);
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const name = path.trim().replace(/^\/+/, "");
  const done = async (event: FormEvent) => {
    event.preventDefault();
    if (!name || busy) return;
    setBusy(true);
    try {
      await onDone(/\.md$/i.test(name) ? name : `${name}.md`);
    } catch (error) {
      const problem = asProblem(error);
      setWhy(problem.detail || problem.title);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="body" onSubmit={(event) => void done(event)}>
        <label className="field">
          {label}
          <input
            data-first
            className="input"
            value={path}
            spellCheck={false}
            autoCapitalize="none"
            aria-describedby="path-hint"
            aria-invalid={why ? true : undefined}
            onChange={(event) => {
              setPath(event.target.value);
              setWhy("");
            }}
          />
        </label>
        <p id="path-hint" className="small" role={why ? "alert" : undefined}>
          {why || hint}
        </p>
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={!name || busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
