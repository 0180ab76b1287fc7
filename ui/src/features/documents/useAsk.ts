import type { NamedSource } from "../../run/named";
import { useApp } from "../../services/context";

/** Opens a new chat whose next message names these documents or collections. */
export function useAsk(): (sources: readonly NamedSource[]) => void {
  const { sessions, router } = useApp();
  return (sources) => {
    sessions.of(null).named.set(sources);
    router.go("/");
  };
}
