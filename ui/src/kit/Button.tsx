import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, Ref } from "react";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  /** `fault` warns of what takes away, `danger` is filled: what destroys for good. */
  look?: "plain" | "primary" | "quiet" | "fault" | "danger";
  icon?: LucideIcon;
  ref?: Ref<HTMLButtonElement>;
};

export function Button({ look = "plain", icon: Icon, children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} className={`button ${look} ${rest.className ?? ""}`}>
      {Icon && <Icon size={16} aria-hidden />}
      {children}
    </button>
  );
}

type IconButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  icon: LucideIcon;
  label: string;
  size?: number;
  /** The shortcut that does the same, for its tip. */
  combo?: string;
  ref?: Ref<HTMLButtonElement>;
};

/** A button that is only an icon; `label` is its name for assistive technology and its tip. */
export function IconButton({ icon: Icon, label, size = 18, combo, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      data-tip={label}
      data-combo={combo}
      {...rest}
      className={`icon-button ${rest.className ?? ""}`}
    >
      <Icon size={size} strokeWidth={1.75} aria-hidden />
    </button>
  );
}
