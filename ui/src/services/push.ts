// Web Push: this browser is told while no page is open, where it can be and the person lets it.
import { pushApi } from "../api/schedules";

export type PushState = "unknown" | "impossible" | "refused" | "off" | "on";

const canPush = () =>
  "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

function bytesIn(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (sign) => sign.charCodeAt(0));
}

export async function pushState(): Promise<PushState> {
  if (!canPush()) return "impossible";
  if (Notification.permission === "denied") return "refused";
  const worker = await navigator.serviceWorker.getRegistration("/");
  return (await worker?.pushManager.getSubscription()) ? "on" : "off";
}

/** Asks the person, subscribes at the browser's push service, and tells the server. */
export async function turnPushOn(): Promise<PushState> {
  if ((await Notification.requestPermission()) !== "granted") return pushState();
  await navigator.serviceWorker.register("/worker.js");
  const worker = await navigator.serviceWorker.ready;
  const { public_key: key } = await pushApi.read();
  const subscription = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytesIn(key),
  });
  await pushApi.add(subscription.toJSON());
  return "on";
}

export async function turnPushOff(): Promise<PushState> {
  const worker = await navigator.serviceWorker.getRegistration("/");
  const subscription = await worker?.pushManager.getSubscription();
  if (subscription) {
    await pushApi.remove(subscription.endpoint);
    await subscription.unsubscribe();
  }
  return "off";
}
