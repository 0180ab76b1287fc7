import { ChevronDown, FolderUp, Link2, NotebookPen, Upload } from "lucide-react";
import { type ChangeEvent, useRef, useState } from "react";
import { documentsApi } from "../../api/documents";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Menu } from "../../kit/Popover";
import { useApp } from "../../services/context";
import { fitFiles } from "./dropped";
import { FieldDialog } from "./FieldDialog";

/** Has the browser ask for a folder; not a part of HTML, but all of them know it. */
const wholeFolder = { webkitdirectory: "" };

type AddProps = { collection: string | null; onFiles: (files: File[], hidden: number) => void };

/** All ways to add documents beside dropping them. */
export function AddDocuments({ collection, onFiles }: AddProps) {
  const { documentNews, toasts } = useApp();
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const [asked, setAsked] = useState<"address" | "text" | null>(null);
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    const fit = fitFiles(target.files ?? []);
    onFiles(fit.files, fit.hidden);
    // The same files can be chosen again.
    target.value = "";
  };
  const added = async (name: string) => {
    toasts.show(t("Added “{name}”", { name }));
    await documentNews.tell();
  };
  const close = () => setAsked(null);
  const hidden = { type: "file", hidden: true, multiple: true, tabIndex: -1, onChange: choose };
  return (
    <>
      <Button data-fold look="primary" icon={Upload} onClick={() => files.current?.click()}>
        {t("Add files")}
      </Button>
      <Menu
        icon={ChevronDown}
        label={t("More ways to add")}
        items={[
          { label: t("Add a folder"), icon: FolderUp, run: () => folder.current?.click() },
          { label: t("Add a web address"), icon: Link2, run: () => setAsked("address") },
          { label: t("Write a text"), icon: NotebookPen, run: () => setAsked("text") },
        ]}
      />
      <input ref={files} {...hidden} aria-label={t("Files to add")} />
      <input ref={folder} {...hidden} {...wholeFolder} aria-label={t("Folder to add")} />
      {asked === "address" && (
        <FieldDialog
          title={t("Add a web address")}
          label={t("Address")}
          action={t("Add")}
          hint={t("Bethink fetches the page or file once, and keeps it as it is now.")}
          onDone={async (url) => {
            const { name } = await documentsApi.addAddress({ url, collection });
            await added(name);
          }}
          onClose={close}
        />
      )}
      {asked === "text" && (
        <FieldDialog
          title={t("Write a text")}
          label={t("Text; its first line is its name")}
          action={t("Add")}
          lines={10}
          onDone={async (text) => {
            const line = text.split("\n", 1)[0] ?? "";
            const name = line.replace(/^#+\s*/, "").slice(0, 80) || t("Note");
            await documentsApi.addText({ name: `${name}.md`, text, collection });
            await added(name);
          }}
          onClose={close}
        />
      )}
    </>
  );
}
