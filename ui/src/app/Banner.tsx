import { CloudOff } from "lucide-react";
import { Button } from "../kit/Button";
import { useApp } from "../services/context";
import { useStore } from "../services/store";
import { shortDate } from "../services/words";

/** Says that the server cannot be reached, since when, and what still holds. */
export function Banner() {
  const { health } = useApp();
  const { reachable, since } = useStore(health.store);
  if (reachable) return null;
  return (
    <div className="banner" role="status">
      <CloudOff size={16} aria-hidden />
      <span>
        Reconnecting{since ? ` since ${shortDate(since)}` : ""}. Nothing that was saved is lost.
      </span>
      <Button onClick={() => void health.check()}>Try now</Button>
    </div>
  );
}
