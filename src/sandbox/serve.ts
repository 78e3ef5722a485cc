import { type Answer, page, refusal } from './answer.ts'
import type { Ask, Face } from './ask.ts'
import type { Chance } from './chance.ts'
import { chat } from './chat.ts'
import { bearerCookie, tracker, visitorCookies } from './cookies.ts'
import { replacement, twist } from './faults.ts'
import { identify, type Identity } from './identity.ts'
import type { Journal } from './journal.ts'
import type { Memory } from './memory.ts'
import type { World } from './model.ts'
import { postPage } from './post-page.ts'
import { type Rate, tooMany } from './rate.ts'
import { hasFiles, type Read, read, withBody, withFiles } from './read.ts'
import { callWithoutCount, isPage, route } from './routes.ts'
import { broken, escaped, toResponse } from './send.ts'
import { refresh } from './sessions.ts'
import type { Turns } from './turns.ts'
import type { Sky, Weather } from './weather.ts'
import { nowSeconds } from './world.ts'

/** All that an answer is made from. */
export type Platform = {
  world: World
  /** What differs from answer to answer and means nothing. */
  noise: Chance
  memory: Memory
  sky: Sky
  rate: Rate
  journal: Journal
  /** Where people look at it. */
  site(): string
  /** One expansion of a tree at a time. */
  turns: Turns
  /** Calls per window, by cookie session, by bearer and by address. */
  allowance: { session: number; bearer: number; anonymous: number }
  private_in_multi: Ask['private_in_multi']
  cookie_domain: Ask['cookie_domain']
  /** Holds an answer back; ends early when the client hangs up or the sandbox stops. */
  hold(ms: number, signal: AbortSignal): Promise<void>
}

const HAS_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Answers one request as the platform would, in the weather there is: at once wherever nothing has to be
 * waited for, because a large answer that is made after a wait leaves in many small writes.
 */
export function serve(
  platform: Platform,
  request: Request,
  from: { face: Face; address: string },
): Response | Promise<Response> {
  const asked = read(request, from)
  if (!HAS_BODY.has(request.method)) return respond(platform, asked)
  if (hasFiles(request)) return withFiles(asked).then((whole) => respond(platform, whole))
  return request.text().then((body) => respond(platform, withBody(asked, body)))
}

function respond(platform: Platform, asked: Read): Response | Promise<Response> {
  const { world, sky, journal, turns } = platform
  const { request } = asked
  const at = world.now()
  const weather = sky.strike(asked.path, asked.search, at)
  const who = identify(world, asked, weather)
  const note = (status: number) =>
    journal.write({
      at,
      face: asked.face,
      method: asked.method,
      path: asked.path,
      query: asked.search,
      form: asked.form,
      user_agent: request.headers.get('user-agent'),
      cookies: [...asked.cookies.keys()],
      user: who.user?.name ?? null,
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
  const go = () => {
    const response = answer(platform, asked, who, weather)
    note(response.status)
    // It is done, and whoever asked for it will never know.
    return weather?.input.fault === 'lost_answer' ? broken(null) : response
  }
  const wait_ms = weather?.input.fault === 'slow' ? (weather.input.delay_s ?? 0) * 1000 : 0
  const late = () => platform.hold(wait_ms, request.signal).then(go)
  if (asked.segments[1] !== 'morechildren') return wait_ms > 0 ? late() : go()
  const first = turns(who.user, wait_ms > 0 ? late : go)
  if (first !== null) return first
  note(429)
  return toResponse(tooMany(true, null), [])
}

function answer(platform: Platform, asked: Read, who: Identity, weather: Weather | null): Response {
  const { world, noise } = platform
  const now_s = nowSeconds(world)
  const { user, session, modhash } = who
  const ask: Ask = {
    world,
    memory: platform.memory,
    noise,
    face: asked.face,
    origin: asked.origin,
    method: asked.method,
    path: asked.segments,
    query: asked.query,
    body: asked.body,
    files: asked.files,
    headers: asked.request.headers,
    cookies: asked.cookies,
    cookie_domain: platform.cookie_domain,
    viewer: {
      user,
      session,
      modhash,
      now_s,
      origin: asked.face === 'www' ? asked.origin : platform.site(),
    },
    twist: twist(weather, world.now()),
    private_in_multi: platform.private_in_multi,
  }
  if (asked.face === 'chat') return toResponse(chat(ask, who.let_in), [])
  if (asked.face === 'bearer' && !who.let_in) return toResponse(strangers, [SERVER])
  const uncounted = callWithoutCount(ask)
  if (uncounted !== null) return toResponse(uncounted, people(ask))
  if (isPage(ask, asked.as_json)) return toResponse(page(postPage(ask)), people(ask, true))

  const counted = platform.rate(
    who.bucket,
    { session: session !== null, allowance: allowanceOf(platform, who) },
    now_s,
  )
  const lines: Line[] = [
    ...Object.entries(counted.headers),
    ['set-cookie', tracker(ask)],
    CACHE,
    SERVER,
  ]
  if (counted.refused) return toResponse(counted.refused, lines)
  const told = route(ask, asked.as_json || asked.face === 'bearer')
  const spelled = asked.query.get('raw_json') === '1' ? told : escaped(told)
  if (weather?.input.fault === 'truncated') return broken(spelled)
  return toResponse(spelled, lines)
}

const allowanceOf = ({ allowance }: Platform, { session, modhash }: Identity): number =>
  session !== null ? allowance.session : modhash === null ? allowance.bearer : allowance.anonymous

/** A token that is dead, or none. */
const strangers: Answer = {
  ...refusal(401),
  headers: {
    ...refusal(401).headers,
    'www-authenticate': 'Bearer realm="reddit", error="invalid_token"',
  },
}

type Line = readonly [string, string]
const CACHE: Line = ['cache-control', 'private, s-maxage=0, max-age=0, must-revalidate, no-store']
const SERVER: Line = ['server', 'snooserv']

/** Pages for people bring what a visitor lacks and renew the bearer cookie; `.json` never does. */
function people(ask: Ask, visiting = false): Line[] {
  const { session } = ask.viewer
  if (session) refresh(ask.world, session, ask.noise)
  const bearer = session && visiting ? [bearerCookie(ask, session)] : []
  const cookies = [tracker(ask), ...bearer, ...(visiting ? visitorCookies(ask) : [])]
  return [...cookies.map((value): Line => ['set-cookie', value]), SERVER]
}
