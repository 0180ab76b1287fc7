// Who is signed in here, where there are users. What an answer 401 says is heard from everywhere.
import { api, asProblem } from "../api/client";
import type { Session } from "../api/types";
import type { Vitals } from "./health";
import { News } from "./news";
import { remember, remembered, Store } from "./store";

const SIGNED_IN = "signed in";
/** Who was signed in here at last: what they write without the server is theirs. */
const OWNER = "bethink.owner";

export class AccountService {
  readonly session = new Store<Session | null>(null);

  /** Somebody signed out here: what they typed is to go. */
  readonly leaving = new News();

  /** Settled once the server was asked who is signed in. */
  ready: Promise<void> = Promise.resolve();

  /** Only the answer to the last question counts. */
  #asked = 0;

  /** `health` tells when a server answers that did not. */
  start(health: Store<Vitals>): void {
    addEventListener("signed-out", () => void this.check());
    this.ready = this.check();
    let { reachable } = health.get();
    health.subscribe(() => {
      const isBack = !reachable && health.get().reachable;
      reachable = health.get().reachable;
      if (isBack) void this.check();
    });
  }

  check = async (): Promise<void> => {
    this.#asked += 1;
    const mine = this.#asked;
    try {
      const session = await api.session();
      if (mine !== this.#asked) return;
      this.session.set(session);
      remember(OWNER, { id: session.user?.id ?? "" });
    } catch {
      // A server that does not answer is told of elsewhere, and asked again when it does.
    }
  };

  /** Whose page this is; while the server does not say, whose it was at last. */
  get owner(): string {
    const session = this.session.get();
    return session ? (session.user?.id ?? "") : remembered(OWNER, { id: "" }).id;
  }

  /** Sign in, and begin anew at the same address: nothing of somebody else's is left in the page. */
  signIn = async (shown: { key: string } | { name: string; password: string }): Promise<void> => {
    await api.signIn(shown);
    this.begin(location.href);
  };

  /** Somebody is signed in: the page is loaded anew, there. */
  begin = (address: string): void => {
    history.replaceState(SIGNED_IN, "", address);
    location.reload();
  };

  /** Whether the page is what somebody came to by signing in; it is told once. */
  tookIn = (): boolean => {
    const isSo = history.state === SIGNED_IN;
    if (isSo) history.replaceState(null, "");
    return isSo;
  };

  /** Who is signed out already, from another tab or by somebody else, is where they want to be. */
  signOut = async (): Promise<void> => {
    await api.signOut().catch((error) => {
      if (asProblem(error).status !== 401) throw error;
    });
    await this.leaving.tell();
    remember(OWNER, { id: "" });
    location.assign("/");
  };
}
