import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve as absolute } from 'node:path'
import { Readable, Writable } from 'node:stream'

import type { Browser as Chromium, ConnectionTransport } from 'puppeteer-core'

import type { Clock } from '../../../runtime/runtime.ts'

/**
 * Command line of Chromium. The flags turn off requests to third parties and functions for a person
 * at the screen. None hides that a program drives the browser, and `--enable-automation` says so.
 */
const FLAGS: readonly string[] = [
  '--headless=new',
  '--enable-automation',
  '--remote-debugging-pipe',
  // No requests except those of the opened pages.
  '--disable-background-networking',
  '--disable-client-side-phishing-detection',
  '--disable-component-update',
  '--component-updater=url-source=http://127.0.0.1:1/x,disable-background-downloads',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-field-trial-config',
  '--disable-quic',
  '--disable-sync',
  '--disable-search-engine-choice-screen',
  '--gaia-url=http://127.0.0.1:1',
  '--metrics-recording-only',
  '--no-first-run',
  '--no-default-browser-check',
  '--no-pings',
  '--disable-features=Translate,MediaRouter,OptimizationHints,NetworkTimeServiceQuerying,AcceptCHFrame,AutofillServerCommunication',
  // A context without a proxy of its own reaches nothing, and WebRTC does not reveal our address
  // beside its proxy.
  '--proxy-server=http://127.0.0.1:1',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // The window is never visible, so work must not wait until it is.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-breakpad',
  '--disable-crash-reporter',
  '--disable-dev-shm-usage',
  '--disable-extensions',
  '--disable-prompt-on-repost',
  '--hide-scrollbars',
  '--mute-audio',
  '--password-store=basic',
  '--use-mock-keychain',
  // A page that needs more memory crashes instead of exhausting the machine.
  '--js-flags=--max-old-space-size=512',
]

/** `user_agent` null: Chromium's own. `believed`: the fingerprint of a trusted key. */
export const flagsOf = (start: {
  profile: string
  sandboxed: boolean
  user_agent: string | null
  believed: string | null
}): string[] => [
  ...FLAGS,
  `--user-data-dir=${start.profile}`,
  ...(start.sandboxed ? [] : ['--no-sandbox']),
  ...(start.user_agent === null ? [] : [`--user-agent=${start.user_agent}`]),
  ...(start.believed === null ? [] : [`--ignore-certificate-errors-spki-list=${start.believed}`]),
  'about:blank',
]

/**
 * Environment of Chromium: an excerpt of ours, because the rest may hold secrets and proxy
 * settings. Its home is its profile. Its temporary folder is its working folder, which is removed
 * with the profile: a killed Chromium leaves the folder of a socket there. The path is relative, because
 * an absolute one could be too long for a socket.
 */
