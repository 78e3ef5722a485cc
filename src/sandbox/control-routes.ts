import { type Added, BadControl, clockSchema, read } from './control-schemas.ts'
import type { Entry } from './journal.ts'
import type { World } from './model.ts'

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
  weather(input: unknown): number
  clearWeather(): void
  readonly requests: readonly Entry[]
  advance(seconds: number): void
}

const answer = (value: unknown, status = 200) => Response.json(value, { status })

const PREFIX = '/__sandbox'
const LARGEST_BODY = 4 * 1024 * 1024

/** Whether a path is the sandbox's own, outside the platform's. */
export const isControl = (path: string): boolean => path === PREFIX || path.startsWith(`${PREFIX}/`)

/** The sandbox's own routes: what its methods do, over HTTP. */
export async function control(sandbox: Controls, request: Request): Promise<Response> {
  const url = new URL(request.url)
  const call = `${request.method} ${url.pathname.slice(PREFIX.length).replace(/\/$/, '') || '/'}`
  try {
    return await dispatch(sandbox, call, request, url.searchParams)
  } catch (error) {
    if (error instanceof BadControl) return answer({ error: error.message }, 400)
    throw error
  }
}

async function dispatch(
  sandbox: Controls,
  call: string,
  request: Request,
  query: URLSearchParams,
): Promise<Response> {
  switch (call) {
    case 'GET /':
      return answer(sandbox.overview())
    case 'POST /post':
      return answer(sandbox.post(await body(request)))
    case 'POST /comment':
      return answer(sandbox.comment(await body(request)))
    case 'POST /remove':
      sandbox.remove(await body(request))
      return answer({ ok: true })
    case 'POST /edit':
      sandbox.edit(await body(request))
      return answer({ ok: true })
    case 'POST /subforum':
      sandbox.subforum(await body(request))
      return answer({ ok: true })
    case 'POST /user':
      sandbox.user(await body(request))
      return answer({ ok: true })
    case 'POST /weather':
      return answer({ id: sandbox.weather(await body(request)) })
    case 'DELETE /weather':
      sandbox.clearWeather()
      return answer({ ok: true })
    case 'GET /requests': {
      const since = Number(query.get('since') ?? 0)
      if (Number.isNaN(since)) throw new BadControl('since: expected the seq of a request')
      return answer({ requests: sandbox.requests.filter(({ seq }) => seq > since) })
    }
    case 'POST /clock':
      sandbox.advance(read(clockSchema, await body(request)).advance_s)
      return answer({ now: new Date(sandbox.world.now()).toISOString() })
    default:
      return answer({ error: `${call}: not a call of the sandbox` }, 404)
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
