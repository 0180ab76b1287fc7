// How the pages look, chosen on this device. public/theme.js applies it before the first paint.
import { remember, remembered, Store } from "./store";

export type Look = {
  theme: "system" | "light" | "dark";
  answers: "sans" | "serif";
  /** How large words are, and how near to each other things stand. */
  size: "small" | "normal" | "large" | "larger";
  density: "comfortable" | "compact";
  panel: boolean;
};

const KEY = "bethink.look";
const usual: Look = {
  theme: "system",
  answers: "sans",
  size: "normal",
  density: "comfortable",
  panel: true,
};
/** What stands at the root of the page while it is not as usual. */
const marks = ["theme", "answers", "size", "density"] as const;

export class LookService {
  readonly store = new Store<Look>(remembered<Look>(KEY, usual));

  choose = (patch: Partial<Look>): void => {
    this.store.change(patch);
    const look = this.store.get();
    remember(KEY, look);
    const root = document.documentElement.dataset;
    for (const mark of marks) {
      if (look[mark] === usual[mark]) delete root[mark];
      else root[mark] = look[mark];
    }
  };
}
