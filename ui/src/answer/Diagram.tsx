import { CodeBlock } from "./CodeBlock";

/** A diagram of Mermaid. */
export function Diagram({ source }: { source: string }) {
  return <CodeBlock language="mermaid" text={source} />;
}
