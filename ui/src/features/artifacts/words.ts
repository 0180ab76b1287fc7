import { t } from "../../i18n";
import type { PaneFormat } from "../../services/pane";

/** What a format is called. */
export function formatName(format: PaneFormat): string {
  return {
    html: t("Page"),
    svg: t("Drawing"),
    markdown: t("Document"),
    mermaid: t("Diagram"),
    csv: t("Table"),
    code: t("Code"),
  }[format];
}
