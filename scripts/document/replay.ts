import * as z from 'zod'

import { freePort } from '../../test/support/port.ts'
import type { Exchange } from './record.ts'

// Prism runs as a proxy in front of a service that replays the recorded answers, and reports what the document
// does not allow. Answers are replayed instead of requested again, because Prism parses and rewrites request
// bodies: a test of a broken body would never reach the service.

/** Violations that Prism finds in an answer. */
export type Finding = { exchange: Exchange; wrong: string[] }

const AT_ONCE = 8
const START_WITHIN_MS = 120_000

const violations_shape = z.array(
  z.object({ location: z.array(z.string()).default([]), message: z.string() }),
)

/**
 * Checks recorded answers against a document; returns those with violations, and those of paths that it lacks.
 */
export async function replay({
  prism,
  document,
  exchanges,
}: {
  /** Command that starts Prism. */
  prism: readonly string[]
  /** Path of the document. */
  document: string
  exchanges: readonly Exchange[]
}): Promise<{ findings: Finding[]; unmatched: Exchange[] }> {
  using upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const exchange = exchanges[Number(request.headers.get('x-exchange'))]
      if (!exchange) return new Response('no such exchange', { status: 500 })
      const { status, headers, body } = exchange
      return new Response(body === '' ? null : body, {
        status,
        headers: headers.filter(isForwarded),
      })
    },
  })
  await using proxy = await startPrism(prism, document, `http://127.0.0.1:${upstream.port}`)
  const findings: Finding[] = []
  const unmatched: Exchange[] = []
  let next = 0
  const worker = async () => {
    for (let at = next++; at < exchanges.length; at = next++) {
      const exchange = exchanges[at]
      if (!exchange) continue
      const wrong = await violationsOf(proxy.url, exchange, at)
      if (wrong.some((it) => it.endsWith(NO_PATH))) unmatched.push(exchange)
      else if (wrong.length > 0) findings.push({ exchange, wrong })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return { findings, unmatched }
}

const NO_PATH = 'Selected route not found'
/** Headers that the next hop sets itself. */
const isForwarded = ([name]: [string, string]) =>
  !['content-length', 'content-encoding', 'connection', 'date', 'transfer-encoding'].includes(name)

async function violationsOf(url: string, exchange: Exchange, at: number): Promise<string[]> {
  const response = await fetch(url + exchange.path, {
    method: exchange.method,
    redirect: 'manual',
    headers: {
      'x-exchange': String(at),
      authorization: 'Bearer fk_replayed',
      ...(exchange.method === 'POST' && { 'content-type': 'application/json' }),
    },
    ...(exchange.method === 'POST' && { body: '{}' }),
  })
  const text = await response.text()
  const violations = response.headers.get('sl-violations')
  if (response.status !== exchange.status)
    return [`Prism itself answered ${response.status}: ${text.slice(0, 300)}`]
  if (violations === null) return []
  try {
    return violations_shape
      .parse(JSON.parse(violations))
      .filter(({ location, message }) => location[0] === 'response' || message === NO_PATH)
      .map(({ location, message }) => `${location.slice(1).join('.')}: ${message}`)
  } catch {
    // Too many to fit into a header, which Prism truncates.
    return [violations]
  }
}

async function startPrism(command: readonly string[], document: string, upstream: string) {
  const port = freePort()
  const child = Bun.spawn(
    [
      ...command,
      'proxy',
      '--host=127.0.0.1',
      `--port=${port}`,
      '--validate-request=false',
      '--cors=false',
      document,
      upstream,
    ],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  const listening = Promise.withResolvers<void>()
  const problems: string[] = []
  const drained = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stdout) {
      const text = decoder.decode(chunk)
      if (problems.length < 200) problems.push(text)
      if (text.includes('Prism is listening')) listening.resolve()
    }
    listening.reject(new Error(`Prism ended before it listened:\n${problems.join('')}`))
  })()
  const timeout = setTimeout(
    () => listening.reject(new Error('Prism did not listen in time')),
    START_WITHIN_MS,
  )
  const url = `http://127.0.0.1:${port}`
  const end = async () => {
    child.kill()
    await child.exited
    await drained
  }
  try {
    await listening.promise
  } catch (error) {
    await end()
    throw error
  } finally {
    clearTimeout(timeout)
  }
  return { url, [Symbol.asyncDispose]: end }
}
