import { readdirSync, readFileSync } from 'node:fs'

/** A live process: its group and command line. */
type Process = { pid: number; group: number; command: string }

/** All live processes of this machine, without zombies. */
function listProcesses(): Process[] {
  return readdirSync('/proc')
    .filter((it) => /^\d+$/.test(it))
    .flatMap((pid) => {
      try {
        // `pid (name) state parent group …`; the name may contain any character.
        const [state = '', , group = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1')
          .replace(/^.*\) /s, '')
          .split(' ')
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
        return state === 'Z' ? [] : [{ pid: Number(pid), group: Number(group), command }]
      } catch {
        // The process ended during the scan.
        return []
      }
    })
}

/** Live processes of the browsers whose files are in a folder, including helpers outside their groups. */
export function browsersOf(folder: string, groups: readonly number[]): Process[] {
  return listProcesses().filter(
    ({ group, command }) => groups.includes(group) || command.includes(folder),
  )
}

const GONE_MS = 10_000

/** Waits until these processes have ended and returns those that have not. */
export async function leftOf(folder: string, groups: readonly number[]): Promise<Process[]> {
  const until = Date.now() + GONE_MS
  for (;;) {
    const left = browsersOf(folder, groups)
    if (left.length === 0 || Date.now() > until) return left
    await Bun.sleep(50)
  }
}
