// Runs before the first paint, so that a chosen theme never flashes. src/app/look.ts writes what it reads.
try {
  const look = JSON.parse(localStorage.getItem("bethink.look") ?? "{}");
  if (look.theme === "light" || look.theme === "dark") {
    document.documentElement.dataset.theme = look.theme;
  }
  if (look.answers === "serif") {
    document.documentElement.dataset.answers = "serif";
  }
} catch {
  // Storage is closed to us: the system's theme it is.
}
