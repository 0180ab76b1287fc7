import { Brain, FileText, MessageSquareText } from "lucide-react";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import { t } from "../i18n";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { useApp } from "../services/context";
import { type SharedThing, takeShared } from "../services/shell";
import styles from "./incoming.module.css";

/** Asks where something is to go that another program shared with this one. */
export default function Incoming() {
  const { router } = useApp();
  const [thing, setThing] = useState<SharedThing | null>(null);
  useEffect(() => {
    takeShared().then(
      (taken) => (taken ? setThing((now) => now ?? taken) : undefined),
      () => undefined,
    );
  }, []);
  return thing && <Places thing={thing} onClose={() => router.query("shared", null)} />;
}

function Places({ thing, onClose }: { thing: SharedThing; onClose: () => void }) {
  const { router, sessions, documentUploads, memoryNews, toasts } = useApp();
  const { text, files } = thing;
  const chat = () => {
    onClose();
    const session = sessions.of(null);
    session.draft.set([session.draft.get(), text].filter(Boolean).join("\n"));
    session.uploads.add(files);
    router.go("/");
  };
  const remember = async () => {
    onClose();
    try {
      const { memory } = await api.addMemory({ content: text });
      void memoryNews.tell();
      toasts.show(t("Remembered"), {
        label: t("Open"),
        run: () => router.go(`/memory/${memory.id}`),
      });
    } catch (error) {
      toasts.fault(error);
    }
  };
  const keep = () => {
    onClose();
    documentUploads.add(files.map((file) => ({ file })));
    router.go("/documents");
  };
  return (
    <Dialog title={t("Where should it go?")} onClose={onClose}>
      <div className="body">
        {text && <blockquote className={`${styles.text} scroll`}>{text}</blockquote>}
        {files.length > 0 && (
          <ul>
            {files.map((file) => (
              <li key={file.name}>{file.name}</li>
            ))}
          </ul>
        )}
        <div className="actions">
          {files.length > 0 && (
            <Button icon={FileText} onClick={keep}>
              {t("Documents")}
            </Button>
          )}
          {text && files.length === 0 && (
            <Button icon={Brain} onClick={() => void remember()}>
              {t("Memory")}
            </Button>
          )}
          <Button data-first look="primary" icon={MessageSquareText} onClick={chat}>
            {t("New chat")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
