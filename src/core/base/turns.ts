/** Characters of others that are worked on at once. */
const TURN = 128 * 1024

/** Lets other work of the process run whenever so many characters were announced. */
export function createTurns(): (characters: number) => Promise<void> {
  let waiting = 0
  return async (characters) => {
    waiting += characters
    if (waiting < TURN) return
    waiting = 0
    await new Promise((resolve) => setImmediate(resolve))
  }
}
