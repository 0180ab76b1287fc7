// What is asked before documents change: a name, a place, tags, whether they go.
import { useState } from "react";
import type { Collection, Document } from "../../api/documents";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Confirm, Dialog } from "../../kit/Dialog";
import { SelectField } from "../../kit/Select";
import { bytes } from "../../services/words";
import { FieldDialog } from "./FieldDialog";
import type { DocumentActions } from "./useDocumentActions";
import { placesIn } from "./words";

export type Asked = { what: "rename" | "move" | "tag" | "remove"; of: readonly Document[] };

type DialogsProps = {
  asked: Asked | null;
  collections: readonly Collection[];
  actions: DocumentActions;
  onClose: () => void;
  onRemoved?: (() => void) | undefined;
};

const wordsOf = (text: string) => [
  ...new Set(
    text
      .split(",")
      .map((word) => word.trim())
      .filter(Boolean),
  ),
];

export function DocumentDialogs({ asked, collections, actions, onClose, onRemoved }: DialogsProps) {
  if (!asked) return null;
  const { of } = asked;
  const [first] = of;
  if (!first) return null;
  switch (asked.what) {
    case "rename":
      return (
        <FieldDialog
          title={t("Rename")}
          label={t("Name")}
          action={t("Rename")}
          value={first.name}
          onDone={async (name) => void (name !== first.name && (await actions.rename(first, name)))}
          onClose={onClose}
        />
      );
    case "move":
      return <MoveDialog of={of} collections={collections} actions={actions} onClose={onClose} />;
    case "tag":
      return <TagDialog of={of} actions={actions} onClose={onClose} />;
    case "remove":
      return (
        <RemoveDialog
          of={of}
          onClose={onClose}
          onConfirm={async () => void ((await actions.remove(of)) && onRemoved?.())}
        />
      );
  }
}

function MoveDialog({
  of,
  collections,
  actions,
  onClose,
}: Pick<DialogsProps, "collections" | "actions" | "onClose"> & Pick<Asked, "of">) {
  const [to, setTo] = useState(of[0]?.collection?.id ?? "");
  return (
    <Dialog
      title={
        of.length === 1
          ? t("Move")
          : t("Move {count}", {
              count: t("{count, plural, one {# document} other {# documents}}", {
                count: of.length,
              }),
            })
      }
      onClose={onClose}
    >
      <form
        className="body"
        onSubmit={(event) => {
          event.preventDefault();
          onClose();
          void actions.move(of, collections.find(({ id }) => id === to) ?? null);
        }}
      >
        <SelectField
          label={t("Collection")}
          isFirst
          value={to}
          options={placesIn(collections)}
          onChange={setTo}
        />
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit">
            {t("Move")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Tags that all of them have can be changed; others of single documents stay. */
function TagDialog({
  of,
  actions,
  onClose,
}: Pick<DialogsProps, "actions" | "onClose"> & Pick<Asked, "of">) {
  const shared = (of[0]?.tags ?? []).filter((tag) => of.every(({ tags }) => tags.includes(tag)));
  return (
    <FieldDialog
      title={
        of.length === 1
          ? t("Tags")
          : t("Tags of {count}", {
              count: t("{count, plural, one {# document} other {# documents}}", {
                count: of.length,
              }),
            })
      }
      label={t("Tags, with commas between them")}
      action={t("Save")}
      value={shared.join(", ")}
      optional
      hint={
        of.length === 1
          ? t("For example: tax, 2026")
          : t("These are the tags that all of them have. Other tags stay as they are.")
      }
      onDone={async (text) => {
        const wanted = wordsOf(text);
        const gone = shared.filter((tag) => !wanted.includes(tag));
        const isSame = !gone.length && wanted.length === shared.length;
        if (!isSame) await actions.tag(of, wanted, gone);
      }}
      onClose={onClose}
    />
  );
}

function RemoveDialog({
  of,
  onConfirm,
  onClose,
}: Pick<Asked, "of"> & { onConfirm: () => void; onClose: () => void }) {
  const [first] = of;
  if (!first) return null;
  const size = of.reduce((sum, document) => sum + document.size, 0);
  const pages = of.reduce((sum, document) => sum + document.pages, 0);
  const older = of.reduce((sum, { versions }) => sum + Math.max(0, versions.length - 1), 0);
  const watched = of.some(({ folder }) => folder);
  const one = of.length === 1;
  const goes = [
    one
      ? t("its file ({size})", { size: bytes(size) })
      : t("their files ({size})", { size: bytes(size) }),
    pages > 0 ? t("{count, plural, one {# page} other {# pages}} of text", { count: pages }) : "",
    older > 0
      ? t("{count, plural, one {# older version} other {# older versions}}", { count: older })
      : "",
  ].filter(Boolean);
  return (
    <Confirm
      title={
        one
          ? t("Remove “{name}”?", { name: first.name })
          : t("Remove {count}?", {
              count: t("{count, plural, one {# document} other {# documents}}", {
                count: of.length,
              }),
            })
      }
      action={t("Remove")}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>
        {t("Bethink deletes {what}. This cannot be undone.", { what: goes.join(", ") })}{" "}
        {t("Answers that quoted from there stay as they are.")}
      </p>
      {watched && (
        <p>
          {one ? t("It comes from a watched folder.") : t("Some come from a watched folder.")}{" "}
          {t("The file in the folder is not touched, and is added again when it changes.")}
        </p>
      )}
    </Confirm>
  );
}
