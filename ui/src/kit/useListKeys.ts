import type { RefObject } from "react";
import { useKey } from "../services/useKey";

/** j and k move the focus along the elements marked `data-row`; e, a and x act on the one that has it. */
export function useListKeys(
  list: RefObject<HTMLElement | null>,
  actions: Partial<Record<"edit" | "accept" | "remove", (row: string) => void>>,
): void {
  const rows = () => [...(list.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
  const current = () => rows().find((row) => row.contains(document.activeElement));
  const focusOf = (row: HTMLElement | undefined) =>
    row?.matches("a, button, [tabindex]")
      ? row
      : (row?.querySelector<HTMLElement>("a") ?? row?.querySelector("button"));
  const move = (by: number) => {
    const all = rows();
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const to =
      at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by));
    focusOf(all[to])?.focus();
  };
  const act = (action?: (row: string) => void) => {
    const id = current()?.dataset.row;
    if (id) action?.(id);
  };
  useKey("down", () => move(1));
  useKey("up", () => move(-1));
  useKey("edit", () => act(actions.edit));
  useKey("accept", () => act(actions.accept));
  useKey("remove", () => act(actions.remove));
}
