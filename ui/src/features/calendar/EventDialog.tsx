import { type FormEvent, useState } from "react";
import { calendarsApi } from "../../api/calendars";
import { asProblem } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Notice } from "../../kit/pieces";
import { elsewhere, whenWords } from "../../planner/eventWords";
import { type Shown, shownOf } from "../../planner/shown";
import { recurrenceWords } from "../../services/recurrence";
import styles from "./Calendar.module.css";
import { EventFields } from "./EventFields";
import { changedIn, draftOf, faultIn, formOf, isNew } from "./eventForm";
import { RepeatFields } from "./RepeatFields";
import type { EventChanges } from "./useEventChanges";
import { WhenFields } from "./WhenFields";

type DialogProps = { given: Shown; changes: EventChanges; onClose: () => void };

/** All of an event, to be made or changed. What fails is told here, and what was typed stays. */
export function EventDialog({ given, changes, onClose }: DialogProps) {
  const { event } = given;
  const isMade = isNew(event);
  const [before] = useState(() => formOf(given));
  const [form, setForm] = useState(before);
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const change = (patch: Partial<typeof form>) => {
    setForm((now) => ({ ...now, ...patch }));
    setWhy("");
  };
  const write = async () => {
    if (isMade) return Boolean(await changes.add(draftOf(form)));
    const patch = changedIn(before, form);
    if (!Object.keys(patch).length) return true;
    return changes.change(event, patch, (now) =>
      t("“{title}” is on {when}", { title: now.title, when: whenWords(shownOf(now)) }),
    );
  };
  const save = async (submitted: FormEvent) => {
    submitted.preventDefault();
    const fault = faultIn(form);
    setWhy(fault);
    if (fault || busy) return;
    setBusy(true);
    try {
      if (await write()) return onClose();
    } catch (error) {
      const problem = asProblem(error);
      setWhy(problem.detail || problem.title);
    }
    setBusy(false);
  };
  const there = elsewhere(given);
  return (
    <Dialog title={isMade ? t("New event") : t("Event")} className="wide" onClose={onClose}>
      <form
        className={`body ${styles.eventForm} scroll`}
        onSubmit={(submitted) => void save(submitted)}
      >
        <label className="field">
          {t("Title")}
          <input
            className="input"
            data-first
            required
            maxLength={160}
            value={form.title}
            onChange={({ target }) => change({ title: target.value })}
          />
        </label>
        <WhenFields form={form} onChange={change} />
        {there && <p className="small">{there}</p>}
        <RepeatFields
          form={form}
          onChange={change}
          words={recurrenceWords(event.recurrence, event.recurrence_words)}
        />
        <EventFields form={form} onChange={change} />
        {event.conflicts.length > 0 && (
          <Notice tone="ask">{t("It overlaps another event of that time.")}</Notice>
        )}
        {!isMade && (
          <a
            className="link"
            href={calendarsApi.invitationAddress(event.id)}
            download="invitation.ics"
          >
            {t("Save as an invitation file")}
          </a>
        )}
        {event.account && (
          <p className="small">{t("Synchronised with {name}.", { name: event.account.name })}</p>
        )}
        {why && (
          <p className="why" role="alert">
            {why}
          </p>
        )}
        <div className="actions">
          {!isMade && (
            <Button
              look="quiet"
              className="aside"
              onClick={async () => void ((await changes.remove(event)) && onClose())}
            >
              {t("Delete")}
            </Button>
          )}
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={busy}>
            {isMade ? t("Add") : t("Save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
