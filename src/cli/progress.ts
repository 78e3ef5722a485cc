import type { Surroundings } from './command.ts'

/** A line at the foot of a terminal that says what is going on; gone when it is disposed of. */
export type Bar = Disposable & {
  /** Shows what is being done, and how much of it is: 0 to 1, null where nobody can tell. */
  show(what: string, share: number | null): void
}

const NO_BAR: Bar = { show: () => {}, [Symbol.dispose]: () => {} }
const WIDTH = 24
const ERASE = '\r\u001b[K'

/** A bar on the terminal; one that shows nothing where there is none. */
export function openBar(screen: Surroundings['screen']): Bar {
  if (screen === null) return NO_BAR
  let is_shown = false
  return {
    show(what, share) {
      is_shown = true
      screen.write(ERASE + `${gauge(share)}${what}`.slice(0, Math.max(0, screen.columns() - 1)))
    },
    [Symbol.dispose]() {
      if (is_shown) screen.write(ERASE)
      is_shown = false
    },
  }
}

function gauge(share: number | null): string {
  if (share === null) return '… '
  const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH)
  const percent = `${Math.floor(Math.min(1, Math.max(0, share)) * 100)}`.padStart(3)
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${percent} %  `
}

const SAMPLE_MS = 100

/** Shows how far some work is, as `sample` tells it, until it has ended. */
export async function withBar<T>(
  { screen }: Pick<Surroundings, 'screen'>,
  {
    what,
    sample,
    sleep,
  }: {
    what: string
    sample: () => number | null
    sleep: (ms: number, signal: AbortSignal) => Promise<void>
  },
  work: Promise<T>,
): Promise<T> {
  if (screen === null) return work
  const ended = new AbortController()
  using bar = openBar(screen)
  const shown = (async () => {
    while (!ended.signal.aborted) {
      bar.show(what, sample())
      await sleep(SAMPLE_MS, ended.signal)
    }
  })()
  try {
    return await work
  } finally {
    ended.abort()
    await shown
  }
}
