import type { Plugin } from "vite";

export const addresses: { diagrams: string; artifact: string };
export const frames: () => Plugin;
