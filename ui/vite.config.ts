import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { addresses, frames } from "./scripts/frames.mjs";
import { base, pdfAssets } from "./scripts/pdfAssets.mjs";

// The pages' own addresses that the interface also answers as data (`/settings`, `/tasks`, …):
// a navigation asks for HTML and gets the page, a fetch asks for JSON and goes to the server.
const api = "http://127.0.0.1:8484";
const shared = ["settings", "vault", "documents", "tasks", "calendar", "schedules", "today"];
const served = [
  "health",
  "conversations",
  "files",
  "runs",
  "memories",
  "recall",
  "tools",
  "mcp-servers",
  ...shared,
];

/** Every browser that runs the page reads WOFF2: the other two forms of KaTeX's fonts stay out of the build. */
const woff2Alone = {
  name: "woff2-alone",
  enforce: "pre" as const,
  transform: (code: string, id: string) =>
    id.endsWith("katex.css")
      ? code.replace(/,\s*url\([^)]+\)\s*format\("(?:woff|truetype)"\)/g, "")
      : undefined,
};

export default defineConfig({
  plugins: [react(), pdfAssets(), frames(), woff2Alone],
  define: { PDF_ASSETS: JSON.stringify(base), FRAMES: JSON.stringify(addresses) },
  worker: { format: "es" },
  build: {
    outDir: "../src/bethink/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    target: "es2023",
    rolldownOptions: {
      output: {
        // What a first visit loads are two files: one that changes with React, one that changes with us.
        codeSplitting: {
          groups: [
            {
              name: "react",
              tags: ["$initial"],
              test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/,
              priority: 2,
            },
            {
              name: "shell",
              tags: ["$initial"],
              test: /^(?!.*(main\.tsx|index\.html))/,
              priority: 1,
            },
            // What rooms share comes in two files, not in one for each icon and each part of a menu.
            {
              name: "popups",
              test: /node_modules[\\/](@base-ui|@floating-ui)/,
              priority: 0,
            },
            {
              name: "shared",
              test: /node_modules[\\/]lucide|[\\/]src[\\/](api|kit|services|planner|i18n)[\\/]/,
              minShareCount: 2,
              priority: 0,
            },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      served.map((path) => [
        `/${path}`,
        {
          target: process.env.BETHINK_URL ?? api,
          changeOrigin: true,
          bypass: (request: { headers: { accept?: string | undefined } }) =>
            request.headers.accept?.includes("text/html") ? "/index.html" : undefined,
        },
      ]),
    ),
  },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
