import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Config } from './config/schema.ts'
import { tryMailServer } from './delivery/mailer.ts'
import { createEgress } from './net/egress.ts'
import type { Guard } from './net/guard.ts'
import type { Sweep } from './net/sweep.ts'
import { createTransport } from './net/transport.ts'
import type { Outside } from './outside.ts'
import { type Browser, createBrowser, removeLeft } from './platform/browser/browser.ts'
import { createBrowserComment } from './platform/browser/comment.ts'
import { createLaunch } from './platform/browser/launch.ts'
import { createBrowserLogin } from './platform/browser/login.ts'
import type { RequestEvent } from './platform/client.ts'
import { createJars } from './platform/cookies.ts'
import { createForum } from './platform/forum.ts'
import { createLogin } from './platform/login.ts'
import { createTokens } from './platform/oauth.ts'
import { ANONYMOUS, type Eyes } from './platform/platform.ts'
import { createCraft } from './pool/at-platform.ts'
import { createDesk } from './pool/desk.ts'

/** In the data folder; for the browser's own files. */
const browserFolder = (dir: string) => join(dir, 'browser')

/** Removes the browser's files that a daemon which was killed left in its data folder, for who holds that folder now. */
export const removeBrowserFiles = (dir: string): void => removeLeft(browserFolder(dir))

type Around = {
  /** Approves what callers name as their proxy. */
  guard: Guard
  /** Gives up what is being asked for accounts. */
  signal: AbortSignal
  on_request?: (event: RequestEvent, through: Eyes) => void
  /** Told what answers leave behind. */
  sweep?: Sweep
}

/** The platform as the configuration names it: its reads, and what the operator's accounts need of it. */
export function createUpstream(
  { platform: at, pool, browser: at_hand, storage }: Config,
  outside: Outside,
  { guard, signal, on_request, sweep }: Around,
) {
  const { clock } = outside
  const ca = authority(at.ca_file)
  const timeout_ms = at.timeout_s * 1000
  const egress = createEgress({ ...outside, guard, ca, sweep })
  const platform = createForum({
    ...outside,
    egress,
    base_url: at.base_url,
    api_url: at.api_url,
    chat_url: at.chat_url,
    link_hosts: at.link_hosts,
    // Where the platform has its pictures stored it says itself.
    store: createTransport({ ...outside, guard, timeout_ms }),
    user_agent: at.user_agent,
    timeout_ms,
    retries: at.retries,
    requests_per_minute: pool.session_requests_per_minute,
    oauth_requests_per_minute: pool.oauth_requests_per_minute,
    on_request,
  })
  const { base_url, session_cookie, token_url, user_agent } = at
  const jars = createJars({ base_url, session_cookie, clock })
  const visiting = { egress, clock, user_agent, timeout_ms }
  const login = createLogin({ ...visiting, jars, base_url })
  const craft = createCraft({
    forum: platform,
    jars,
    login,
    tokens: createTokens({ ...visiting, token_url }),
    clock,
    signal,
  })
  const browser = whenWanted(() =>
    createBrowser({
      ...outside,
      ...at_hand,
      folder: browserFolder(storage.dir),
      base_url,
      user_agent,
      guard,
      ca,
    }),
  )
  const paged = { browser, clock, base_url, session_cookie }
  return {
    platform,
    craft,
    jars,
    login,
    browser_login: createBrowserLogin({ ...paged, jars }),
    browser_comment: createBrowserComment(paged),
    async close() {
      egress.close()
      await browser.close()
    },
  }
}

/** A browser that is made at its first call: it clears its folder, which may belong to a running daemon until then. */
function whenWanted(make: () => Browser): Browser {
  let browser: Browser | null = null
  return {
    visit: (visiting, work) => (browser ??= make()).visit(visiting, work),
    close: async () => browser?.close(),
  }
}

/** What the command line asks of the platform, without a daemon. */
export function openDesk(config: Config, outside: Outside) {
  const stopping = new AbortController()
  const { platform, craft, jars, close } = createUpstream(config, outside, {
    // The operator names no proxy that needs it, and nobody else is here.
    guard: () => Promise.resolve({ ok: false, refusal: 'unresolved' }),
    signal: stopping.signal,
  })
  return {
    ...createDesk({ craft, jars, clock: outside.clock }),
    async tryPlatform() {
      const eyes: Eyes = { ...ANONYMOUS, id: 'desk', whose: 'pool' }
      let answer = await craft.me(eyes)
      for (let n = 1; n < ANSWERS_FOR_A_CLOCK && answer.ok; n += 1) answer = await craft.me(eyes)
      return { answer, ahead_ms: answer.ok ? platform.clock_measured_ms() : null }
    },
    tryBrowser: () => tryBrowser(config, outside),
    tryMail: () =>
      tryMailServer({
        ...config.smtp,
        timeout_ms: config.delivery.timeout_s * 1000,
        ca: authority(config.delivery.ca_file),
        clock: outside.clock,
      }),
    [Symbol.asyncDispose]() {
      stopping.abort()
      return close()
    },
  }
}

/** One date may be a stray one: the middle of three is believed (clock-offset.ts). */
const ANSWERS_FOR_A_CLOCK = 3

/** Starts a browser beside any that a daemon may have, with files of its own. */
async function tryBrowser({ browser, platform: { user_agent } }: Config, { clock }: Outside) {
  const folder = mkdtempSync(join(tmpdir(), 'forumd-browser-'))
  try {
    const launched = await createLaunch({ ...browser, folder, user_agent, believed: null, clock })()
    if (!launched.ok) return launched
    const { chromium, bare, kill } = launched.running
    const version = await chromium.version()
    await kill()
    return { ok: true as const, version, bare }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The operator's own authorities, in PEM; undefined when none are named. Throws what the file system says. */
export const authority = (path: string): string | undefined =>
  path === '' ? undefined : readFileSync(path, 'utf8')
