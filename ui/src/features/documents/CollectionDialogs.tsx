// Making, renaming, sharing and removing collections.
import { X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { asProblem } from "../../api/client";
import { type Collection, documentsApi, type Share } from "../../api/documents";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { useApp } from "../../services/context";
import { addressOfDocuments } from "../../services/router";
import styles from "./Documents.module.css";
import { FieldDialog } from "./FieldDialog";

export type AskedCollection =
  | { what: "new" }
  | { what: "rename" | "share" | "remove"; of: Collection };

type DialogsProps = { asked: AskedCollection | null; current: string | null; onClose: () => void };

export function CollectionDialogs({ asked, current, onClose }: DialogsProps) {
  const { router, documentNews } = useApp();
  if (!asked) return null;
  switch (asked.what) {
    case "new":
      return (
        <FieldDialog
          title={t("New collection")}
          label={t("Name")}
          action={t("Create")}
          onDone={async (name) => {
            const { id } = await documentsApi.addCollection({ name });
            await documentNews.tell();
            router.go(addressOfDocuments(id));
          }}
          onClose={onClose}
        />
      );
    case "rename": {
      const { id, name: before } = asked.of;
      return (
        <FieldDialog
          title={t("Rename the collection")}
          label={t("Name")}
          action={t("Rename")}
          value={before}
          onDone={async (name) => {
            await documentsApi.editCollection(id, { name });
            await documentNews.tell();
          }}
          onClose={onClose}
        />
      );
    }
    case "share":
      return <ShareDialog collection={asked.of} onClose={onClose} />;
    case "remove":
      return (
        <RemoveDialog collection={asked.of} isShown={asked.of.id === current} onClose={onClose} />
      );
  }
}

type OneProps = { collection: Collection; onClose: () => void };

function RemoveDialog({ collection, isShown, onClose }: OneProps & { isShown: boolean }) {
  const { router, documentNews, toasts } = useApp();
  const [withAll, setWithAll] = useState(false);
  const { id, name, documents, shares } = collection;
  const remove = async () => {
    onClose();
    try {
      await documentsApi.removeCollection(id, withAll);
      toasts.show(t("Removed the collection “{name}”", { name }));
      if (isShown) router.go("/documents", true);
    } catch (error) {
      toasts.fault(error);
    }
    await documentNews.tell();
  };
  return (
    <Dialog title={t("Remove the collection “{name}”?", { name })} onClose={onClose}>
      <div className="body">
        <p>
          {documents > 0
            ? t(
                "{count, plural, one {Its document stays} other {Its # documents stay}} in your library.",
                {
                  count: documents,
                },
              )
            : t("It is empty.")}
          {shares.length > 0 && ` ${t("Who it is shared with no longer sees it.")}`}
        </p>
        {documents > 0 && (
          <label className="check">
            <input
              type="checkbox"
              checked={withAll}
              onChange={(event) => setWithAll(event.target.checked)}
            />
            {t("Remove its documents, too. This cannot be undone.")}
          </label>
        )}
        <div className="actions">
          <Button data-first onClick={onClose}>
            {t("Keep")}
          </Button>
          <Button look="fault" onClick={() => void remove()}>
            {withAll ? t("Remove all") : t("Remove")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function ShareDialog({ collection, onClose }: OneProps) {
  const { documentNews } = useApp();
  const [shares, setShares] = useState(collection.shares);
  const [user, setUser] = useState("");
  const [writes, setWrites] = useState(false);
  const [why, setWhy] = useState("");
  const attempt = async (act: () => Promise<void>, after: readonly Share[]) => {
    try {
      await act();
      setShares(after);
      setWhy("");
      await documentNews.tell();
      return true;
    } catch (error) {
      const problem = asProblem(error);
      setWhy(problem.detail || problem.title);
      return false;
    }
  };
  const others = (name: string) => shares.filter((share) => share.user !== name);
  const give = (name: string, may: boolean) =>
    attempt(
      () => documentsApi.share(collection.id, name, may),
      [...others(name), { user: name, writes: may }],
    );
  const add = async (event: FormEvent) => {
    event.preventDefault();
    const name = user.trim();
    if (name && (await give(name, writes))) setUser("");
  };
  return (
    <Dialog title={t("Share “{name}”", { name: collection.name })} onClose={onClose}>
      <form className="body" onSubmit={(event) => void add(event)}>
        {shares.length > 0 && (
          <ul className={styles.shares} aria-label={t("Shared with")}>
            {shares.map((share) => (
              <li key={share.user}>
                <span className="clip">{share.user}</span>
                <label className="check">
                  <input
                    type="checkbox"
                    checked={share.writes}
                    aria-label={t("{user} may add documents", { user: share.user })}
                    onChange={(event) => void give(share.user, event.target.checked)}
                  />
                  {t("may add")}
                </label>
                <IconButton
                  icon={X}
                  size={16}
                  label={t("Stop sharing with {user}", { user: share.user })}
                  onClick={() =>
                    void attempt(
                      () => documentsApi.unshare(collection.id, share.user),
                      others(share.user),
                    )
                  }
                />
              </li>
            ))}
          </ul>
        )}
        <label className="field">
          {t("Name of the user")}
          <input
            className="input"
            data-first
            value={user}
            autoCapitalize="none"
            spellCheck={false}
            aria-describedby="share-hint"
            aria-invalid={why ? true : undefined}
            onChange={(event) => {
              setUser(event.target.value);
              setWhy("");
            }}
          />
        </label>
        <label className="check">
          <input
            type="checkbox"
            checked={writes}
            onChange={(event) => setWrites(event.target.checked)}
          />
          {t("May add documents, not only read them")}
        </label>
        <p id="share-hint" className="small" role={why ? "alert" : undefined}>
          {why || t("They find and read its documents; nobody else’s memory is shared.")}
        </p>
        <div className="actions">
          <Button onClick={onClose}>{t("Close")}</Button>
          <Button look="primary" type="submit" disabled={!user.trim()}>
            {t("Share")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
