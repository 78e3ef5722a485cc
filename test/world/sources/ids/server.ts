/** Shared by the sites with ids: a random source, and a server with faults and a log. */
import { makeRandom } from '../../plan.ts'
import type { Random } from '../../plan.ts'
import type { LoggedRequest, Span } from '../source-world.ts'

export const between = (random: Random, low: number, high: number): number =>
  low + Math.floor(random() * (high - low))

/** The gap to the next of events that come independently, `meanMs` apart on the average. */
export const gapMs = (random: Random, meanMs: number): number =>
  Math.max(1, Math.round(-Math.log(1 - random()) * meanMs))

/**
 * - `error`: 5xx pages. `slow`: answers after seconds. `null`: the answer of a place without data.
 * - `stale`: an old copy. `down`: no listener. `limit`: every request is over the limit.
 * - `database`: the server answers without its database. `starting`: it says so with 503.
 * - `browsers`: 403 for a User-Agent without a browser's words.
 */
export type FaultKind =
  | 'error'
  | 'slow'
  | 'null'
  | 'stale'
  | 'down'
  | 'limit'
  | 'cursor'
  | 'database'
  | 'starting'
  | 'browsers'

export type Fault = {
  readonly kind: FaultKind
  readonly fromMs: number
  readonly untilMs: number
  /** The part of the requests that it hits. */
  readonly share: number
}

/** An answer, and the ids of the items that it shows. */
export type Shown = { readonly answer: Response; readonly ids: readonly number[] }

export type Served = {
  readonly url: string
  readonly log: readonly LoggedRequest[]
  readonly stop: () => Promise<void>
}

type ServerOptions = {
  /** The name of the `[[source]]` in the log. */
  readonly source: string
  readonly startMs: number
  readonly seed: number
  readonly faults: readonly Fault[]
  readonly answer: (url: URL, nowMs: number, fault: FaultKind | '', request: Request) => Shown
  /** Age up to which a whole answer to a reader without credentials is kept for its address. */
  readonly cacheMs?: number
}

const SLOW_MS = [2500, 9000] as const

const errorPage = (random: Random): Shown => {
  const init = { status: random() < 0.5 ? 502 : 503, headers: { 'content-type': 'text/html' } }
  return { answer: new Response('<html><body><h1>Bad Gateway</h1></body></html>', init), ids: [] }
}

const startingPage = (): Shown => ({
  answer: Response.json({ error: 'Lemmy is currently starting' }, { status: 503 }),
  ids: [],
})

const blockPage = (): Shown => ({
  answer: new Response('<html><body><h1>Forbidden</h1></body></html>', {
    status: 403,
    headers: { 'content-type': 'text/html' },
  }),
  ids: [],
})

/** Listens on 127.0.0.1; while a fault `down` lasts the port is closed. */
export const serveWithFaults = (options: ServerOptions): Served => {
  const log: LoggedRequest[] = []
  const random = makeRandom(options.seed ^ 0xfa17)
  const timers: Timer[] = []
  const cache = new Map<
    string,
    { atMs: number; text: string; headers: [string, string][]; ids: readonly number[] }
  >()
  const nowMs = () => Date.now() - options.startMs
  const faultNow = (atMs: number): FaultKind | '' =>
    options.faults.find((one) => one.fromMs <= atMs && atMs < one.untilMs && random() < one.share)
      ?.kind ?? ''
  const fetch = async (request: Request): Promise<Response> => {
    const url = new URL(request.url)
    const atMs = nowMs()
    const fault = faultNow(atMs)
    if (fault === 'slow') await Bun.sleep(between(random, SLOW_MS[0], SLOW_MS[1]))
    const path = url.pathname + url.search
    const copy = cache.get(path)
    const isShared = options.cacheMs !== undefined && !request.headers.has('authorization')
    if (isShared && copy !== undefined && atMs - copy.atMs < (options.cacheMs ?? 0)) {
      const note = `copy of ${atMs - copy.atMs} ms`
      log.push({ atMs, source: options.source, path, status: 200, note, ids: copy.ids })
      return new Response(copy.text, { headers: copy.headers })
    }
    const { answer, ids } =
      fault === 'error'
        ? errorPage(random)
        : fault === 'starting'
          ? startingPage()
          : fault === 'browsers' && !/mozilla|chrome/i.test(request.headers.get('user-agent') ?? '')
            ? blockPage()
            : options.answer(url, nowMs(), fault, request)
    log.push({ atMs, source: options.source, path, status: answer.status, note: fault, ids })
    if (!isShared || answer.status !== 200) return answer
    const [text, headers] = [await answer.text(), [...answer.headers]]
    cache.set(path, { atMs, text, headers, ids })
    return new Response(text, { headers: answer.headers })
  }
  const open = (port: number) => Bun.serve({ port, hostname: '127.0.0.1', idleTimeout: 60, fetch })
  let server = open(0)
  const port = server.port ?? 0
  for (const one of options.faults.filter((fault) => fault.kind === 'down')) {
    timers.push(
      setTimeout(() => void server.stop(true), one.fromMs - nowMs()),
      setTimeout(() => (server = open(port)), one.untilMs - nowMs()),
    )
  }
  return {
    url: `http://127.0.0.1:${port}`,
    log,
    stop: async () => {
      for (const timer of timers) clearTimeout(timer)
      await server.stop(true)
    },
  }
}

/** The spans in which the site is of no use to a reader, with the time that it takes to be so again. */
export const holesOf = (faults: readonly Fault[]): Span[] =>
  faults.map((fault) => [fault.fromMs, fault.untilMs + 5000])
