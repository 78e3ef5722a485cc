import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Thrown if a program that a bench needs is not installed. */
export class NotHere extends Error {
  override name = 'NotHere'
}

/**
 * Path of a program.
 *
 * @throws {NotHere} with the Debian package that contains it
 */
export function program(name: string, debian: string, folders: readonly string[] = []): string {
  const found =
    Bun.which(name) ??
    [...folders, '/usr/sbin', '/usr/local/sbin']
      .map((it) => join(it, name))
      .find((it) => existsSync(it))
  if (found === undefined) throw new NotHere(`${name} is not installed (Debian: ${debian})`)
  return found
}

/** Flags and their values as command-line arguments. */
export const flags = (values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).flat()

const running = new Set<Bun.Subprocess>()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const it of running) it.kill('SIGKILL')
    process.exit(130)
  })

export type Child = AsyncDisposable & {
  pid: number
  /**
   * Returns the next line of its output.
   *
   * @throws {Error} if it exits before
   */
  line(): Promise<string>
}

type Choice = {
  cwd?: string
  env?: Record<string, string>
  stop?: 'SIGTERM' | 'SIGINT'
  /** Passes its stderr through; otherwise it is printed only on an early exit. */
  loud?: boolean
}

/** Starts a process that runs until it is disposed of. */
export function start(command: readonly string[], choice: Choice = {}): Child {
  const child = Bun.spawn([...command], {
    ...(choice.cwd !== undefined && { cwd: choice.cwd }),
    env: { ...process.env, ...choice.env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: choice.loud === false ? 'ignore' : 'inherit',
  })
  running.add(child)
  const lines = linesOf(child.stdout)
  return {
    pid: child.pid,
    async line() {
      const next = await lines.next()
      if (next.done === true) throw new Error(`${command[0]} ended with ${await child.exited}`)
      return next.value
    },
    async [Symbol.asyncDispose]() {
      child.kill(choice.stop ?? 'SIGTERM')
      const ended = await Promise.race([child.exited, Bun.sleep(15_000)])
      if (ended === undefined) child.kill('SIGKILL')
      await child.exited
      running.delete(child)
    },
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** Waits until a server answers at the address. */
export async function answering(url: string): Promise<void> {
  const until = performance.now() + 60_000
  for (;;) {
    const here = await fetch(url, { keepalive: false }).then(
      (it) => it.ok,
      () => false,
    )
    if (here) return
    if (performance.now() > until) throw new Error(`no answer from ${url}`)
    await Bun.sleep(20)
  }
}

/** A temporary folder, removed when disposed of. */
export function temporaryFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'forumd-bench-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** A process and its descendants. */
function familyOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return [pid, ...children.flatMap((it) => familyOf(Number(it)))]
}

const TICK_MS = 10

/** Processor time of a process and its descendants, in ms. */
export function cpuOf(pid: number): number {
  return familyOf(pid).reduce((sum, it) => {
    const stat = readFileSync(`/proc/${it}/stat`, 'utf8')
    // The name in brackets may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return sum + (Number(fields[11]) + Number(fields[12])) * TICK_MS
  }, 0)
}

/** Memory of a process and its descendants, in MB: all of it (`VmRSS`), or what no file backs (`RssAnon`). */
export function memoryOf(pid: number, kind: 'VmRSS' | 'RssAnon'): number {
  return familyOf(pid).reduce((sum, it) => {
    const status = readFileSync(`/proc/${it}/status`, 'utf8')
    return sum + Number(new RegExp(`${kind}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024
  }, 0)
}
