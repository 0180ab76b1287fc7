import { useState } from "react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";

type RenameProps = { title: string; onRename: (title: string) => void; onClose: () => void };

export function RenameDialog({ title, onRename, onClose }: RenameProps) {
  const [name, setName] = useState(title);
  return (
    <Dialog title={t("Rename the artifact")} onClose={onClose}>
      <form
        className="body"
        onSubmit={(event) => {
          event.preventDefault();
          onClose();
          onRename(name);
        }}
      >
        <input
          data-first
          aria-label={t("Title")}
          value={name}
          maxLength={160}
          required
          onChange={(event) => setName(event.target.value)}
        />
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={!name.trim()}>
            {t("Rename")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
