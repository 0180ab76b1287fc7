// A browser has six connections to a server for all of its tabs (HTTP/1.1): so many of them may be answers that
// stream, beside what tells of notices, conversations and the vault. A tab without a place looks in on its answer now and then, and nothing that is clicked has to wait.

const PLACES = 2;

/** A place among all tabs; null when all are taken. Gives what leaves it; a tab that is gone has left. */
export async function streamPlace(): Promise<(() => void) | null> {
  const locks = globalThis.navigator?.locks;
  if (!locks) return () => undefined;
  for (let number = 0; number < PLACES; number += 1) {
    const leave = await taken(locks, `bethink-stream-${number}`);
    if (leave) return leave;
  }
  return null;
}

function taken(locks: LockManager, name: string): Promise<(() => void) | null> {
  return new Promise((give) => {
    const hold = (lock: Lock | null) => (lock ? new Promise<void>(give) : give(null));
    locks.request(name, { ifAvailable: true }, hold).catch(() => give(null));
  });
}
