import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve as absolute } from 'node:path'
import { Readable, Writable } from 'node:stream'

import type { Browser as Chromium } from 'puppeteer-core'

import type { Clock } from '../../outside.ts'
import { environmentOf, flagsOf } from './flags.ts'
import { overPipe } from './pipe.ts'

/** A Chromium that runs. */
export type Running = {
  chromium: Chromium
  /** Leader of the group of all its processes. */
  pid: number
  /** Whether it runs without its sandbox. */
  bare: boolean
  /** Ends every process of it and removes what it wrote. Never rejects. */
  kill(): Promise<void>
}

/** A browser that runs, or why none does. */
export type Launched = { ok: true; running: Running } | { ok: false; why: string }

export type LaunchOptions = {
  /** A path, or a name on PATH; empty: whichever is found first. */
  executable: string
  /** Chromium's own: `auto` does without where the system does not let it. */
  sandbox: 'auto' | boolean
  /** Where profiles are made. */
  folder: string
  /** Put behind Chromium's own. */
  user_agent: string
  /** Fingerprint of the one key that is believed without an authority. */
  believed: string | null
  clock: Clock
}

const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'chrome',
  'chromium-headless-shell',
]
const LAUNCH_MS = 30_000
const EXIT_MS = 5_000
const TOLD_MAX = 16_384

/** Where the browser is; null when there is none. */
export const findChromium = (executable: string): string | null =>
  executable === ''
    ? (NAMES.map((name) => Bun.which(name)).find((it) => it !== null) ?? null)
    : Bun.which(executable)

/** Starts Chromium on a pipe: when we die, its end of the pipe closes and it goes too. Never rejects. */
export function createLaunch(options: LaunchOptions) {
  const { executable, sandbox, folder, user_agent, believed, clock } = options
  /** What Chromium of a version calls itself; asking needs one start. */
  let own: { version: string; user_agent: string } | null = null
  const named = () => (own === null ? null : `${own.user_agent} ${user_agent}`)
  let sandboxed = sandbox === 'auto' ? process.getuid?.() !== 0 : sandbox

  async function start(path: string, as: string | null): Promise<Launched> {
    const first = await once(path, { sandboxed, user_agent: as, believed, folder, clock })
    if (first.ok || sandbox !== 'auto' || !sandboxed || !/sandbox/i.test(first.why)) return first
    const second = await once(path, { sandboxed: false, user_agent: as, believed, folder, clock })
    if (second.ok) sandboxed = false
    return second.ok ? second : first
  }

  return async (): Promise<Launched> => {
    const path = findChromium(executable)
    if (path === null) return { ok: false, why: missing(executable) }
    let launched = await start(path, named())
    for (let tries = 0; launched.ok && tries < 2; tries++) {
      const { chromium, kill } = launched.running
      const version = await chromium.version().catch(() => null)
      if (version === null) {
        await kill()
        return { ok: false, why: `${path} ended as soon as it had started` }
      }
      if (own?.version === version) return launched
      // Another version than the last one, or the first: it is asked for its own name, and begins again under both.
      const told = own === null ? await chromium.userAgent().catch(() => null) : null
      own = told === null ? null : { version, user_agent: told }
      await kill()
      launched = await start(path, named())
    }
    return launched
  }
}

export type Launch = ReturnType<typeof createLaunch>

const missing = (executable: string): string =>
  executable === ''
    ? `no Chromium or Chrome on PATH (looked for ${NAMES.join(', ')}): install chromium, or set [browser] executable`
    : `[browser] executable names ${executable}, which cannot be run: install Chromium or Chrome there, or leave it empty to search PATH`

type Start = Omit<Parameters<typeof flagsOf>[0], 'profile'> & { folder: string; clock: Clock }

async function once(path: string, { folder, clock, ...start }: Start): Promise<Launched> {
  let profile: string
  let temporary: string
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Absolute: it is started elsewhere.
    profile = absolute(mkdtempSync(join(folder, 'chromium-')))
    temporary = join(profile, 'tmp')
    mkdirSync(temporary)
  } catch {
    return { ok: false, why: `no folder can be made in ${folder}` }
  }
  const child = spawn(path, flagsOf({ profile, ...start }), {
    cwd: temporary,
    // A group of its own, which can be ended as a whole.
    detached: true,
    env: environmentOf(profile, process.env),
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  })
  const said = listen(child)
  const kill = endOf(child, profile, clock)
  const connected = await connect(child, said.gone, clock)
  if (connected !== null && child.pid !== undefined)
    return {
      ok: true,
      running: { chromium: connected, pid: child.pid, bare: !start.sandboxed, kill },
    }
  await kill()
  return { ok: false, why: reasonOf(path, said.text()) }
}

/** What it says while it starts, and its end. */
function listen(child: ChildProcess) {
  let text = ''
  child.stderr?.on('data', (chunk: Uint8Array) => {
    text = (text + new TextDecoder().decode(chunk)).slice(-TOLD_MAX)
  })
  child.stderr?.on('error', () => {})
  const gone = new Promise<null>((resolve) => {
    // `close` comes once all of stderr has been read.
    child.once('close', () => resolve(null))
    child.once('error', (error) => {
      text += 'code' in error ? `spawn ${String(error.code)}` : 'spawn'
      resolve(null)
    })
  })
  return { text: () => text, gone }
}

/** Speaks with it over its pipe; null when it did not answer. */
async function connect(child: ChildProcess, gone: Promise<null>, clock: Clock) {
  const [, , , write, read] = child.stdio
  if (!(write instanceof Writable) || !(read instanceof Readable)) return null
  // Loaded here and not before: most daemons never need it.
  const { default: puppeteer } = await import('puppeteer-core')
  const late = new AbortController()
  const connecting = puppeteer
    .connect({ transport: overPipe(write, read), defaultViewport: null, protocolTimeout: 120_000 })
    .catch(() => gone)
  const connected = await Promise.race([
    connecting,
    gone,
    clock.sleep(LAUNCH_MS, late.signal).then(() => null),
  ])
  late.abort()
  return connected
}

function endOf(child: ChildProcess, profile: string, clock: Clock): Running['kill'] {
  let ending: Promise<void> | null = null
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const end = async () => {
    if (child.pid !== undefined) killGroup(child.pid)
    const late = new AbortController()
    await Promise.race([exited, clock.sleep(EXIT_MS, late.signal)])
    late.abort()
    for (const stream of child.stdio) stream?.destroy()
    try {
      rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
    } catch {
      // The next start of the daemon removes what is left.
    }
  }
  return () => (ending ??= end())
}

/** All of it, whoever is left of it. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // There is none left.
  }
}

/** One sentence from what Chromium said before it went. */
function reasonOf(path: string, said: string): string {
  const library = /error while loading shared libraries: (\S+?):/.exec(said)?.[1]
  if (library !== undefined) return `${path} needs the library ${library}, which is not installed`
  if (/no-sandbox|no usable sandbox|setuid sandbox/i.test(said))
    return `${path} cannot use its sandbox here: run the daemon as a user who may, or set [browser] sandbox = false`
  const spawned = /\bspawn (\w+)/.exec(said)?.[1]
  if (spawned !== undefined) return `${path} cannot be run (${spawned})`
  const line = said
    .split('\n')
    .map((it) => it.replace(/^\[[^\]]*\]\s*/, '').trim())
    .findLast((it) => it !== '')
  return `${path} ended before it answered${line === undefined ? '' : `: ${line.slice(0, 200)}`}`
}
