import type { NetNode } from "./graphLayout";

/** A node's shape for a legend; shapes are of one size to the eye. */
export function Shape({ shape, radius }: { shape: NetNode["shape"]; radius: number }) {
  const half = radius * 0.9;
  switch (shape) {
    case "sheet":
      return (
        <rect
          fill="var(--tone, var(--ink-3))"
          x={-0.7 * radius}
          y={-radius}
          width={1.4 * radius}
          height={2 * radius}
          rx={1}
        />
      );
    case "square":
      return (
        <rect
          fill="var(--tone, var(--ink-3))"
          x={-half}
          y={-half}
          width={2 * half}
          height={2 * half}
          rx={1}
        />
      );
    case "diamond":
      return (
        <path
          fill="var(--tone, var(--ink-3))"
          d={`M0 ${-1.2 * radius}L${radius} 0 0 ${1.2 * radius} ${-radius} 0Z`}
        />
      );
    case "triangle":
      return (
        <path
          fill="var(--tone, var(--ink-3))"
          d={`M0 ${-1.1 * radius}L${1.1 * radius} ${half} ${-1.1 * radius} ${half}Z`}
        />
      );
    default:
      return <circle fill="var(--tone, var(--ink-3))" r={radius} />;
  }
}
