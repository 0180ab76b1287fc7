/** Whether this browser is told while no page is open. */
export function PushSwitch() {
  return null;
}
