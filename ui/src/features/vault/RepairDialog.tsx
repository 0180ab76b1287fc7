// What repairs would do, page by page, and the button that makes them.
import { useEffect, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import type { VaultChoice, VaultMended, VaultPlan } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import styles from "./Check.module.css";
import { Diff } from "./Diff";
import { linesOf } from "./diffLines";

export type RepairDialogProps = {
  choices: readonly VaultChoice[];
  onMended: (said: string, mended: Pick<VaultMended, "undo">) => void;
  onClose: () => void;
};

type Planned = { choice: VaultChoice; plan: VaultPlan };

/** Makes them one after the other; one whose page an earlier one changed is planned anew. */
async function made(planned: readonly Planned[], undo: string[]): Promise<void> {
  const touched = new Set<string>();
  for (const { choice, plan: shown } of planned) {
    const isOld = shown.steps.some(({ path }) => touched.has(path));
    const plan = isOld ? await vaultApi.plan(choice) : shown;
    const mended = await vaultApi.repair(choice, plan.id);
    undo.unshift(...mended.undo);
    for (const { path } of [...plan.steps, ...mended.changes]) touched.add(path);
  }
}

export function RepairDialog({ choices, onMended, onClose }: RepairDialogProps) {
  const [planned, setPlanned] = useState<readonly Planned[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [first] = choices;
  const isOne = choices.length === 1;
  const title = isOne ? (first?.said ?? "") : t("Fix {count} problems", { count: choices.length });
  useEffect(() => {
    let isHere = true;
    const plans = async () => {
      const found: Planned[] = [];
      for (const choice of choices) {
        if (!isHere) return;
        found.push({ choice, plan: await vaultApi.plan(choice) });
      }
      if (isHere) setPlanned(found);
    };
    plans().catch((error) => isHere && setProblem(asProblem(error)));
    return () => {
      isHere = false;
    };
  }, [choices]);
  const make = async (all: readonly Planned[]) => {
    setBusy(true);
    const undo: string[] = [];
    const done = () =>
      onMended(
        isOne
          ? t("{path} is fixed", { path: first?.path })
          : t("{count} problems are fixed", { count: choices.length }),
        { undo },
      );
    try {
      await made(all, undo);
      done();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} className={styles.repair ?? ""} onClose={onClose}>
      <div className="body">
        {problem && <ProblemNotice problem={problem} />}
        {!planned && !problem && <Skeleton lines={4} label={t("Preparing the changes")} />}
        {planned?.flatMap(({ choice, plan }) =>
          plan.steps.map(({ said, diff }) => (
            <section key={`${choice.path} ${choice.said} ${said}`}>
              <h3>{said}</h3>
              {diff && <Diff lines={linesOf(diff)} label={t("Changes: {said}", { said })} />}
            </section>
          )),
        )}
        <div className="actions">
          <Button look="quiet" onClick={onClose}>
            {t("Cancel")}
          </Button>
          <Button
            look="primary"
            disabled={!planned || busy || problem !== null}
            onClick={() => planned && void make(planned)}
          >
            {t("Apply")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
