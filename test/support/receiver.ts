import { type Certificate, certificate } from './certificate.ts'

type Received = { path: string; headers: Headers; body: Uint8Array; text: string }

type ReceiverAnswer =
  | number
  | {
      status?: number
      headers?: Record<string, string>
      body?: string | Uint8Array<ArrayBuffer> | ReadableStream
      /** Answers only when this resolves. */
      until?: Promise<void>
      /** Never answers. */
      hang?: true
      /** Answers the status, then never ends the body. */
      drip?: true
    }

export type Receiver = {
  /** https://receiver.test:<port>/hook; the name has to be resolved to 127.0.0.1. */
  url: string
  port: number
  /** The authority to trust. */
  ca: string
  received: Received[]
  /** Answers to come, in order; then 200. */
  answers: ReceiverAnswer[]
  /** Requests that are being kept waiting for an answer right now. */
  holding(): number
  [Symbol.asyncDispose](): Promise<void>
}

/** A webhook receiver over real TLS on the loopback. It answers what is queued, then 200. */
export async function startReceiver({
  tls,
  name = 'receiver.test',
}: { tls?: Certificate; name?: string } = {}): Promise<Receiver> {
  const { key, cert } = tls ?? (await certificate())
  const received: Received[] = []
  const answers: ReceiverAnswer[] = []
  let holding = 0

  async function waitOrAbort(until: Promise<void>, signal: AbortSignal) {
    holding += 1
    const gone = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.race([until, gone])
    holding -= 1
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    tls: { key, cert },
    async fetch(request) {
      const body = new Uint8Array(await request.arrayBuffer())
      const { pathname } = new URL(request.url)
      received.push({
        path: pathname,
        headers: request.headers,
        body,
        text: new TextDecoder().decode(body),
      })
      const next = answers.shift() ?? 200
      if (typeof next === 'number') return new Response('', { status: next })
      if (next.hang) await waitOrAbort(new Promise(() => {}), request.signal)
      if (next.until) await waitOrAbort(next.until, request.signal)
      const init = { status: next.status ?? 200, headers: next.headers ?? {} }
      if (!next.drip) return new Response(next.body ?? '', init)
      return new Response(dripping(), init)
    },
  })
  const port = server.port ?? 0
  return {
    url: `https://${name}:${port}/hook`,
    port,
    ca: cert,
    received,
    answers,
    holding: () => holding,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

const dripping = () =>
  new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([32])) })
