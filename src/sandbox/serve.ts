import { page, unregistered } from './answer.ts'
import type { Ask } from './ask.ts'
import type { Chance } from './chance.ts'
import { replacement, twist } from './faults.ts'
import type { Journal } from './journal.ts'
import type { Memory } from './memory.ts'
import type { Session, World } from './model.ts'
import { postPage } from './post-page.ts'
import type { Rate } from './rate.ts'
import { route } from './routes.ts'
import { broken, escaped, toResponse } from './send.ts'
import { SESSION_COOKIE } from './sessions.ts'
import type { Sky, Weather } from './weather.ts'
import { nowSeconds } from './world.ts'

export type Platform = {
  world: World
  /** What differs from answer to answer and means nothing. */
  noise: Chance
  memory: Memory
  sky: Sky
  rate: Rate
  journal: Journal
  /** Calls per window, by cookie session and by address. */
  allowance: { session: number; anonymous: number }
  private_in_multi: Ask['private_in_multi']
  /** Holds an answer back; ends early when the client hangs up or the sandbox stops. */
  hold(ms: number, signal: AbortSignal): Promise<void>
}

type Read = {
  request: Request
  method: string
  path: string
  search: string
  query: URLSearchParams
  segments: string[]
  /** Asked for with `.json`. */
  as_json: boolean
  cookies: Map<string, string>
  origin: string
  address: string
}

function read(request: Request, address: string): Read {
  const url = new URL(request.url)
  const as_json = url.pathname.endsWith('.json')
  const bare = as_json ? url.pathname.slice(0, -'.json'.length) : url.pathname
  return {
    request,
    method: request.method,
    path: url.pathname,
    search: url.search,
    query: url.searchParams,
    segments: bare.split('/').flatMap((part) => (part === '' ? [] : [decode(part)])),
    as_json,
    cookies: cookiesOf(request.headers.get('cookie')),
    origin: url.origin,
    address,
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function cookiesOf(header: string | null): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header?.split(';') ?? []) {
    const [name = '', ...value] = pair.trim().split('=')
    if (name !== '') cookies.set(name, value.join('='))
  }
  return cookies
}

/** Answers one request as the platform would, in the weather there is. */
export function serve(
  platform: Platform,
  request: Request,
  address: string,
): Response | Promise<Response> {
  const { world, sky, journal } = platform
  const asked = read(request, address)
  const at = world.now()
  const weather = sky.strike(asked.path, asked.search, at)
  const session = sessionOf(platform, asked, weather)
  const note = (status: number) =>
    journal.write({
      at,
      method: asked.method,
      path: asked.path,
      query: asked.search,
      user_agent: request.headers.get('user-agent'),
      cookies: [...asked.cookies.keys()],
      user: session?.user.name ?? null,
      status,
      fault: weather?.input.fault ?? null,
    })

  const instead = weather && replacement(weather)
  if (instead) {
    note(instead.status)
    return toResponse(instead, [])
  }
  if (weather?.input.fault === 'reset') {
    note(0)
    return broken(null)
  }
  if (weather?.input.fault === 'slow')
    return platform.hold((weather.input.delay_s ?? 0) * 1000, request.signal).then(() => {
      const response = answer(platform, asked, session, weather)
      note(response.status)
      return response
    })
  const response = answer(platform, asked, session, weather)
  note(response.status)
  return response
}

/** The living session that came with a request. A dead one is like none, and nobody says so. */
function sessionOf({ world }: Platform, { cookies }: Read, weather: Weather | null) {
  const session = world.sessions.get(cookies.get(SESSION_COOKIE) ?? '')
  if (session === undefined || session.revoked) return null
  const fault = weather?.input.fault
  if (fault === 'drop_session') return null
  if (fault === 'revoke_after_n' && (weather?.struck ?? 0) >= (weather?.input.count ?? 1))
    session.revoked = true
  return session
}

function answer(
  platform: Platform,
  asked: Read,
  session: Session | null,
  weather: Weather | null,
): Response {
  const { world, allowance } = platform
  const now_s = nowSeconds(world)
  const ask: Ask = {
    world,
    memory: platform.memory,
    method: asked.method,
    path: asked.segments,
    query: asked.query,
    viewer: { session, now_s, origin: asked.origin },
    twist: twist(weather, world.now()),
    private_in_multi: platform.private_in_multi,
  }
  if (!asked.as_json && asked.segments[0] !== 'api')
    return toResponse(page(postPage(ask)), html(ask, platform.noise))

  const counted = platform.rate(
    session ? `session ${session.cookie}` : `address ${asked.address}`,
    { session: session !== null, allowance: allowance[session ? 'session' : 'anonymous'] },
    now_s,
  )
  const lines = [...Object.entries(counted.headers), tracker(platform.noise, now_s), CACHE, SERVER]
  if (counted.refused) return toResponse(counted.refused, lines)
  const told =
    asked.method === 'GET' || asked.method === 'HEAD' || isCall(asked)
      ? route(ask, asked.as_json)
      : unregistered
  const spelled = asked.query.get('raw_json') === '1' ? told : escaped(told)
  if (weather?.input.fault === 'truncated') return broken(spelled)
  return toResponse(spelled, lines)
}

/** The one read that is also asked with POST. */
const isCall = ({ segments }: Read) => segments[0] === 'api' && segments[1] === 'morechildren'

const CACHE = [
  'cache-control',
  'private, s-maxage=0, max-age=0, must-revalidate, no-store',
] as const
const SERVER = ['server', 'snooserv'] as const

/** Rotates with nearly every answer. */
function tracker(noise: Chance, now_s: number): readonly [string, string] {
  const value = `${Math.floor(noise.fraction() * 2 ** 32).toString(36)}.0.${now_s}.Z0FBQUFB`
  return ['set-cookie', `session_tracker=${value}; Path=/; Max-Age=7199; SameSite=None`]
}

/** Pages for people re-issue the bearer cookie; `.json` never does. */
function html({ viewer }: Ask, noise: Chance): (readonly [string, string])[] {
  const lines: (readonly [string, string])[] = [tracker(noise, viewer.now_s), SERVER]
  if (viewer.session)
    lines.push(['set-cookie', `token_v2=${viewer.session.token_v2}; Path=/; HttpOnly`])
  return lines
}
