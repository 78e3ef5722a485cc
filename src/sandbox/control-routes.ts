import {
  type Added,
  BadControl,
  clockSchema,
  type Opened,
  read,
  sinceSchema,
} from './control-schemas.ts'
import type { Entry } from './journal.ts'
import type { World } from './model.ts'
import { FAULTS } from './weather.ts'

/** What can be done to a sandbox from outside. Inputs are checked; a bad one throws {@link BadControl}. */
export type Controls = {
  world: World
  /** Who lives there and how much there is. */
  overview(): object
  post(input: unknown): Added
  comment(input: unknown): Added
  remove(input: unknown): void
  edit(input: unknown): void
  subforum(input: unknown): void
  user(input: unknown): void
  session(input: unknown): Opened
  revoke(input: unknown): void
  weather(input: unknown): number
  clearWeather(): void
  readonly requests: readonly Entry[]
  advance(seconds: number): void
}

const answer = (value: unknown, status = 200) => Response.json(value, { status })

const PREFIX = '/__sandbox'
const LARGEST_BODY = 4 * 1024 * 1024

type Call = { takes: string; run(controls: Controls, input: unknown): unknown }

/** A call that answers only that it was done. */
const done = (takes: string, run: (controls: Controls, input: unknown) => void): Call => ({
  takes,
  run(controls, input) {
    run(controls, input)
    return { ok: true }
  },
})

/** By method and path. What a POST takes is its body, what a GET takes its query. */
const CALLS: Record<string, Call> = {
  'GET /': {
    takes: '',
    run: (controls) => ({
      ...controls.overview(),
      calls: Object.entries(CALLS).map(([call, { takes }]) =>
        `${call.replace(' ', ` ${PREFIX}`)} ${takes}`.trimEnd(),
      ),
      faults: FAULTS,
    }),
  },
  'POST /post': {
    takes:
      '{subforum, author?, title, text?, url?, flair?, created_at?, score?, over_18?, spoiler?, locked?, stickied?}',
    run: (controls, input) => controls.post(input),
  },
  'POST /comment': {
    takes: '{parent, author?, text, created_at?, score?}',
    run: (controls, input) => controls.comment(input),
  },
  'POST /remove': done('{name, by: author|moderator|platform}', (controls, input) =>
    controls.remove(input),
  ),
  'POST /edit': done('{name, text?, score?, locked?, stickied?}', (controls, input) =>
    controls.edit(input),
  ),
  'POST /subforum': done(
    '{name, title?, description?, access?, over_18?, subscribers?, members?, moderators?, bans?, wiki?}',
    (controls, input) => controls.subforum(input),
  ),
  'POST /user': done(
    '{name, standing?, curated?, premium?, password?, totp_secret?, email?, sso?, locked?, mail?, blocks?, subscribed?}',
    (controls, input) => controls.user(input),
  ),
  'POST /session': {
    takes: '{username, lasts_s?}',
    run: (controls, input) => controls.session(input),
  },
  'POST /revoke': done('{username}', (controls, input) => controls.revoke(input)),
  'POST /weather': {
    takes:
      '{path, fault, times?, skip?, seconds?, status?, retry_after_s?, delay_s?, count?, age_s?, verdict?, code?, wait_s?, worded?, body?, body_base64?, headers?}',
    run: (controls, input) => ({ id: controls.weather(input) }),
  },
  'DELETE /weather': done('', (controls) => controls.clearWeather()),
  'GET /requests': {
    takes: '?since=',
    run({ requests }, input) {
      const { since } = read(sinceSchema, input)
      return { requests: requests.filter(({ seq }) => seq > since) }
    },
  },
  'POST /clock': {
    takes: '{advance_s}',
    run(controls, input) {
      controls.advance(read(clockSchema, input).advance_s)
      return { now: new Date(controls.world.now()).toISOString() }
    },
  },
}

/** Whether a path is the sandbox's own, outside the platform's. */
export const isControl = (path: string): boolean => path === PREFIX || path.startsWith(`${PREFIX}/`)

/** The sandbox's own routes: what its methods do, over HTTP. */
export async function control(controls: Controls, request: Request): Promise<Response> {
  const url = new URL(request.url)
  const name = `${request.method} ${url.pathname.slice(PREFIX.length).replace(/\/$/, '') || '/'}`
  const call = Object.hasOwn(CALLS, name) ? CALLS[name] : undefined
  if (call === undefined) return answer({ error: `${name}: not a call of the sandbox` }, 404)
  try {
    const input =
      request.method === 'POST' ? await body(request) : Object.fromEntries(url.searchParams)
    return answer(call.run(controls, input))
  } catch (error) {
    if (error instanceof BadControl) return answer({ error: error.message }, 400)
    throw error
  }
}

async function body(request: Request): Promise<unknown> {
  const text = await request.text()
  if (text.length > LARGEST_BODY) throw new BadControl('body: at most 4 MiB')
  try {
    return JSON.parse(text)
  } catch {
    throw new BadControl('body: expected JSON')
  }
}
