const root = new URL('../..', import.meta.url).pathname
/** Command of the program as it ships, or of its source when `FORUMD_BINARY` names no executable. */
export const PROGRAM: readonly string[] = process.env['FORUMD_BINARY']
  ? [process.env['FORUMD_BINARY']]
  : [process.execPath, `${root}src/main.ts`]

/** On a machine that has other things to do, too. */
const START_MAX_MS = 60_000

export type DaemonProcess = {
  /** Where it listens. */
  url: string
  pid: number
  /** Sends the signal and waits for the end; answers the exit code, null when the signal ended it. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
  /** Every line it has logged so far. */
  lines: string[]
  /** Resolves when it has ended, for any reason. */
  ended: Promise<void>
}

/**
 * Runs `forumd serve` as an operator's machine would, and waits until it listens. `under` is what it is run under, such
 * as a tracer.
 */
export async function startProcess(
  config_path: string,
  under: readonly string[] = [],
): Promise<DaemonProcess> {
  const child = Bun.spawn([...under, ...PROGRAM, 'serve', '--config', config_path], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const lines: string[] = []
  let pid = child.pid
  const listening = Promise.withResolvers<string>()
  const drained = drain(child.stdout, (line) => {
    lines.push(line)
    const { event, url, pid: own } = JSON.parse(line)
    if (event === 'serve.starting') pid = own
    if (event === 'serve.listening') listening.resolve(url)
  })
  const gone = child.exited.then((code) => {
    throw new Error(`forumd ended with ${code} before it listened:\n${lines.join('\n')}`)
  })
  const start_timeout = Bun.sleep(START_MAX_MS).then(() => {
    throw new Error('forumd did not listen in time')
  })
  start_timeout.catch(() => {})
  gone.catch(() => {})
  const url = await Promise.race([listening.promise, gone, start_timeout])
  return {
    url,
    pid,
    lines,
    ended: child.exited.then(() => {}),
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) sendTo(pid, signal)
      await child.exited
      await drained
      return child.exitCode
    },
  }
}

/** To the daemon's own process, which a tracer would leave behind. A tracer also outlives it for a moment. */
function sendTo(pid: number, signal: 'SIGKILL' | 'SIGTERM') {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** One run of `forumd` that ends with 0, and its output. */
export async function runForumd(args: readonly string[]): Promise<string> {
  const { code, out, err } = await runForumdToEnd(args)
  if (code !== 0) throw new Error(`forumd ${args.join(' ')} ended with ${code}: ${err}`)
  return out
}

/** One run of `forumd` to its end, with any exit code. */
export async function runForumdToEnd(
  args: readonly string[],
): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([...PROGRAM, ...args], { stdout: 'pipe', stderr: 'pipe' })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, err }
}

async function drain(stream: ReadableStream<Uint8Array>, take: (line: string) => void) {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    // A process that was killed may leave half a line behind.
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('{')) take(line)
  }
}

export type LogLine = { event: string; level: string } & Record<string, unknown>

const serving: Bun.Subprocess[] = []
/** Ends every process that `serve` started. */
export function endServing(): void {
  for (const child of serving) child.kill('SIGKILL')
}

/** `forumd serve`, whose log can be waited for. `under`: what it is run under, such as a tracer. */
export function serve(
  config: string,
  { options = [], under = [] }: { options?: readonly string[]; under?: readonly string[] } = {},
) {
  const child = Bun.spawn([...under, ...PROGRAM, 'serve', '--config', config, ...options], {
    stdout: 'pipe',
    stderr: 'pipe',
  })
  serving.push(child)
  const lines: LogLine[] = []
  let wake = Promise.withResolvers<void>()
  let isDrained = false
  const stderr = new Response(child.stderr).text()
  const drained = (async () => {
    let rest = ''
    for await (const chunk of child.stdout) {
      const parts = (rest + Buffer.from(chunk).toString()).split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts.map((line): LogLine => JSON.parse(line)))
      wake.resolve()
      wake = Promise.withResolvers()
    }
    isDrained = true
    wake.resolve()
  })()
  return {
    lines,
    /** True until it has ended. */
    runs: () => child.exitCode === null && child.signalCode === null,
    async until(event: string): Promise<LogLine> {
      for (;;) {
        const found = lines.find((line) => line.event === event)
        if (found) return found
        // The output can end before the exit is known: a wait for more of it would then never yield.
        if (isDrained)
          throw new Error(`it ended with ${await child.exited} before ${event}: ${await stderr}`)
        await wake.promise
      }
    },
    async ended() {
      const [err, code] = await Promise.all([stderr, child.exited])
      await drained
      return { code, err }
    },
    /** To the program itself: a tracer would not pass it on. */
    stop() {
      const pid = lines.find(({ event }) => event === 'serve.starting')?.['pid']
      process.kill(typeof pid === 'number' ? pid : child.pid, 'SIGTERM')
    },
  }
}
