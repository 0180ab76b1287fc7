// A model, without a terminal: what runs here, the providers, then one of them with its key, its models and a test.
import { ChevronRight, Cpu, Globe, RefreshCw } from "lucide-react";
import { useState } from "react";
import type { LocalServer, Provider } from "../../../api/settings";
import { t, told } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { ProblemNotice, Skeleton } from "../../../kit/pieces";
import { Endpoint } from "./Endpoint";
import styles from "./Model.module.css";
import { useProviders } from "./useProviders";

type Chosen = { provider: Provider; server: LocalServer | null };

export function ModelChooser({ onSaved }: { onSaved: (model: string) => void }) {
  const { offer, problem, again } = useProviders();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  if (problem) return <ProblemNotice problem={problem} onRetry={again} />;
  if (!offer) return <Skeleton lines={6} label={t("Looking for models on this machine")} />;
  if (chosen) {
    return <Endpoint {...chosen} onBack={() => setChosen(null)} onSaved={onSaved} />;
  }
  const providerOf = (id: string) => offer.providers.find((each) => each.id === id);
  return (
    <div className={styles.chooser}>
      <section aria-labelledby="found-here">
        <h2 id="found-here">{t("On this machine")}</h2>
        {offer.local.length > 0 ? (
          <ul className={styles.local}>
            {offer.local.map((server) => {
              const provider = providerOf(server.provider);
              return (
                provider && (
                  <li key={server.base_url}>
                    <button type="button" onClick={() => setChosen({ provider, server })}>
                      <Cpu size={20} strokeWidth={1.75} aria-hidden />
                      <span>
                        <strong>{t("{name} is running here", { name: told(server.title) })}</strong>
                        <small>
                          {t(
                            "{count, plural, =0 {No model is loaded yet} one {With # model, free and private} other {With # models, free and private}}",
                            { count: server.models.length },
                          )}
                        </small>
                      </span>
                      <ChevronRight size={18} aria-hidden />
                    </button>
                  </li>
                )
              );
            })}
          </ul>
        ) : (
          <p className={styles.nothing}>
            {t(
              "No model server was found here. Start Ollama, LM Studio or llama.cpp, and look again.",
            )}
            <Button look="quiet" icon={RefreshCw} onClick={again}>
              {t("Look again")}
            </Button>
          </p>
        )}
      </section>
      <section aria-labelledby="providers">
        <h2 id="providers">{t("All providers")}</h2>
        <ul className={styles.cards}>
          {offer.providers.map((provider) => (
            <li key={provider.id}>
              <button type="button" onClick={() => setChosen({ provider, server: null })}>
                <span>
                  {provider.local ? <Cpu size={16} aria-hidden /> : <Globe size={16} aria-hidden />}
                  <strong>{told(provider.title)}</strong>
                </span>
                <small>{told(provider.description)}</small>
              </button>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}
