import type { Command } from "./commands";

type SlashMenuProps = {
  id: string;
  hints: readonly Command[];
  at: number;
  onChoose: (command: Command) => void;
};

/** The commands that the typed `/` may become; the field below keeps the focus. */
export function SlashMenu({ id, hints, at, onChoose }: SlashMenuProps) {
  return (
    <div id={id} role="listbox" aria-label="Commands" className="slash">
      {hints.map((command, i) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field below has the focus and takes the keys
        <div
          key={command.name}
          id={`${id}-${i}`}
          role="option"
          tabIndex={-1}
          aria-selected={i === Math.min(at, hints.length - 1)}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(command)}
        >
          <code>{command.name}</code>
          {command.takes && <em>{command.takes}</em>}
          <span>{command.does}</span>
        </div>
      ))}
    </div>
  );
}
