// The title of the browser's tab: what is shown, of which room, and how much else waits.
import { useEffect } from "react";
import { useApp } from "./context";
import { Store } from "./store";

export class Title {
  /** What the page shows now, by its name; the newest part that names something wins. */
  readonly names = new Store<readonly string[]>([]);

  /** Gives what takes it back. */
  show = (name: string): (() => void) => {
    this.names.set([...this.names.get(), name]);
    return () => {
      const names = this.names.get();
      const at = names.lastIndexOf(name);
      this.names.set(names.filter((_, i) => i !== at));
    };
  };
}

/** `Lisbon trip · Bethink`; without a name, the room's. */
export function titleOf(names: readonly string[], room: string, waiting: number): string {
  const name = names.at(-1) || room;
  const title = name ? `${name} · Bethink` : "Bethink";
  return waiting > 0 ? `(${waiting}) ${title}` : title;
}

/** While this part is shown, the tab has this name: of a page, a task, a conversation. */
export function useTitle(name: string | null | undefined): void {
  const { title } = useApp();
  useEffect(() => (name ? title.show(name) : undefined), [title, name]);
}
