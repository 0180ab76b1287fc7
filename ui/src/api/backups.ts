// Backups of everything: which there are, and making one.
import type { BackupShown, BackupsShown } from "../contract/openapi";
import { json } from "./client";

export type Backup = BackupShown;
export type Backups = BackupsShown;

export const backupsApi = {
  list: () => json<BackupsShown>("GET", "/backups"),
  start: () => json<BackupsShown>("POST", "/backups"),
};
