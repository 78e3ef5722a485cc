import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { type Folder, tempFolder } from './folder.ts'
import { freePort } from './port.ts'

const examples = join(import.meta.dir, '../../examples')
const START_MAX_MS = 120_000

/** The receivers of examples/, one a language: the command each needs, and how it is run on `port`. */
export const LANGUAGES = {
  javascript: { needs: 'node', file: 'receiver.mjs', run: (file) => ['node', file] },
  python: { needs: 'python3', file: 'receiver.py', run: (file) => ['python3', file] },
  go: { needs: 'go', file: 'receiver.go', run: (file) => ['go', 'run', file] },
  ruby: { needs: 'ruby', file: 'receiver.rb', run: (file) => ['ruby', file] },
  php: {
    needs: 'php',
    file: 'receiver.php',
    run: (file, port) => ['php', '-q', '-S', `127.0.0.1:${port}`, file],
  },
  java: { needs: 'java', file: 'Receiver.java', run: (file) => ['java', file] },
} satisfies Record<
  string,
  { needs: string; file: string; run: (file: string, port: number) => string[] }
>
export type Language = keyof typeof LANGUAGES

export type Running = {
  url: string
  /** Every line it has printed. */
  lines: string[]
  /** Resolves when it has printed a line that holds `text`; throws when it has ended before. */
  waitForLine(text: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Runs a receiver of examples/receivers as its first line says, and waits until it listens. */
export async function runReceiver(language: Language, secret: string): Promise<Running> {
  const port = freePort()
  const { file, run } = LANGUAGES[language]
  return runExample(run(join(examples, 'receivers', file), port), { FORUMD_SECRET: secret }, port)
}

async function runExample(
  command: string[],
  settings: Record<string, string>,
  port: number,
): Promise<Running> {
  const folder: Folder = tempFolder()
  mkdirSync(folder.file('seen'))
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder.path,
    LANG: 'C.UTF-8',
    PORT: String(port),
    FORUMD_SEEN: folder.file('seen'),
    ...settings,
  }
  const running = await startListening(command, env, port)
  return {
    ...running,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

/** Starts a program with nothing in its environment but `env`, and waits until it listens on `port`. */
export async function startListening(
  command: string[],
  env: Record<string, string>,
  port: number,
): Promise<Running> {
  const [name = '', ...args] = command
  const child = Bun.spawn([Bun.which(name, { PATH: env['PATH'] ?? '' }) ?? name, ...args], {
    cwd: env['HOME'] ?? '/',
    env,
    stdout: 'pipe',
    stderr: 'pipe',
    // `go run` starts the program as a child of its own: both are ended together.
    detached: true,
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const wake = () => waiting.forEach((it) => it())
  const drained = Promise.all([
    drain(child.stdout, (line) => {
      lines.push(line)
      wake()
    }),
    new Response(child.stderr).text(),
  ])
  const ended = child.exited.then(async (code) => {
    wake()
    throw new Error(`${command.join(' ')} ended with ${code}: ${(await drained)[1]}`)
  })
  ended.catch(() => {})

  await Promise.race([listening(port), ended])
  return {
    url: `http://127.0.0.1:${port}/`,
    lines,
    waitForLine: (text) => {
      const line_printed = (async () => {
        while (!lines.some((line) => line.includes(text)))
          await new Promise<void>((resolve) => waiting.add(resolve))
      })()
      return Promise.race([line_printed, ended])
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL')
      await child.exited
    },
  }
}

/** Resolves once a server listens on the port. */
async function listening(port: number): Promise<void> {
  for (let waited = 0; waited < START_MAX_MS; waited += 50) {
    const open = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: { data() {} },
    }).then(
      (socket) => {
        socket.end()
        return true
      },
      () => false,
    )
    if (open) return
    await Bun.sleep(50)
  }
  throw new Error(`no server listens on ${port}`)
}

async function drain(stream: ReadableStream<Uint8Array>, take: (line: string) => void) {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    parts.forEach(take)
  }
}
