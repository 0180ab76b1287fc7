// The model files of this machine, read again each second while one of them arrives.
import { useEffect, useState } from "react";
import { asProblem, type Problem } from "../../../api/client";
import { type ModelFile, settingsApi } from "../../../api/settings";
import { useRead } from "../../../services/useRead";

const AGAIN_MS = 1_000;

async function ask(signal: AbortSignal): Promise<readonly ModelFile[]> {
  return (await settingsApi.modelFiles(signal)).downloads;
}

/** Whether it is an address of the web, and not of this disk. */
export const isAddress = (text: string): boolean => /^[a-z]+:\/\//i.test(text.trim());

export function useModelFiles() {
  const {
    value: files,
    problem: unread,
    read,
    look,
  } = useRead(ask, undefined, false, "model-files");
  const [problem, setProblem] = useState<Problem | null>(null);
  const isArriving = files?.some(({ state }) => state === "downloading") ?? false;
  useEffect(() => {
    if (!isArriving) return;
    const timer = setInterval(() => void look(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [isArriving, look]);
  const act = async (deed: () => Promise<unknown>) => {
    setProblem(null);
    try {
      await deed();
      return true;
    } catch (error) {
      setProblem(asProblem(error));
      return false;
    } finally {
      await look();
    }
  };
  const add = (source: string) =>
    act(() => {
      const text = source.trim();
      return settingsApi.addModelFile(isAddress(text) ? { url: text } : { path: text });
    });
  const remove = ({ id }: ModelFile) => act(() => settingsApi.removeModelFile(id));
  return { files, unread, read, problem, add, remove };
}
