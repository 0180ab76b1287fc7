// Where what floats is put: into the dialog that is open around it, else into the page.
import { createContext, useContext } from "react";

export const Layer = createContext<HTMLElement | null>(null);

/** For the `container` of a portal; undefined is the page. */
export const useLayer = (): HTMLElement | undefined => useContext(Layer) ?? undefined;
