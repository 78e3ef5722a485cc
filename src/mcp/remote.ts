import { SESSION_PARTS, sessionField, sessionHeader } from '../core/session.ts'
import type { Fetch } from '../outside.ts'
import type { Ask, HeldSession } from './call.ts'
import { serveMcpStdio } from './stdio.ts'
import { toolsOf } from './tools.ts'

export type RemoteDeps = {
  /** Where the daemon listens, without a slash at its end. */
  url: string
  key: string
  session: HeldSession
  /** How long the daemon's document may be waited for. */
  within_ms: number
  warn: (line: string) => void
  stopped: Promise<unknown>
  fetch: Fetch
}

/** Speaks MCP here for a daemon elsewhere. Throws with a sentence for a person when there is no daemon at the address. */
export async function serveMcpFor(it: RemoteDeps): Promise<void> {
  const { url, key, session, fetch, warn, stopped } = it
  const document = await documentOf(it)
  const { words } = toolsOf(document)
  const headers = new Headers({
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
  })
  for (const part of SESSION_PARTS) {
    const value = session[sessionField(words, part)]
    if (value !== undefined) headers.set(sessionHeader(words, part), value)
  }
  const ask: Ask = (path, call) =>
    fetch(url + path, { ...call, headers, redirect: 'error', proxy: false }).catch(() =>
      unreachable(url),
    )
  await serveMcpStdio({ document, ask, session, warn, stopped })
}

/** What a call is answered with while the daemon is away. */
const unreachable = (url: string): Response =>
  Response.json(
    {
      code: 'upstream_unavailable',
      error: 'upstream_unavailable',
      message: `no daemon answers at ${url}; whether a call that changes something was done is to be looked up`,
    },
    { status: 503 },
  )

async function documentOf({ url, within_ms, fetch }: RemoteDeps): Promise<unknown> {
  const nobody = `no forumd answers at ${url}`
  const signal = AbortSignal.timeout(within_ms)
  const answer = await fetch(`${url}/openapi.json`, {
    signal,
    redirect: 'error',
    proxy: false,
  }).catch(() => null)
  if (answer?.status !== 200) throw new Error(nobody)
  return answer.json().catch(() => {
    throw new Error(nobody)
  })
}
