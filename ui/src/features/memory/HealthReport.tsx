// What in the memory needs a look, and the memory in numbers.
import { HeartPulse } from "lucide-react";
import { useEffect, useState } from "react";
import { api, asProblem, type Problem } from "../../api/client";
import type { Memory, MemoryFinding, MemoryMerge, MemoryNumbers } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Empty, Link, Notice, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import { count } from "../../services/words";
import { MemoryHead } from "./MemoryHead";
import { useMemoryActions } from "./useMemoryActions";
import { categoryName } from "./words";

async function ask(signal: AbortSignal) {
  const [{ findings }, numbers] = await Promise.all([
    api.memoryHealth(signal),
    api.memoryNumbers(signal),
  ]);
  return { findings, numbers };
}

export function HealthReport() {
  const { memoryNews } = useApp();
  const { value: known, problem, read } = useRead(ask);
  useNews(memoryNews, () => read());
  return (
    <div className="page memory-room scroll">
      <div className="page-inner">
        <MemoryHead />
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!known && !problem && <Skeleton lines={6} label="Checking the memories" />}
        {known && (
          <>
            {known.numbers.warning && (
              <Notice tone="ask">
                <span>{known.numbers.warning}</span>
              </Notice>
            )}
            {known.findings.length ? (
              <ul className="findings">
                {known.findings.map((finding) => (
                  <li key={finding.trouble}>
                    <Finding finding={finding} />
                  </li>
                ))}
              </ul>
            ) : (
              <Empty icon={HeartPulse} title="No problems found">
                <p>There are no duplicates, contradictions, secrets or memories in doubt.</p>
              </Empty>
            )}
            <Numbers numbers={known.numbers} />
          </>
        )}
      </div>
    </div>
  );
}

function Finding({ finding }: { finding: MemoryFinding }) {
  const [merging, setMerging] = useState(false);
  return (
    <>
      <h2>
        {finding.count.toLocaleString()} {finding.about}
      </h2>
      {finding.trouble === "suggested" && (
        <Link className="button" to="/memory/review">
          Review them
        </Link>
      )}
      {finding.trouble === "duplicates" && (
        <Button onClick={() => setMerging(true)}>Show what would be merged</Button>
      )}
      <ul>
        {finding.examples.map((id) => (
          <Example key={id} id={id} />
        ))}
      </ul>
      {merging && <Merging onClose={() => setMerging(false)} />}
    </>
  );
}

/** A memory by its id, as a link to it; what has no memory behind it (a thing without a vector) is left out. */
function Example({ id }: { id: string }) {
  const [memory, setMemory] = useState<Memory | null>(null);
  useEffect(() => {
    let asked = true;
    api.memory(id).then(
      (found) => asked && setMemory(found),
      () => undefined,
    );
    return () => {
      asked = false;
    };
  }, [id]);
  if (!memory) return null;
  return (
    <li>
      <Link to={`/memory/${id}`}>{memory.content}</Link>
    </li>
  );
}

/** What merging duplicates would do, before it is done. */
function Merging({ onClose }: { onClose: () => void }) {
  const actions = useMemoryActions();
  const [merges, setMerges] = useState<readonly MemoryMerge[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    api.consolidate(true).then(
      (found) => setMerges(found.merges),
      (error) => setProblem(asProblem(error)),
    );
  }, []);
  return (
    <Dialog title="Merge duplicates" onClose={onClose}>
      <div className="body">
        {problem && <ProblemNotice problem={problem} />}
        {!merges && !problem && <Skeleton lines={3} label="Comparing" />}
        {merges?.length === 0 && <p>Nothing would be merged.</p>}
        {merges && merges.length > 0 && (
          <ul className="would-go">
            {merges.map(({ kept, gone }) => (
              <li key={kept.id}>
                {kept.content}
                <ul>
                  {gone.map(({ id, content }) => (
                    <li key={id}>replaces: {content}</li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        )}
        <div className="actions">
          <Button data-first onClick={onClose}>
            Cancel
          </Button>
          <Button
            look="primary"
            disabled={!merges?.length}
            onClick={() => {
              onClose();
              void actions.consolidate();
            }}
          >
            Merge
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function Numbers({ numbers }: { numbers: MemoryNumbers }) {
  const megabytes = (numbers.bytes_on_disk / 1_000_000).toFixed(1);
  const most = Object.entries(numbers.categories).toSorted(([, a], [, b]) => b - a);
  return (
    <section className="numbers">
      <h2>Statistics</h2>
      <p>
        {count(numbers.facts, "memory", "memories")}, {numbers.pinned.toLocaleString()} pinned,{" "}
        {numbers.doubted.toLocaleString()} in doubt; {megabytes} MB on disk, including all other
        data.
      </p>
      {most.length > 0 && (
        <dl className="facts-of">
          {most.map(([category, number]) => (
            <div key={category}>
              <dt>{categoryName(category)}</dt>
              <dd>{number.toLocaleString()}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
