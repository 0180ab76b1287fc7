import type { Plugin } from "vite";

export const address: string;
export const diagramFrame: () => Plugin;
