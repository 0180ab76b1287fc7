// Conversations that are shown to others by a link.
import type { NewShare, SharedConversation, ShareList, ShareShown } from "../contract/openapi";
import { json, withQuery } from "./client";

export type Share = ShareShown;
export type { NewShare, SharedConversation };

const at = encodeURIComponent;

export const sharesApi = {
  list: () => json<ShareList>("GET", "/shares"),
  of: (conversation: string) => json<ShareList>("GET", withQuery("/shares", { conversation })),
  add: (conversation: string, share: NewShare) =>
    json<ShareShown>("POST", `/conversations/${at(conversation)}/shares`, share),
  revoke: (share: string) => json<void>("DELETE", `/shares/${at(share)}`),
  read: (path: string) => json<SharedConversation>("GET", path),
};
