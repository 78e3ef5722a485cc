import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAccountClient } from '../accounts/client.ts'
import { createProbe } from '../accounts/probe.ts'
import { type Config, homeOf } from '../config/schema.ts'
import { createAllowed } from '../core/base/address.ts'
import { type LinkHosts, linkHosts } from '../core/forum/permalink.ts'
import { IMAGE_BYTES_MAX } from '../core/forum/writes.ts'
import { tryMailServer } from '../delivery/smtp.ts'
import type { Identities } from '../gateway/identity.ts'
import { createSignIn } from '../gateway/login.ts'
import { createAccountWrites } from '../gateway/writes.ts'
import { createDownload } from '../net/download.ts'
import { createEgress } from '../net/egress.ts'
import { createGuard, type Guard } from '../net/guard.ts'
import { createTransport } from '../net/transport.ts'
import { ANONYMOUS, type Identity } from '../platforms/port.ts'
import { ABSENT } from '../platforms/reddit/absent.ts'
import { createForum } from '../platforms/reddit/adapter.ts'
import {
  type Browser,
  BROWSER_SCHEMES,
  createBrowser,
  removeProfileFiles,
} from '../platforms/reddit/browser/browser.ts'
import { createBrowserComment } from '../platforms/reddit/browser/comment.ts'
import { createLaunch } from '../platforms/reddit/browser/launch.ts'
import { createBrowserLogin } from '../platforms/reddit/browser/login.ts'
import { recogniseEndings, watchLoginWall } from '../platforms/reddit/endings.ts'
import { createJars } from '../platforms/reddit/login/cookie-jar.ts'
import { createLogin } from '../platforms/reddit/login/login.ts'
import { createOAuthTokens } from '../platforms/reddit/login/oauth.ts'
import type { RequestEvent } from '../platforms/reddit/request.ts'
import { unsupported } from '../platforms/source.ts'
import { type AccessEnds, createAccessEnds } from '../runtime/access-ends.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { WriteActions } from './routes.ts'

const browserFolder = (dir: string) => join(dir, 'browser')

/** Removes browser files that a killed daemon left in its data folder. The caller must hold that folder's lock. */
export const removeBrowserFiles = (dir: string): void => removeProfileFiles(browserFolder(dir))

type PlatformDeps = {
  /** Approves the proxies that callers name. */
  guard: Guard
  signal: AbortSignal
  on_request?: (event: RequestEvent, through: Identity) => void
  /** Called when a platform that was unreachable has answered again. */
  on_recovered?: () => void
  /** Learns of ways in that end; absent: they are logged. */
  ends?: AccessEnds
}

