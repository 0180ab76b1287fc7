// Runs before the first paint, so that what was chosen never flashes. src/services/look.ts writes what it reads.
try {
  const look = JSON.parse(localStorage.getItem("bethink.look") ?? "{}");
  const others = {
    theme: ["light", "dark"],
    answers: ["serif"],
    size: ["small", "large", "larger"],
    density: ["compact"],
  };
  for (const [mark, known] of Object.entries(others)) {
    if (known.includes(look[mark])) document.documentElement.dataset[mark] = look[mark];
  }
} catch {
  // Storage is closed to us: the page is as usual.
}
