import { readdirSync, readFileSync } from 'node:fs'

/** A process that is alive: its group and how it was called. */
type Process = { pid: number; group: number; command: string }

/** Every living process of this machine; those that are dead and not yet buried do not count. */
function living(): Process[] {
  return readdirSync('/proc')
    .filter((it) => /^\d+$/.test(it))
    .flatMap((pid) => {
      try {
        // `pid (name) state parent group …`, where the name may hold anything.
        const [state = '', , group = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1')
          .replace(/^.*\) /s, '')
          .split(' ')
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
        return state === 'Z' ? [] : [{ pid: Number(pid), group: Number(group), command }]
      } catch {
        // It went while we looked.
        return []
      }
    })
}

/** What lives of the browsers whose files are in a folder: their groups, and helpers that left them. */
export function browsersOf(folder: string, groups: readonly number[]): Process[] {
  return living().filter(({ group, command }) => groups.includes(group) || command.includes(folder))
}

const GONE_MS = 10_000

/** Waits until nothing of them lives; what still does after that is answered. */
export async function leftOf(folder: string, groups: readonly number[]): Promise<Process[]> {
  const until = Date.now() + GONE_MS
  for (;;) {
    const left = browsersOf(folder, groups)
    if (left.length === 0 || Date.now() > until) return left
    await Bun.sleep(50)
  }
}
