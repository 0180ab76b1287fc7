// Tells every part of the page that shows something when it is known to have changed.
import { useEffect, useRef } from "react";

type Act = () => unknown;

export class News {
  #acts = new Set<Act>();

  /** Gives what takes it back. */
  hear(act: Act): () => void {
    this.#acts.add(act);
    return () => this.#acts.delete(act);
  }

  /** Settled once all who heard it show what is true now. */
  tell = async (): Promise<void> => {
    await Promise.all([...this.#acts].map((act) => act()));
  };
}

/** While this part is shown, news have it do this. */
export function useNews(news: News, act: Act): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => news.hear(() => latest.current()), [news]);
}
