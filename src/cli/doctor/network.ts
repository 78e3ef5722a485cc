import { existsSync, statSync } from 'node:fs'
import { isIP } from 'node:net'

import { type Config, furtherOf, homeOf } from '../../config/schema.ts'
import { describe } from '../../core/base/fault-texts.ts'
import type { Fault, Outcome } from '../../core/base/result.ts'
import { daysUntil, endWarning } from '../../core/limits/ends-at.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { pathsOf } from '../../store/maintenance/paths.ts'
import type { PlatformTools, TestedSource } from '../account/platform-tools.ts'
import { bad, type Check, type CheckResult, doubtful, fine } from './check.ts'

/** Tolerances: a second-factor code is valid for 30 s, a signature at a receiver for 5 minutes. */
const CLOCK_WARN_MS = 10_000
const CLOCK_FAIL_MS = 120_000
const NAME_MS = 5000

export function networkChecks(config: Config, runtime: Runtime, tools: PlatformTools): Check[] {
  /** Lead of the remote clock over the local one; null: unknown. */
  let ahead_ms: number | null = null
  const home = homeOf(config)
  const platform = ({ name, base_url }: Config['source'][number]): Check => ({
    title: `checking the source ${name}`,
    async run() {
      const tried = await tools.tryPlatform()
      ahead_ms = tried.ahead_ms
      return [platformOf(name, base_url, tried.answer)]
    },
  })
  return [
    { title: 'resolving host names', run: () => checkNames(config, runtime) },
    ...(home === null ? [] : [platform(home)]),
    ...sourceChecks(config, tools, {
      onClock(ms) {
        // A single answer of a source is enough where no platform gives the median of three.
        if (home === null) ahead_ms ??= ms
      },
    }),
    { title: 'checking the ends of access', run: () => endsOf(config, runtime) },
    {
      title: 'comparing clocks',
      run: () => [clockOf(ahead_ms, behindStorage(config, runtime), 'the source')],
    },
    ...(config.smtp.url === ''
      ? []
      : [
          {
            title: 'signing in at the mail server',
            run: async () => [mailOf(await tools.tryMail(), new URL(config.smtp.url).username)],
          },
        ]),
  ]
}

function hostsOf(config: Config): Map<string, string> {
  const { source, smtp, operator } = config
  const home = homeOf(config)
  const named: [string, string][] = [
    ...(['api_url', 'token_url', 'chat_url'] as const).map((key): [string, string] => [
      `${key} of source ${home?.name}`,
      home?.[key] ?? '',
    ]),
    ...source.map(({ name, base_url }): [string, string] => [`source ${name}`, base_url]),
    ['smtp.url', smtp.url],
    ['operator.webhook', operator.webhook],
  ]
  const hosts = new Map<string, string>()
  for (const [key, text] of named) {
    const host = URL.parse(text)?.hostname.replace(/^\[|\]$/g, '') ?? ''
    if (host !== '' && isIP(host) === 0 && !hosts.has(host)) hosts.set(host, key)
  }
  return hosts
}

/** Sources whose way in ends within the time of the first warning, or has ended. */
function endsOf({ source }: Config, { clock }: Runtime): CheckResult[] {
  return source.flatMap(({ name, ends_at }) => {
    if (ends_at === '' || endWarning(ends_at, clock.now()) === null) return []
    const days = daysUntil(ends_at, clock.now())
    const found =
      days < 0 ? `access ended on ${ends_at}` : `access ends on ${ends_at}: ${days} days`
    return [doubtful('source', found, 'see docs/accounts.md: what remains', name)]
  })
}

async function checkNames(config: Config, { resolve, clock }: Runtime): Promise<CheckResult[]> {
  const hosts = hostsOf(config)
  if (hosts.size === 0) return [fine('dns', 'the configuration names no host that needs resolving')]
  return Promise.all(
    [...hosts].map(async ([host, key]) => {
      const timeout = clock.sleep(NAME_MS).then((): string[] => [])
      const found = await Promise.race([resolve(host).catch((): string[] => []), timeout])
      return found.length > 0
        ? fine('dns', found.length === 1 ? 'one address' : `${found.length} addresses`, host)
        : bad('dns', 'it has no address', `check ${key} and /etc/resolv.conf`, host)
    }),
  )
}

const FAULT_TEXTS: Record<string, string> = {
  timeout: 'it does not answer in time',
  throttled: 'it limits the rate of this address',
  blocked: 'it shows a block page to this address',
}

function platformOf(name: string, base_url: string, answer: Outcome<unknown>): CheckResult {
  if (answer.ok) return fine('source', `${base_url} answers`, name)
  const { fault } = answer
  switch (fault.kind) {
    case 'throttled':
    case 'blocked':
      return doubtful(
        'source',
        `${base_url}: ${FAULT_TEXTS[fault.kind]}`,
        'wait, or use a proxy for the accounts: forumd proxy add',
        name,
      )
    // A request to sign in also proves that the platform is reachable.
    case 'login_required':
    case 'forbidden':
      return fine('source', `${base_url} answers`, name)
    case 'timeout':
      return bad(
        'source',
        `${base_url}: ${FAULT_TEXTS[fault.kind]}`,
        'check the network of this machine',
        name,
      )
    case 'unavailable':
      return fault.status === null
        ? bad(
            'source',
            `${base_url} cannot be reached`,
            'check its base_url, requests.ca_file and outgoing rules of the firewall',
            name,
          )
        : doubtful(
            'source',
            `${base_url} answers ${fault.status}`,
            'wait: the site itself has a problem',
            name,
          )
    case 'not_found':
    case 'unreadable':
    case 'rejected':
    case 'unsupported':
    case 'proxy':
      return bad(
        'source',
        `${base_url} answers, but not like a site of its kind`,
        'check its base_url',
        name,
      )
  }
}

