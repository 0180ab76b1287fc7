import { download, fileNameOf } from "../../answer/download";
import { type Artifact, type ArtifactShown, artifactsApi } from "../../api/artifacts";
import { t } from "../../i18n";
import { useApp } from "../../services/context";

/** Has the browser keep the text of an artifact. */
export function downloadArtifact({ title, format, language, content }: Artifact): void {
  const stem = title.replace(/[^\p{L}\p{N} _-]+/gu, "").trim() || "artifact";
  download(fileNameOf(format === "code" ? language : format, stem), content);
}

/** What can be done with an artifact wherever it stands; `changed` is called after each change. */
export function useArtifactActions(changed: () => unknown) {
  const { toasts } = useApp();
  const attempt = async (act: () => Promise<unknown>) => {
    try {
      await act();
      await changed();
    } catch (error) {
      toasts.fault(error);
    }
  };
  const put = (id: string, trashed: boolean) => artifactsApi.change(id, { trashed });
  return {
    rename: (id: string, title: string) => attempt(() => artifactsApi.change(id, { title })),
    save: (id: string) => attempt(async () => downloadArtifact(await artifactsApi.get(id))),
    remove: ({ id, title }: ArtifactShown) =>
      attempt(async () => {
        await put(id, true);
        toasts.show(t("“{title}” was deleted", { title }), {
          label: t("Undo"),
          run: () => void attempt(() => put(id, false)),
        });
      }),
  };
}
