// Which providers of models there are, and what of them runs on this machine already.
import { useCallback } from "react";
import { type LocalServer, type Provider, settingsApi } from "../../../api/settings";
import { useRead } from "../../../services/useRead";

export type Offer = { providers: readonly Provider[]; local: readonly LocalServer[] };

/** That nothing is found on this machine is no fault. */
async function ask(signal: AbortSignal): Promise<Offer> {
  const [{ providers }, { servers }] = await Promise.all([
    settingsApi.providers(signal),
    settingsApi.local(signal).catch(() => ({ servers: [] })),
  ]);
  return { providers, local: servers };
}

export function useProviders() {
  const { value, problem, read } = useRead(ask, undefined, true);
  const again = useCallback(() => void read(), [read]);
  return { offer: value, problem, again };
}

/** How a model of a provider is named in settings. */
export const specOf = (provider: string, model: string): string => `${provider}:${model}`;
