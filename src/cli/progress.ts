import type { CommandContext } from './command.ts'

/** A progress line at the bottom of a terminal, removed when it is disposed. */
export type Bar = Disposable & {
  /** Shows the current work and its share done, 0 to 1; null: unknown. */
  update(what: string, share: number | null): void
}

const NO_BAR: Bar = { update: () => {}, [Symbol.dispose]: () => {} }
const WIDTH = 24
const ERASE = '\r\u001b[K'

/** Opens a bar on the terminal; without a terminal it shows nothing. */
export function openBar(screen: CommandContext['screen']): Bar {
  if (screen === null) return NO_BAR
  let is_visible = false
  return {
    update(what, share) {
      is_visible = true
      screen.write(ERASE + `${gauge(share)}${what}`.slice(0, Math.max(0, screen.columns() - 1)))
    },
    [Symbol.dispose]() {
      if (is_visible) screen.write(ERASE)
      is_visible = false
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

/** Shows the progress of some work, measured by `sample`, until the work ends. */
export async function withBar<T>(
  { screen }: Pick<CommandContext, 'screen'>,
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
  const updates = (async () => {
    while (!ended.signal.aborted) {
      bar.update(what, sample())
      await sleep(SAMPLE_MS, ended.signal)
    }
  })()
  try {
    return await work
  } finally {
    ended.abort()
    await updates
  }
}
