import { useApp } from "../services/context";

/** Copies text and says so; a browser that refuses (an address without https) is told plainly. */
export function useCopy() {
  const { toasts } = useApp();
  return (text: string, said: string) => {
    const refused = () =>
      toasts.show("The browser blocked copying. Select the text and copy it yourself.");
    if (!navigator.clipboard) return refused();
    navigator.clipboard.writeText(text).then(() => toasts.show(said), refused);
  };
}
