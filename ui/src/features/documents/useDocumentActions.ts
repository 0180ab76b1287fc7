import { type Document, type DocumentEdit, documentsApi } from "../../api/documents";
import { t } from "../../i18n";
import { useApp } from "../../services/context";

const named = (documents: readonly Document[]) =>
  documents.length === 1 && documents[0]
    ? `“${documents[0].name}”`
    : t("{count, plural, one {# document} other {# documents}}", { count: documents.length });

/** Changes of documents, each with a receipt and, where that can be, its undo. */
export function useDocumentActions() {
  const { toasts, documentNews } = useApp();
  /** True when it was done. What was done before a failure is shown as it is. */
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      toasts.fault(error);
      return false;
    } finally {
      await documentNews.tell();
    }
  };
  const edit = (
    documents: readonly Document[],
    how: (document: Document) => DocumentEdit,
    receipt: string,
  ) =>
    attempt(async () => {
      for (const document of documents) await documentsApi.edit(document.id, how(document));
      const undo = () =>
        void attempt(async () => {
          for (const { id, name, collection, tags } of documents) {
            await documentsApi.edit(id, { name, collection: collection?.id ?? null, tags });
          }
        });
      toasts.show(receipt, { label: t("Undo"), run: undo });
    });
  return {
    rename: (document: Document, name: string) =>
      edit([document], () => ({ name }), t("Renamed to “{name}”", { name })),
    move: (documents: readonly Document[], to: { id: string; name: string } | null) =>
      edit(
        documents,
        () => ({ collection: to?.id ?? null }),
        to
          ? t("Moved {named} to {name}", { named: named(documents), name: to.name })
          : t(
              "{count, plural, one {Took {named} out of its collection} other {Took {named} out of their collections}}",
              {
                named: named(documents),
                count: documents.length,
              },
            ),
      ),
    tag: (documents: readonly Document[], add: readonly string[], remove: readonly string[]) =>
      edit(
        documents,
        ({ tags }) => ({
          tags: [...new Set([...tags.filter((tag) => !remove.includes(tag)), ...add])],
        }),
        t("Changed the tags of {named}", { named: named(documents) }),
      ),
    remove: (documents: readonly Document[]) =>
      attempt(async () => {
        for (const { id } of documents) await documentsApi.remove(id);
        toasts.show(t("Removed {named}", { named: named(documents) }));
      }),
    cancel: ({ id }: Document) => attempt(async () => void (await documentsApi.cancel(id))),
    retry: ({ id }: Document) => attempt(async () => void (await documentsApi.retry(id))),
  };
}

export type DocumentActions = ReturnType<typeof useDocumentActions>;