/** Creates the configured platform: its reads, and the operations on the operator's accounts. */
export function createPlatform(config: Config, runtime: Runtime, deps: PlatformDeps) {
  const { clock } = runtime
  const { guard, signal, on_request, on_recovered } = deps
  const { requests, browser: at_hand, storage } = config
  const at = homeOf(config)
  const ca = authority(requests.ca_file)
  const timeout_ms = requests.timeout_s * 1000
  const egress = createEgress({ ...runtime, guard, ca })
  const user_agent = at?.user_agent || requests.user_agent
  const token_url = at?.token_url ?? ''
  const login_deps = { egress, clock, user_agent, timeout_ms }
  const tokens = createOAuthTokens({ ...login_deps, token_url })
  const account_deps = { tokens, clock, signal }
  if (at === null)
    return {
      ...ABSENT,
      egress,
      account_client: createAccountClient({ ...account_deps, ...ABSENT, forum: ABSENT.platform }),
      browser_comment: async () => unsupported('session'),
      close: async () => egress.close(),
    }
  const { name, base_url, session_cookie } = at
  const { ends = createAccessEnds(runtime) } = deps
  const noteLoginWall = watchLoginWall(ends, new URL(base_url).host)
  const forum = createForum({
    ...runtime,
    name,
    egress,
    base_url,
    api_url: at.api_url,
    chat_url: at.chat_url,
    link_hosts: linkHosts(at).link,
    // The platform itself names the host that stores its pictures.
    store: createTransport({ ...runtime, guard, timeout_ms }),
    user_agent,
    timeout_ms,
    retries: at.retries,
    requests_per_minute: at.accounts.session_requests_per_minute,
    oauth_requests_per_minute: at.accounts.oauth_requests_per_minute,
    on_request(event, through) {
      on_request?.(event, through)
      noteLoginWall(through, event.fault)
    },
    on_recovered,
  })
  const platform = { ...forum, ...recogniseEndings(forum, { clock, ends }) }
  const jars = createJars({ base_url, session_cookie, clock })
  const login = createLogin({ ...login_deps, jars, base_url })
  const account_client = createAccountClient({ ...account_deps, forum: platform, jars, login })
  const browser = lazyBrowser(() =>
    createBrowser({
      ...runtime,
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
    /** Also of the sources. */
    egress,
    account_client,
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

/** Hosts of the links of the source with accounts; none without one. */
export function hostsOf(config: Config): LinkHosts {
  const home = homeOf(config)
  return home === null ? { link: [], short: [] } : linkHosts(home)
}

/** A browser created at its first call: it clears its folder, which until then may belong to a running daemon. */
function lazyBrowser(make: () => Browser): Browser {
  let browser: Browser | null = null
  return {
    withTab: (request, work) => (browser ??= make()).withTab(request, work),
    close: async () => browser?.close(),
  }
}

/** The platform operations of the command line, without a daemon. */
export function openPlatformTools(config: Config, runtime: Runtime) {
  const stopping = new AbortController()
  const timeout_ms = config.requests.timeout_s * 1000
  const { platform, egress, account_client, jars, close } = createPlatform(config, runtime, {
    guard: createGuard({ ...runtime, allowed: createAllowed(config.guard), timeout_ms }),
    signal: stopping.signal,
  })
  return {
    ...createProbe({ client: account_client, jars, clock: runtime.clock }),
    async tryPlatform() {
      const identity: Identity = { ...ANONYMOUS, id: 'desk', whose: 'pool' }
      let answer = await account_client.me(identity)
      // A refusal has a Date header too. Only a platform that is down or throttles should get no further requests.
      const mayAsk = () => answer.ok || !STOPS_A_PROBE.has(answer.fault.kind)
      for (let n = 1; n < ANSWERS_FOR_A_CLOCK && mayAsk(); n += 1)
        answer = await account_client.me(identity)
      return { answer, ahead_ms: platform.isClockKnown() ? platform.clock_measured_ms() : null }
    },
    async trySources(name: string | null) {
      const { createSource, probeSource } = await import('./sources.ts')
      const tested = config.source.filter((it) => name === null || it.name === name)
      return Promise.all(
        tested.map(async (it) => {
          const source = createSource(it, config, { ...runtime, egress })
          const answer = await probeSource(source, config, runtime)
          return {
            name: it.name,
            kind: it.kind,
            url: source.url,
            capabilities: [...source.capabilities],
            ahead_ms: answer.ok ? source.clock_offset_ms() : null,
            answer,
          }
        }),
      )
    },
    async discover(address: string) {
      const { discover } = await import('../platforms/feed/discovery.ts')
      return discover(address, async (asked) => {
        const sent = await egress.send({
          url: asked,
          headers: { 'user-agent': config.requests.user_agent, accept: '*/*' },
          route: { proxy: null, guarded: false },
          timeout_ms: config.requests.timeout_s * 1000,
        })
        const { status = 0, body: text = '', headers } = sent.ok ? sent.answer : {}
        const location = status >= 300 && status < 400 ? (headers?.get('location') ?? null) : null
        const to = location === null ? null : (URL.parse(location, asked)?.href ?? null)
        return { asked, url: asked, status, text, to }
      })
    },
    async watchableSources() {
      const { watchableOf } = await import('./sources.ts')
      return watchableOf(config, { ...runtime, egress })
    },
    async sourceAccess(name: string) {
      const { accessOf, createSource } = await import('./sources.ts')
      const configured = config.source.find((it) => it.name === name)
      if (configured === undefined) throw new RangeError(`${name}: no such source`)
      return accessOf(createSource(configured, config, { ...runtime, egress }), config, runtime)
    },
    tryBrowser: () => tryBrowser(config, runtime),
    tryMail: () =>
      tryMailServer({
        ...config.smtp,
        timeout_ms: config.delivery.timeout_s * 1000,
        ca: authority(config.delivery.ca_file),
        clock: runtime.clock,
      }),
    [Symbol.asyncDispose]() {
      stopping.abort()
      return close()
    },
  }
}

const STOPS_A_PROBE: ReadonlySet<string> = new Set([
  'unavailable',
  'timeout',
  'throttled',
  'blocked',
])

/** A single Date may be wrong: the median of three is used (`src/platforms/reddit/client.ts`). */
const ANSWERS_FOR_A_CLOCK = 3

/** Starts a separate browser with files of its own; a daemon may be running one. */
async function tryBrowser({ browser, requests: { user_agent } }: Config, { clock }: Runtime) {
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

/**
 * The operator's own certificate authorities, in PEM; undefined when none are named.
 * @throws {Error} of the file system, if the file cannot be read
 */
export const authority = (path: string): string | undefined =>
  path === '' ? undefined : readFileSync(path, 'utf8')

/** A page takes longer than a request: the browser has to start, load it and type. */
const BROWSER_DEADLINE_MS = 60_000

const browserDeadline = (deadline_ms: number) => Math.max(deadline_ms, BROWSER_DEADLINE_MS)

/** Longest duration of a call at the platform, seconds: one over HTTP that is repeated in a browser. */
export const longestAtPlatform = ({
  read_deadline_s,
}: Pick<Config['requests'], 'read_deadline_s'>): number =>
  read_deadline_s + browserDeadline(read_deadline_s * 1000) / 1000

type WriteDeps = {
  /** Approves the pictures that callers name. */
  guard: Guard
  wiring: ReturnType<typeof createPlatform>
  /** Egress for the sessions of callers. */
  identities: Pick<Identities, 'lease' | 'delegatedIdentity' | 'egress'>
}

export function createWriteActions(
  config: Config,
  runtime: Runtime,
  { guard, wiring, identities }: WriteDeps,
): WriteActions {
  const { platform, login, browser_login, browser_comment } = wiring
  const { requests } = config
  const deadline_ms = requests.read_deadline_s * 1000
  const within = {
    identities,
    clock: runtime.clock,
    deadline_ms,
    browser_deadline_ms: browserDeadline(deadline_ms),
  }
  return {
    acting: createAccountWrites({
      ...within,
      acts: platform.acts,
      browser_comment,
      hosts: hostsOf(config),
    }),
    signIn: createSignIn({ ...within, login, browser_login, browser_schemes: BROWSER_SCHEMES }),
    loadPicture: createDownload({
      ...runtime,
      guard,
      user_agent: requests.user_agent,
      timeout_ms: requests.timeout_s * 1000,
      bytes_max: IMAGE_BYTES_MAX,
    }),
  }
}
