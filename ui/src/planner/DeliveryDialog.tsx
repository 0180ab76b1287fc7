// Where its owner is told, beside this page.
import { type FormEvent, useState } from "react";
import { asProblem } from "../api/client";
import { type Delivery, type DeliveryPatch, deliveryApi } from "../api/schedules";
import { t } from "../i18n";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Notice, ProblemNotice, Skeleton } from "../kit/pieces";
import { useApp } from "../services/context";
import { useRead } from "../services/useRead";
import { PushSwitch } from "./PushSwitch";

export function DeliveryDialog({ onClose }: { onClose: () => void }) {
  const { value, problem, read } = useRead(deliveryApi.read, undefined, true);
  return (
    <Dialog title={t("Notifications")} className="wide" onClose={onClose}>
      <div className="body scroll">
        <p>{t("Notices always show on this page. They can reach you elsewhere, too.")}</p>
        <PushSwitch />
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!value && !problem && <Skeleton lines={4} label={t("Loading the delivery")} />}
        {value && <DeliveryForm delivery={value} onClose={onClose} />}
      </div>
    </Dialog>
  );
}

/** What differs from what is kept; a field for quiet hours that is as the settings have it stays so. */
function patchOf(kept: Delivery, typed: { email: string; webhook: string; quiet: string }) {
  const patch: DeliveryPatch = {};
  if (typed.email !== kept.email) patch.email = typed.email;
  if (typed.webhook !== kept.webhook_url) patch.webhook_url = typed.webhook;
  if (typed.quiet !== (kept.quiet_hours ?? kept.quiet_hours_default))
    patch.quiet_hours = typed.quiet;
  return patch;
}

function DeliveryForm({ delivery, onClose }: { delivery: Delivery; onClose: () => void }) {
  const { toasts } = useApp();
  const [email, setEmail] = useState(delivery.email);
  const [webhook, setWebhook] = useState(delivery.webhook_url);
  const [quiet, setQuiet] = useState(delivery.quiet_hours ?? delivery.quiet_hours_default);
  const [secret, setSecret] = useState("");
  const [why, setWhy] = useState("");
  const attempt = async (work: () => Promise<void>) => {
    setWhy("");
    try {
      await work();
    } catch (error) {
      const problem = asProblem(error);
      setWhy(problem.detail || problem.title);
    }
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    const typed = { email: email.trim(), webhook: webhook.trim(), quiet: quiet.trim() };
    void attempt(async () => {
      const { webhook_secret: made } = await deliveryApi.change(patchOf(delivery, typed));
      toasts.show(t("Saved where you are told"));
      if (made) setSecret(made);
      else onClose();
    });
  };
  const tryIt = () =>
    void attempt(async () => {
      await deliveryApi.try();
    });
  return (
    <form className="body" onSubmit={save}>
      <label className="field">
        {t("E-mail address")}
        <input
          type="email"
          className="input"
          value={email}
          onChange={({ target }) => setEmail(target.value)}
        />
      </label>
      {!delivery.has_mail_server && (
        <p className="small">{t("E-mail needs BETHINK_SMTP_URL, which is not set.")}</p>
      )}
      <label className="field">
        {t("Webhook address")}
        <input
          type="url"
          className="input"
          value={webhook}
          onChange={({ target }) => setWebhook(target.value)}
        />
      </label>
      <label className="field">
        {t("Quiet hours")}
        <input
          className="input"
          placeholder={t("22:00-07:00, or empty for none")}
          value={quiet}
          onChange={({ target }) => setQuiet(target.value)}
        />
      </label>
      {delivery.failing > 0 && (
        <Notice tone="fault">
          {t("{failing} deliveries failed within the last day.", { failing: delivery.failing })}
        </Notice>
      )}
      {secret && (
        <Notice tone="ask">
          {t("The webhook’s secret, shown this once:")} <code>{secret}</code>
        </Notice>
      )}
      {why && (
        <p className="why" role="alert">
          {why}
        </p>
      )}
      <div className="actions">
        <Button className="aside" onClick={tryIt}>
          {t("Send a test")}
        </Button>
        <Button onClick={onClose}>{secret ? t("Close") : t("Cancel")}</Button>
        {!secret && (
          <Button look="primary" type="submit">
            {t("Save")}
          </Button>
        )}
      </div>
    </form>
  );
}
