import type { Plugin } from "vite";

export declare const base: string;
export declare const pdfAssets: () => Plugin;
