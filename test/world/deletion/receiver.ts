import type { Server } from 'bun'

/** A request that a receiver got, with the status that it answered. */
export interface Received {
  target: string
  delivery_id: string
  status: number
  body: Record<string, unknown>
}

/** Answer of the receiver at a path. */
export type Manner = 'accept' | 'flaky' | 'refuse' | 'echo' | 'echo_refuse'

/** Receivers at `/NAME`, which keep everything that they get. */
export class Receivers {
  readonly received: Received[] = []
  last_request = 0
  readonly #manners = new Map<string, Manner>()
  readonly #random: () => number
  readonly #now: () => number
  readonly #server: Server<undefined>

  constructor(now: () => number, random: () => number) {
    this.#now = now
    this.#random = random
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request) => this.#take(request),
    })
  }

  add(name: string, manner: Manner): string {
    this.#manners.set(name, manner)
    return `http://127.0.0.1:${this.#server.port}/${name}`
  }

  stop(): void {
    void this.#server.stop(true)
  }

  async #take(request: Request): Promise<Response> {
    this.last_request = performance.now()
    const target = new URL(request.url).pathname.slice(1)
    const text = await request.text()
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null) throw new TypeError(`body of ${target}`)
    const { status, answer } = this.#answer(target, text)
    this.received.push({
      target,
      delivery_id: request.headers.get('x-service-delivery-id') ?? '',
      status,
      body: { ...body },
    })
    return new Response(answer, { status, headers: { date: new Date(this.#now()).toUTCString() } })
  }

  #answer(target: string, text: string): { status: number; answer: string } {
    const manner = this.#manners.get(target) ?? 'accept'
    if (manner === 'refuse') return { status: 500, answer: `no thanks: ${text}` }
    if (manner === 'flaky' && this.#random() < 0.3) return { status: 503, answer: 'busy' }
    if (manner === 'echo') return { status: 200, answer: text }
    if (manner === 'echo_refuse')
      return { status: 422, answer: `cannot take ${escape(text)} ${text.toUpperCase()}` }
    return { status: 200, answer: 'ok' }
  }
}

/** Percent encoding of everything but small letters, as far as the text can be encoded. */
const escape = (text: string): string =>
  text.toWellFormed().replaceAll(/[^a-z]+/g, (rest) => encodeURI(rest))
