// Three short questions. What is told becomes facts, as if it had been said in a chat, and preferences.
import { Brain, Undo2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, asProblem, type Problem } from "../../../api/client";
import { settingsApi } from "../../../api/settings";
import { t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { Combobox } from "../../../kit/Combobox";
import { Field } from "../../../kit/Field";
import { ProblemNotice } from "../../../kit/pieces";
import { useApp } from "../../../services/context";
import { browserZone } from "../../../services/days";
import { answerLanguages, ToneChips, ZoneField } from "../Preferences";
import styles from "./Setup.module.css";
import { keepTold } from "./told";

type Fact = { id: string; content: string; undo: string };

/** What is said of a person, as their memory has it. */
export const factsOf = ({ name, place }: { name: string; place: string }): string[] => [
  ...(name ? [`User’s name is ${name}`] : []),
  ...(place ? [`User lives in ${place}`] : []),
];

export function AboutStep({ onDone }: { onDone: (isDone: boolean) => void }) {
  const { memoryNews, toasts } = useApp();
  const [facts, setFacts] = useState<readonly Fact[]>([]);
  const [isKept, setIsKept] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const keep = async (answers: Answers) => {
    setProblem(null);
    try {
      const { name, place, tone, language, zone, instructions } = answers;
      await settingsApi.changePreferences({
        tone,
        language,
        instructions,
        time_zone: zone || null,
      });
      for (const content of factsOf({ name, place })) {
        const { memory, undo } = await api.addMemory({
          content,
          category: "personal_info",
          importance: 0.9,
        });
        setFacts((known) => [...known, { id: memory.id, content, undo: undo ?? "" }]);
      }
      keepTold({ name, place });
      setIsKept(true);
      onDone(true);
      await memoryNews.tell();
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  const change = () => {
    setIsKept(false);
    onDone(false);
  };
  const takeBack = async (fact: Fact) => {
    try {
      await api.undo(fact.undo);
      setFacts((known) => known.filter(({ id }) => id !== fact.id));
      await memoryNews.tell();
    } catch (error) {
      toasts.fault(error);
    }
  };
  return (
    <div className={styles.step}>
      {!isKept && <Questions onKeep={keep} />}
      {problem && <ProblemNotice problem={problem} />}
      {facts.length > 0 && (
        <ul className={styles.facts} aria-label={t("What is remembered")}>
          {facts.map((fact) => (
            <li key={fact.id}>
              <Brain size={16} aria-hidden />
              <span>{fact.content}</span>
              <Button look="quiet" icon={Undo2} onClick={() => void takeBack(fact)}>
                {t("Undo")}
                <span className="visually-hidden">: {fact.content}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
      {isKept && (
        <>
          <p role="status" className={styles.note}>
            {t("Saved. You find it in Memory and in Settings, and can change it there.")}
          </p>
          <div className={styles.onward}>
            <Button onClick={change}>{t("Change")}</Button>
          </div>
        </>
      )}
    </div>
  );
}

type Answers = Record<"name" | "place" | "tone" | "language" | "zone" | "instructions", string>;

function Questions({ onKeep }: { onKeep: (answers: Answers) => Promise<void> }) {
  const [tone, setTone] = useState("");
  const [language, setLanguage] = useState("");
  const [zone, setZone] = useState(browserZone());
  const [busy, setBusy] = useState(false);
  const keep = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const text = (key: string) => String(given.get(key) ?? "").trim();
    setBusy(true);
    await onKeep({
      name: text("name"),
      place: text("place"),
      language: language.trim(),
      instructions: text("instructions"),
      tone,
      zone,
    });
    setBusy(false);
  };
  return (
    <form className={styles.questions} onSubmit={(event) => void keep(event)}>
      <Field label={t("What may I call you?")}>
        {(control) => (
          <input
            {...control}
            className="input"
            name="name"
            maxLength={100}
            autoComplete="given-name"
          />
        )}
      </Field>
      <Field label={t("Where do you live?")}>
        {(control) => (
          <input
            {...control}
            className="input"
            name="place"
            placeholder={t("A city is enough")}
            maxLength={100}
            autoComplete="address-level2"
          />
        )}
      </Field>
      <Field label={t("Time zone")}>
        {({ id }) => <ZoneField id={id} value={zone} onPut={setZone} />}
      </Field>
      <fieldset>
        <legend>{t("How should answers be?")}</legend>
        <ToneChips value={tone} onPut={setTone} />
      </fieldset>
      <Field label={t("Language of answers")}>
        {({ id }) => (
          <Combobox
            id={id}
            value={language}
            options={answerLanguages}
            placeholder={t("In the language that you write in")}
            maxLength={100}
            onChange={setLanguage}
          />
        )}
      </Field>
      <Field label={t("Anything else to keep in mind")}>
        {(control) => (
          <textarea
            {...control}
            className="input"
            name="instructions"
            rows={3}
            maxLength={4000}
            placeholder={t("Such as: use metric units")}
          />
        )}
      </Field>
      <div className={styles.onward}>
        <Button look="primary" type="submit" disabled={busy}>
          {t("Save")}
        </Button>
      </div>
    </form>
  );
}
