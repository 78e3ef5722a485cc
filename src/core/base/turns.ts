/** Characters of others that are worked on at once. */
const TURN = 128 * 1024

let last = Promise.resolve()

/** A turn of the event loop that no other caller has: where ten sources answer at once, other work runs between their answers. */
export function nextTurn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => void setImmediate(resolve)))
  return last
}

/** Lets other work of the process run whenever so many characters were announced. */
export function createTurns(): (characters: number) => Promise<void> {
  let waiting = 0
  return async (characters) => {
    waiting += characters
    if (waiting < TURN) return
    waiting = 0
    await nextTurn()
  }
}
