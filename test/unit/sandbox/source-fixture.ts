import type { SimulatedKind, SourceWorld } from '../../../sandbox/sources/source.ts'
import {
  type SimulationOptions,
  type SourceSandbox,
  startSource,
} from '../../../sandbox/sources/start.ts'

const NOON = Date.UTC(2026, 10, 20, 12)

/** Simulated platform with a clock that only advances on request. */
export const openSource = <W extends SourceWorld>(
  kind: SimulatedKind<W>,
  options: Partial<SimulationOptions> = {},
): Promise<SourceSandbox<W>> =>
  startSource(kind, { port: 0, seed: 7, speed: 0, world: 'empty', now: () => NOON, ...options })

type Ask = { method?: string; headers?: Record<string, string>; body?: object; form?: object }

/** Answer with its JSON; null for another body. */
export type SourceReply = { status: number; headers: Headers; text: string; json: any }

/** Sends a request; does not follow redirects. */
export async function ask(
  { url }: { url: string },
  path: string,
  { method, headers = {}, body, form }: Ask = {},
): Promise<SourceReply> {
  const response = await fetch(url + path, {
    method: method ?? ((body ?? form) ? 'POST' : 'GET'),
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    redirect: 'manual',
    ...(body && { body: JSON.stringify(body) }),
    ...(form && { body: new URLSearchParams(form as Record<string, string>) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parsed(text) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Result of a control call. */
export const control = (
  sandbox: { call(name: string, input: unknown): unknown },
  name: string,
  input: object,
): any => sandbox.call(name, input)
