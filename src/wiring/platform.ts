import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { createAccountClient } from '../accounts/client.ts'
import { type Config, homeOf, type PlatformConfig } from '../config/schema.ts'
import { linkHosts } from '../core/forum/permalink.ts'
import type { Identities } from '../gateway/identity.ts'
import { createSignIn } from '../gateway/login.ts'
import { createAccountWrites } from '../gateway/writes.ts'
import type { Egress } from '../net/egress.ts'
import type { Guard } from '../net/guard.ts'
import { createTransport } from '../net/transport.ts'
import type { Identity } from '../platforms/port.ts'
import { createForum } from '../platforms/reddit/adapter.ts'
import {
  type Browser,
  BROWSER_SCHEMES,
  createBrowser,
  removeProfileFiles,
} from '../platforms/reddit/browser/browser.ts'
import { createBrowserComment } from '../platforms/reddit/browser/comment.ts'
import { createBrowserLogin } from '../platforms/reddit/browser/login.ts'
import { recogniseEndings, watchLoginWall } from '../platforms/reddit/endings.ts'
import { createJars } from '../platforms/reddit/login/cookie-jar.ts'
import { createLogin } from '../platforms/reddit/login/login.ts'
import { createOAuthTokens } from '../platforms/reddit/login/oauth.ts'
import type { RequestEvent } from '../platforms/reddit/request.ts'
import { sourceOf } from '../platforms/reddit/source.ts'
import { type AccessEnds, createAccessEnds } from '../runtime/access-ends.ts'
import type { Runtime } from '../runtime/runtime.ts'

const BROWSER_FOLDER = 'browser'

/** Removes browser files that a killed daemon left in its data folder. The caller must hold that folder's lock. */
export function removeBrowserFiles(dir: string): void {
  for (const name of readdirSync(dir))
    if (name.startsWith(BROWSER_FOLDER)) removeProfileFiles(join(dir, name))
}

export type PlatformDeps = {
  /** Approves the proxies that callers name. */
  guard: Guard
  egress: Egress
  signal: AbortSignal
  on_request?: (event: RequestEvent, through: Identity) => void
  /** Called when a platform that was unreachable has answered again. */
  on_recovered?: () => void
  /** Learns of ways in that end; absent: they are logged. */
  ends?: AccessEnds
}

/** A Reddit-style platform: its reads, and the operations on the operator's accounts. */
export function openPlatform(
  at: PlatformConfig,
  config: Config,
  runtime: Runtime,
  deps: PlatformDeps,
) {
  const { clock } = runtime
  const { guard, egress, signal, on_request, on_recovered } = deps
  const { requests, browser: at_hand, storage } = config
  const { name, base_url, session_cookie, token_url } = at
  const timeout_ms = requests.timeout_s * 1000
  const user_agent = at.user_agent || requests.user_agent
  const login_deps = { egress, clock, user_agent, timeout_ms }
  const { ends = createAccessEnds(runtime) } = deps
  const noteLoginWall = watchLoginWall(ends, new URL(base_url).host)
  const hosts = linkHosts(at)
  const bare = createForum({
    ...runtime,
    name,
    egress,
    base_url,
    api_url: at.api_url,
    chat_url: at.chat_url,
    link_hosts: hosts.link,
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
  const forum = { ...bare, ...recogniseEndings(bare, { clock, ends }) }
  const jars = createJars({ base_url, session_cookie, clock })
  const login = createLogin({ ...login_deps, jars, base_url })
  const tokens = createOAuthTokens({ ...login_deps, token_url })
  const browser = lazyBrowser(() =>
    createBrowser({
      ...runtime,
      ...at_hand,
      folder: join(
        storage.dir,
        homeOf(config) === at ? BROWSER_FOLDER : `${BROWSER_FOLDER}-${name}`,
      ),
      base_url,
      user_agent,
      guard,
      ca: authority(requests.ca_file),
    }),
  )
  const paged = { browser, clock, base_url, session_cookie }
  return {
    forum,
    hosts,
    source: sourceOf(forum, { base_url, hosts, has_accounts: true }),
    client: createAccountClient({ tokens, clock, signal, forum, jars, login }),
    jars,
    login,
    browser_login: createBrowserLogin({ ...paged, jars }),
    browser_comment: createBrowserComment(paged),
    close: () => browser.close(),
  }
}

export type OpenPlatform = ReturnType<typeof openPlatform>

/** A browser created at its first call: it clears its folder, which until then may belong to a running daemon. */
function lazyBrowser(make: () => Browser): Browser {
  let browser: Browser | null = null
  return {
    withTab: (request, work) => (browser ??= make()).withTab(request, work),
    close: async () => browser?.close(),
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

/** The writes of callers' accounts. `identities`: egress for their sessions. */
export function platformWrites(
  { forum, login, browser_login, browser_comment, hosts }: OpenPlatform,
  { requests }: Pick<Config, 'requests'>,
  { clock }: Pick<Runtime, 'clock'>,
  identities: Pick<Identities, 'lease' | 'delegatedIdentity' | 'egress'>,
) {
  const deadline_ms = requests.read_deadline_s * 1000
  const browser_deadline_ms = browserDeadline(deadline_ms)
  const within = { identities, clock, deadline_ms, browser_deadline_ms }
  return {
    acting: createAccountWrites({ ...within, acts: forum.acts, browser_comment, hosts }),
    signIn: createSignIn({ ...within, login, browser_login, browser_schemes: BROWSER_SCHEMES }),
  }
}