/** Lag of the local clock behind the last write of the database, in ms; 0: not behind. */
function behindStorage({ storage }: Config, { clock }: Runtime): number {
  const { db } = pathsOf(storage)
  const written = [db, `${db}-wal`]
    .filter((path) => existsSync(path))
    .map((path) => statSync(path).mtimeMs)
  return Math.max(0, ...written.map((at) => at - clock.now()))
}

const SET_CLOCK = 'synchronise the clock: timedatectl set-ntp true'

function clockOf(ahead_ms: number | null, behind_ms: number, remote: string): CheckResult {
  if (ahead_ms === null)
    return behind_ms >= CLOCK_WARN_MS
      ? bad(
          'clock',
          `it is ${Math.round(behind_ms / 1000)} s behind the last write of the database, and ${remote} gave no time`,
          SET_CLOCK,
        )
      : doubtful(
          'clock',
          `unknown: ${remote} gave no time`,
          `compare it with another clock: timedatectl; then restore the connection to ${remote}`,
        )
  const off_ms = Math.abs(ahead_ms)
  const seconds = `${Math.round(off_ms / 1000)} s ${ahead_ms > 0 ? 'behind' : 'ahead of'} ${remote}'s`
  if (off_ms < CLOCK_WARN_MS) return fine('clock', `it agrees with ${remote}'s`)
  return off_ms < CLOCK_FAIL_MS
    ? doubtful('clock', `it is ${seconds}`, SET_CLOCK)
    : bad('clock', `it is ${seconds}: second-factor codes and certificates fail`, SET_CLOCK)
}

const MAIL: Record<string, string> = {
  dns_failed: 'its host name has no address',
  tls_failed:
    'its certificate is not trusted (add its authority to [delivery].ca_file), or it does not support TLS',
  timeout: 'it does not answer in time',
  connect_failed: 'it cannot be reached',
  smtp_535: 'it does not accept the user and the password',
}

const mailOf = (error: string | null, user: string): CheckResult =>
  error === null
    ? fine(
        'smtp',
        user === ''
          ? 'the mail server answers; [smtp].url has no user, so no sign-in was tried'
          : 'the mail server accepts the sign-in',
      )
    : bad(
        'smtp',
        MAIL[error] ?? `it answers ${error}`,
        'check [smtp].url; deliveries by mail wait until then',
      )

const BROWSER_FIX = 'apt-get install chromium, or name one in [browser].executable'

/** Starts the browser, which only logins and comments by browser use. */
export function browserChecks(config: Config, tools: PlatformTools): Check[] {
  const { browser, features } = config
  const is_off = !features.login && !features.comment
  if (is_off || homeOf(config) === null)
    return [
      {
        title: 'checking the browser',
        run: () => [
          fine(
            'browser',
            `not needed: ${is_off ? 'login and comment are disabled' : 'only a source of the kind reddit uses one'}`,
          ),
        ],
      },
    ]
  return [{ title: 'starting the browser', run: async () => [await start(browser, tools)] }]
}

async function start(
  { executable }: Config['browser'],
  tools: PlatformTools,
): Promise<CheckResult> {
  const tried = await tools.tryBrowser()
  if (!tried.ok)
    // A configured browser must exist; without one, only routes that need a browser answer 503.
    return executable === ''
      ? fine('browser', `none is installed: only routes that need one answer 503 (${tried.why})`)
      : bad('browser', tried.why, BROWSER_FIX)
  return tried.bare
    ? doubtful(
        'browser',
        `${tried.version} starts, but without its own sandbox`,
        'do not run forumd as root; allow user namespaces for its user, or isolate the machine',
      )
    : fine('browser', `${tried.version} starts`)
}

/** Requests each source once. `onClock` receives the lead of the clock of each that answered, in ms. */
function sourceChecks(
  config: Config,
  tools: PlatformTools,
  { onClock }: { onClock: (ahead_ms: number) => void },
): Check[] {
  return furtherOf(config).map(({ name }) => ({
    title: `checking the source ${name}`,
    async run() {
      const tested = await tools.trySources(name)
      return tested.map((it) => {
        if (it.ahead_ms !== null) onClock(it.ahead_ms)
        return answerOf(it)
      })
    },
  }))
}

function answerOf({ name, kind, url, capabilities, answer }: TestedSource): CheckResult {
  if (!answer.ok) return failureOf(name, url, answer.fault)
  const { title, version, notes } = answer.value
  const found = [
    `${title ?? url} (${kind}${version === null ? '' : ` ${version}`}) answers ${capabilities.length} kinds of calls`,
    ...notes,
  ]
  return fine('source', found.join('; '), name)
}

/** Faults of a site that exists and may answer later. */
const PASSING: ReadonlySet<Fault['kind']> = new Set(['throttled', 'blocked', 'timeout'])

function failureOf(name: string, url: string, fault: Fault): CheckResult {
  const { text, operator } = describe(fault)
  const found = `${url}: ${text}`
  const is_passing =
    PASSING.has(fault.kind) || (fault.kind === 'unavailable' && fault.status !== null)
  return is_passing
    ? doubtful('source', found, `wait, then: forumd source test ${name}`, name)
    : bad('source', found, operator, name)
}
