// What a repair would do, page by page, and the button that does it.
import { useEffect, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import type { VaultChoice, VaultMended, VaultPlan } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { Diff } from "./Diff";
import { linesOf } from "./diffLines";

export type RepairDialogProps = {
  choice: VaultChoice;
  onMended: (mended: VaultMended) => void;
  onClose: () => void;
};

export function RepairDialog({ choice, onMended, onClose }: RepairDialogProps) {
  const [plan, setPlan] = useState<VaultPlan | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    let isHere = true;
    vaultApi.plan(choice).then(
      (found) => isHere && setPlan(found),
      (error) => isHere && setProblem(asProblem(error)),
    );
    return () => {
      isHere = false;
    };
  }, [choice]);
  const make = async (id: string) => {
    setBusy(true);
    try {
      onMended(await vaultApi.repair(choice, id));
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={choice.said} className="repair-dialog" onClose={onClose}>
      <div className="body">
        {problem && <ProblemNotice problem={problem} />}
        {!plan && !problem && <Skeleton lines={4} label="Preparing the changes" />}
        {plan?.steps.map(({ said, diff }) => (
          <section key={said}>
            <h3>{said}</h3>
            {diff && <Diff lines={linesOf(diff)} label={`Changes: ${said}`} />}
          </section>
        ))}
        <div className="actions">
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            look="primary"
            disabled={!plan || busy || problem !== null}
            onClick={() => plan && void make(plan.id)}
          >
            Apply
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