export function environmentOf(profile: string, ours: NodeJS.ProcessEnv): Record<string, string> {
  const names = ['PATH', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'FONTCONFIG_PATH']
  const passed = names.flatMap((name) => {
    const value = ours[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(passed), HOME: profile, TMPDIR: '.' }
}

const END = 0

/** Connects puppeteer to the browser's pipe: JSON messages, each followed by a zero byte. */
function overPipe(write: Writable, read: Readable): ConnectionTransport {
  let pending: Uint8Array[] = []
  const decoder = new TextDecoder()

  const transport: ConnectionTransport = {
    send(message) {
      write.write(`${message}\0`)
    },
    close() {
      write.destroy()
      read.destroy()
    },
  }

  function take(chunk: Uint8Array) {
    let from = 0
    for (let end = chunk.indexOf(END); end !== -1; end = chunk.indexOf(END, from)) {
      pending.push(chunk.subarray(from, end))
      const message = decoder.decode(pending.length === 1 ? pending[0] : Buffer.concat(pending))
      pending = []
      from = end + 1
      // One turn per message: the handler of one may be the first to wait for the next.
      setImmediate(() => transport.onmessage?.(message))
    }
    if (from < chunk.length) pending.push(chunk.subarray(from))
  }

  let over = false
  const end = () => {
    if (over) return
    over = true
    setImmediate(() => transport.onclose?.())
  }
  read.on('data', take)
  for (const stream of [write, read]) {
    stream.on('close', end)
    // A dead browser is reported by its exit, not by a failed write.
    stream.on('error', end)
  }
  return transport
}

export type LaunchedBrowser = {
  chromium: Chromium
  /** Leader of the process group of all its processes. */
  pid: number
  /** True if it runs without its sandbox. */
  bare: boolean
  /** Ends all its processes and removes its files. Never rejects. */
  kill(): Promise<void>
}

export type Launched = { ok: true; running: LaunchedBrowser } | { ok: false; why: string }

export type LaunchOptions = {
  /** A path, or a name on PATH; empty: the first one found. */
  executable: string
  /** Chromium's own sandbox; `auto`: without it if the system does not permit it. */
  sandbox: 'auto' | boolean
  folder: string
  /** Appended to Chromium's own. */
  user_agent: string
  /** Fingerprint of the one key that is trusted without an authority. */
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
const STDERR_MAX = 16_384

/** Path of the browser; null if there is none. */
export const findChromium = (executable: string): string | null =>
  executable === ''
    ? (NAMES.map((name) => Bun.which(name)).find((it) => it !== null) ?? null)
    : Bun.which(executable)

/**
 * Starts Chromium on a pipe: when this process dies, its end of the pipe closes and Chromium exits
 * too. Never rejects.
 */
export function createLaunch(options: LaunchOptions) {
  const { executable, sandbox, folder, user_agent, believed, clock } = options
  /** Chromium's own user agent per version; reading it needs one start. */
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
        return { ok: false, why: `${path} exited right after its start` }
      }
      if (own?.version === version) return launched
      // First start of this version: reads its own user agent and starts again with both.
      const native_user_agent = own === null ? await chromium.userAgent().catch(() => null) : null
      own = native_user_agent === null ? null : { version, user_agent: native_user_agent }
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
    // Absolute, because Chromium starts in another folder.
    profile = absolute(mkdtempSync(join(folder, 'chromium-')))
    temporary = join(profile, 'tmp')
    mkdirSync(temporary)
  } catch {
    return { ok: false, why: `cannot create a folder in ${folder}` }
  }
  const child = spawn(path, flagsOf({ profile, ...start }), {
    cwd: temporary,
    // A process group of its own, which can be killed as a whole.
    detached: true,
    env: environmentOf(profile, process.env),
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  })
  const output = listen(child)
  const kill = endOf(child, profile, clock)
  const connected = await connect(child, output.gone, clock)
  if (connected !== null && child.pid !== undefined)
    return {
      ok: true,
      running: { chromium: connected, pid: child.pid, bare: !start.sandboxed, kill },
    }
  await kill()
  return { ok: false, why: reasonOf(path, output.text()) }
}

/** Collects the start-up output and observes the exit. */
function listen(child: ChildProcess) {
  let text = ''
  child.stderr?.on('data', (chunk: Uint8Array) => {
    text = (text + new TextDecoder().decode(chunk)).slice(-STDERR_MAX)
  })
  child.stderr?.on('error', () => {})
  const gone = new Promise<null>((resolve) => {
    // `close` follows after all of stderr was read.
    child.once('close', () => resolve(null))
    child.once('error', (error) => {
      text += 'code' in error ? `spawn ${String(error.code)}` : 'spawn'
      resolve(null)
    })
  })
  return { text: () => text, gone }
}

/** Connects over the pipe; null if Chromium did not answer. */
async function connect(child: ChildProcess, gone: Promise<null>, clock: Clock) {
  const [, , , write, read] = child.stdio
  if (!(write instanceof Writable) || !(read instanceof Readable)) return null
  // Imported on first use: most daemons never need it.
  const { default: puppeteer } = await import('puppeteer-core')
  const timer = new AbortController()
  const connecting = puppeteer
    .connect({ transport: overPipe(write, read), defaultViewport: null, protocolTimeout: 120_000 })
    .catch(() => gone)
  const connected = await Promise.race([
    connecting,
    gone,
    clock.sleep(LAUNCH_MS, timer.signal).then(() => null),
  ])
  timer.abort()
  return connected
}

function endOf(child: ChildProcess, profile: string, clock: Clock): LaunchedBrowser['kill'] {
  let ending: Promise<void> | null = null
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const end = async () => {
    if (child.pid !== undefined) killGroup(child.pid)
    const timer = new AbortController()
    await Promise.race([exited, clock.sleep(EXIT_MS, timer.signal)])
    timer.abort()
    for (const stream of child.stdio) stream?.destroy()
    try {
      rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
    } catch {
      // The next start of the daemon removes the rest.
    }
  }
  return () => (ending ??= end())
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has no processes left.
  }
}

/** One sentence from Chromium's output before its exit. */
function reasonOf(path: string, output: string): string {
  const library = /error while loading shared libraries: (\S+?):/.exec(output)?.[1]
  if (library !== undefined) return `${path} needs the library ${library}, which is not installed`
  if (/no-sandbox|no usable sandbox|setuid sandbox/i.test(output))
    return `${path} cannot use its sandbox here: run the daemon as a user that may use it, or set [browser] sandbox = false`
  const spawned = /\bspawn (\w+)/.exec(output)?.[1]
  if (spawned !== undefined) return `${path} cannot be run (${spawned})`
  const line = output
    .split('\n')
    .map((it) => it.replace(/^\[[^\]]*\]\s*/, '').trim())
    .findLast((it) => it !== '')
  return `${path} ended before it answered${line === undefined ? '' : `: ${line.slice(0, 200)}`}`
}
