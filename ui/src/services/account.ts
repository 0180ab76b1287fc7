// Who is signed in here, where there are users. What an answer 401 says is heard from everywhere.
import { api } from "../api/client";
import type { Session } from "../api/types";
import { Store } from "./store";

export class AccountService {
  readonly session = new Store<Session | null>(null);

  start(): void {
    addEventListener("signed-out", () => void this.check());
    void this.check();
  }

  check = async (): Promise<void> => {
    try {
      this.session.set(await api.session());
    } catch {
      // A server that does not answer is told of elsewhere.
    }
  };

  /** Sign in, and begin anew at the same address: nothing of somebody else's is left in the page. */
  signIn = async (shown: { key: string } | { name: string; password: string }): Promise<void> => {
    await api.signIn(shown);
    location.reload();
  };

  signOut = async (): Promise<void> => {
    await api.signOut();
    location.assign("/");
  };
}
