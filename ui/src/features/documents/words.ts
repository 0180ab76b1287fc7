// How the library names things.
import {
  File,
  FileArchive,
  FileCode2,
  FileImage,
  FileSpreadsheet,
  FileText,
  Globe,
  type LucideIcon,
  Mail,
  Presentation,
} from "lucide-react";
import type { Document, Reading, Stage } from "../../api/documents";
import { bytes, count } from "../../services/words";

const kinds: Record<string, { name: string; icon: LucideIcon }> = {
  pdf: { name: "PDF", icon: FileText },
  docx: { name: "Word", icon: FileText },
  odt: { name: "OpenDocument text", icon: FileText },
  rtf: { name: "Rich text", icon: FileText },
  pptx: { name: "PowerPoint", icon: Presentation },
  odp: { name: "OpenDocument slides", icon: Presentation },
  xlsx: { name: "Excel", icon: FileSpreadsheet },
  xls: { name: "Excel", icon: FileSpreadsheet },
  ods: { name: "OpenDocument sheet", icon: FileSpreadsheet },
  csv: { name: "CSV", icon: FileSpreadsheet },
  tsv: { name: "TSV", icon: FileSpreadsheet },
  epub: { name: "E-book", icon: FileText },
  html: { name: "Web page", icon: Globe },
  eml: { name: "E-mail", icon: Mail },
  msg: { name: "E-mail", icon: Mail },
  email: { name: "E-mail", icon: Mail },
  json: { name: "JSON", icon: FileCode2 },
  code: { name: "Source code", icon: FileCode2 },
  markdown: { name: "Markdown", icon: FileText },
  text: { name: "Text", icon: FileText },
  image: { name: "Picture", icon: FileImage },
  picture: { name: "Picture", icon: FileImage },
  archive: { name: "Archive", icon: FileArchive },
};

export const kindName = (kind: string): string =>
  kind ? (kinds[kind]?.name ?? kind.toUpperCase()) : "";
export const kindIcon = (kind: string): LucideIcon => kinds[kind]?.icon ?? File;

export const stages: readonly { value: Stage; label: string }[] = [
  { value: "ready", label: "Ready" },
  { value: "waiting", label: "Waiting" },
  { value: "reading", label: "Being read" },
  { value: "indexing", label: "Being indexed" },
  { value: "failed", label: "Failed" },
  { value: "cancelled", label: "Cancelled" },
];

const WORKING: readonly Stage[] = ["waiting", "reading", "indexing"];
export const isWorking = ({ stage }: Pick<Reading, "stage">): boolean => WORKING.includes(stage);

/** What is being read of a document: its first version, or the one that replaces it. */
export const currentReading = (document: Document): Reading => document.pending ?? document;

/** How far the reading of a document is, in words; empty once it is ready. */
export function progressWords({ stage, pages, done }: Reading): string {
  switch (stage) {
    case "waiting":
      return "Waiting to be read";
    case "reading":
      return pages > 1
        ? `Reading page ${done.toLocaleString()} of ${pages.toLocaleString()}`
        : "Reading";
    case "indexing":
      return "Indexing";
    case "cancelled":
      return "Cancelled before it was read";
    case "failed":
    case "ready":
      return "";
  }
}

/** What stands under a document's name. */
export function factsOf({ kind, pages, stage }: Document): string[] {
  return [kindName(kind), stage === "ready" && pages > 1 ? count(pages, "page") : ""].filter(
    Boolean,
  );
}

const origins: Record<string, string> = {
  upload: "Uploaded",
  url: "Fetched from",
  folder: "From the watched folder",
  text: "Written or sent as text",
  import: "From a knowledge base",
};
export const originName = (kind: string): string => origins[kind] ?? kind;

/** A size beyond megabytes, too. */
export const roomOf = (size: number): string =>
  size < 1_000_000_000 ? bytes(size) : `${(size / 1_000_000_000).toFixed(1)} GB`;
