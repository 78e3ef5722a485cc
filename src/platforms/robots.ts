import { fail, ok, type Outcome } from '../core/base/result.ts'
import { peerUrl } from '../core/base/url.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { Host, RobotsRules } from './hosts.ts'

/** Answer to a request for the file; `location`: target of a redirect. */
type Fetched = {
  status: number
  location: string | null
  text: string
  retry_after_s: number | null
}

/** RFC 9309, 2.4: a copy is not used longer, unless the host cannot be reached. */
const KEPT_MS = 86_400_000
/** Interval of further requests for a file whose renewal failed. */
const RETRY_MS = 600_000
/** RFC 9309, 2.5: at least 500 KiB are parsed. */
const CHARACTERS_MAX = 512 * 1024
/** RFC 9309, 2.3.1.2. */
const REDIRECTS_MAX = 5

const ALL: RobotsRules = { allows: () => true }
const ANY_AGENT = /^([ \t]*user-agent[ \t]*:)[ \t]*\*[ \t]*(?:#.*)?$/gim

/** Name of a User-Agent in rules (RFC 9309, 2.2.1); '' if it has none. */
export const productOf = (user_agent: string): string => /^[a-z_-]+/i.exec(user_agent)?.[0] ?? ''

/**
 * The rules of a host, requested once a day by `request` (RFC 9309). A host without the file has no
 * rules; one that cannot say is not requested, and the outcome is why.
 */
export async function rulesOf(
  host: Host,
  origin: string,
  { clock, request }: { clock: Clock; request: (url: string) => Promise<Outcome<Fetched>> },
): Promise<Outcome<RobotsRules>> {
  // One request serves all that wait for it; its failure belongs to the one that sent it.
  while (host.reading !== null) await host.reading
  const { robots } = host
  if (robots !== null && clock.mono() - robots.read_at < KEPT_MS) return ok(robots.rules)
  const reading = read(origin, request)
  host.reading = reading
  let found: Outcome<RobotsRules>
  try {
    found = await reading
  } finally {
    host.reading = null
  }
  if (found.ok) host.robots = { rules: found.value, read_at: clock.mono() }
  else if (robots !== null) host.robots = { ...robots, read_at: clock.mono() - KEPT_MS + RETRY_MS }
  return host.robots === null ? found : ok(host.robots.rules)
}

async function read(
  origin: string,
  request: (url: string) => Promise<Outcome<Fetched>>,
): Promise<Outcome<RobotsRules>> {
  let url = new URL('/robots.txt', origin)
  for (let redirects = 0; ; redirects++) {
    const fetched = await request(url.href)
    if (!fetched.ok) return fetched
    const { status, location, text, retry_after_s } = fetched.value
    if (status >= 500 || status === 429) return fail({ kind: 'unavailable', status, retry_after_s })
    if (status >= 200 && status < 300) return ok(await parse(origin, text.slice(0, CHARACTERS_MAX)))
    const next = status < 400 && location !== null ? peerUrl(location, url.href) : null
    // A file of another host says nothing about this one, and might lead into the operator's network.
    if (next === null || next.hostname !== url.hostname || redirects === REDIRECTS_MAX)
      return ok(ALL)
    url = next
  }
}

async function parse(origin: string, text: string): Promise<RobotsRules> {
  const { default: robotsParser } = await import('robots-parser')
  const file = `${origin}/robots.txt`
  const rules = robotsParser(file, text)
  // The library has no question for the rules that name an agent alone.
  const named = robotsParser(file, text.replace(ANY_AGENT, '$1 -'))
  return {
    allows(path, agent, asked) {
      const is_open = (at: string) => rules.isAllowed(origin + at, agent) !== false
      return asked ? is_open('/') && named.isAllowed(origin + path, agent) !== false : is_open(path)
    },
  }
}
