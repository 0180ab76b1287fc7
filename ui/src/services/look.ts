// How the pages look, chosen on this device. public/theme.js applies it before the first paint.
import { remember, remembered, Store } from "./store";

export type Look = {
  theme: "system" | "light" | "dark";
  answers: "sans" | "serif";
  panel: boolean;
};

const KEY = "bethink.look";

export class LookService {
  readonly store = new Store<Look>(
    remembered<Look>(KEY, { theme: "system", answers: "sans", panel: true }),
  );

  choose = (patch: Partial<Look>): void => {
    this.store.change(patch);
    const look = this.store.get();
    remember(KEY, look);
    const root = document.documentElement.dataset;
    if (look.theme === "system") delete root.theme;
    else root.theme = look.theme;
    if (look.answers === "sans") delete root.answers;
    else root.answers = look.answers;
  };
}
