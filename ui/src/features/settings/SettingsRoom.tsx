// How this Bethink is set up, what of it works, what it may do, and what it did.
import type { ReactNode } from "react";
import { Link } from "../../kit/pieces";
import { settingsPages } from "../../services/rooms";
import type { SettingsPage } from "../../services/router";
import { Calls } from "./Calls";
import { General } from "./General";
import { ImportPage } from "./ImportPage";
import { KeysPage } from "./KeysPage";
import { Servers } from "./Servers";
import { Tools } from "./Tools";

const pages: Record<SettingsPage, () => ReactNode> = {
  general: General,
  tools: Tools,
  servers: Servers,
  calls: Calls,
  keys: KeysPage,
  import: ImportPage,
};

export default function SettingsRoom({ page }: { page: SettingsPage }) {
  const Page = pages[page];
  const here = page === "general" ? "/settings" : `/settings/${page}`;
  return (
    <div className="page scroll">
      <div className="page-inner settings">
        <header className="page-head">
          <h1>Settings</h1>
        </header>
        <nav className="tabs" aria-label="Pages of Settings">
          {[{ name: "General", path: "/settings" }, ...settingsPages].map(({ name, path }) => (
            <Link key={path} to={path} aria-current={path === here ? "page" : undefined}>
              {name}
            </Link>
          ))}
        </nav>
        <Page />
      </div>
    </div>
  );
}
