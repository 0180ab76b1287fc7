// What is typed about a provider, what it answers to that, and the change of settings that makes it the model.
import { useCallback, useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../../../api/client";
import {
  type ListedModel,
  type LocalServer,
  type ModelFile,
  type ModelTest,
  type Provider,
  type Reached,
  type SettingShown,
  type SettingsPatch,
  settingsApi,
} from "../../../api/settings";
import { useSettings } from "../useSettings";
import { specOf } from "./useProviders";

type Typed = { baseUrl: string; key: string };

/** The address and key to ask with; what is left out is what the server has of it. */
function reachedBy({ baseUrl, key }: Typed, provider: Provider): Reached {
  const own = baseUrl.trim() && baseUrl.trim() !== provider.default_base_url;
  return {
    ...((own || !provider.base_url) && baseUrl.trim() && { base_url: baseUrl.trim() }),
    ...(key.trim() && { api_key: key.trim() }),
  };
}

function withoutEarlier(
  model: string,
  find: (name: string) => SettingShown | undefined,
): Record<string, unknown> {
  const patch: Record<string, unknown> = { model };
  for (const name of ["model_base_url", "model_api_key"]) {
    if (find(name)?.source === "kept") patch[name] = null;
  }
  return patch;
}

/** What saving changes: nothing of an earlier provider's address or key stays in the way. */
export function patchOf(
  provider: Provider,
  model: string,
  typed: Typed,
  find: (name: string) => SettingShown | undefined,
): SettingsPatch {
  const patch = withoutEarlier(specOf(provider.id, model), find);
  const { base_url, api_key } = reachedBy(typed, provider);
  if (base_url) patch[provider.base_url ?? "model_base_url"] = base_url;
  if (api_key) patch[provider.key ?? "model_api_key"] = api_key;
  return patch;
}

/** The models of an endpoint, asked for again when it is another. */
function useModels(
  provider: Provider,
  typed: Typed,
  known: readonly ListedModel[],
  onFound: (baseUrl: string, models: readonly ListedModel[]) => void,
) {
  const [models, setModels] = useState<readonly ListedModel[] | null>(known.length ? known : null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isListing, setIsListing] = useState(false);
  const asked = useRef("");
  const asking = useRef<AbortController>(undefined);
  useEffect(() => () => asking.current?.abort(), []);
  const list = useCallback(
    async (isAgain = false) => {
      const body = { provider: provider.id, ...reachedBy(typed, provider) };
      const question = JSON.stringify(body);
      if (!isAgain && question === asked.current) return;
      asked.current = question;
      asking.current?.abort();
      const abort = new AbortController();
      asking.current = abort;
      setIsListing(true);
      setProblem(null);
      try {
        const found = await settingsApi.listModels(body, abort.signal);
        if (abort.signal.aborted) return;
        setModels(found.models);
        // What was found behind another address is not asked for a second time.
        if (body.base_url) asked.current = JSON.stringify({ ...body, base_url: found.base_url });
        onFound(body.base_url ? found.base_url : typed.baseUrl, found.models);
      } catch (error) {
        if (abort.signal.aborted) return;
        setModels(null);
        setProblem(asProblem(error));
      }
      setIsListing(false);
    },
    [provider, typed, onFound],
  );
  return { models, problem, isListing, list };
}

export function useEndpoint(
  provider: Provider,
  server: LocalServer | null,
  onSaved: (model: string) => void,
) {
  const { find, save: saveSettings } = useSettings();
  const keptUrl = provider.base_url ? find(provider.base_url)?.value : null;
  const [typed, setTyped] = useState<Typed>({
    baseUrl: server?.base_url ?? (String(keptUrl ?? "") || (provider.default_base_url ?? "")),
    key: "",
  });
  const [model, setModel] = useState("");
  const [test, setTest] = useState<ModelTest | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState<"test" | "save" | null>(null);
  const found = useCallback((baseUrl: string, models: readonly ListedModel[]) => {
    setTyped((now) => (now.baseUrl === baseUrl ? now : { ...now, baseUrl }));
    // Of one, nothing is to be chosen; one of another server is none of these.
    const [only] = models.length === 1 ? models : [];
    setModel((now) => only?.id ?? (models.some(({ id }) => id === now) ? now : ""));
  }, []);
  const known = useModels(provider, typed, server?.models ?? [], found);
  const keyIsKept = find(provider.key ?? "model_api_key")?.is_set ?? false;
  const hasAddress = Boolean(provider.base_url) || provider.local || !provider.default_base_url;
  const canAsk =
    Boolean(typed.baseUrl.trim() || !hasAddress) &&
    (!provider.needs_key || keyIsKept || typed.key.trim() !== "");
  const list = () => {
    if (canAsk) void known.list();
  };
  // What needs nothing typed is asked at once; what was pasted, when it is in its field.
  const [isPasted, setIsPasted] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once when it is opened, and for what is pasted
  useEffect(() => {
    if (canAsk && (isPasted || !typed.key)) list();
    setIsPasted(false);
  }, [isPasted && typed.key]);
  const change = (patch: Partial<Typed>) => {
    setTyped((now) => ({ ...now, ...patch }));
    setTest(null);
    setProblem(null);
  };
  const runTest = async () => {
    if (busy) return false;
    setBusy("test");
    setTest(null);
    setProblem(null);
    let ok = false;
    try {
      const spec = specOf(provider.id, model);
      const shown = await settingsApi.testModel({ model: spec, ...reachedBy(typed, provider) });
      setTest(shown);
      ok = shown.ok;
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(null);
    return ok;
  };
  const keep = async (spec: string, patch: SettingsPatch) => {
    setBusy("save");
    const refused = await saveSettings(patch);
    setBusy(null);
    setProblem(refused);
    if (!refused) onSaved(spec);
  };
  // One that does not work is used only by whoever has seen that.
  const save = async () => {
    if (busy || !(test || (await runTest()))) return;
    await keep(specOf(provider.id, model), patchOf(provider, model, typed, find));
  };
  const saveFile = (file: ModelFile) => keep(file.model, withoutEarlier(file.model, find));
  return {
    ...typed,
    setBaseUrl: (baseUrl: string) => change({ baseUrl }),
    setKey: (key: string) => change({ key }),
    hasAddress,
    hasKey: Boolean(provider.key) || !provider.local,
    keyIsKept,
    models: known.models,
    isListing: known.isListing,
    listProblem: known.problem,
    list,
    listSoon: () => setIsPasted(true),
    model,
    setModel: (name: string) => {
      setModel(name);
      setTest(null);
    },
    test,
    runTest,
    isTesting: busy === "test",
    save,
    saveFile,
    isSaving: busy === "save",
    problem,
  };
}
