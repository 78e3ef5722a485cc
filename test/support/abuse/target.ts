import type { Sandbox } from '../../../sandbox/server/sandbox.ts'
import type { Front } from './front.ts'

/** A daemon that is to be attacked. Its platform is the sandbox behind the front; 127.0.0.1 is allowed as a target. */
export type Target = {
  url: string
  key: string
  front: Front
  sandbox: Pick<Sandbox, 'post' | 'session' | 'session_cookie'>
}

/** Number of attempts, and the failures. */
export type Outcome = { requests: number; wrong: string[] }

export type Answer = { status: number; text: string; body: Record<string, unknown> }

/** One call with the customer's key. */
export async function call(
  { url, key }: Pick<Target, 'url' | 'key'>,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  })
  const text = await response.text()
  return { status: response.status, text, body: objectOf(text) }
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Body fields of a session at the sandbox. */
export function fieldsOf({ sandbox }: Target, username: string) {
  const { [sandbox.session_cookie]: forum_session = '', loid = '' } = sandbox.session({
    username,
  }).cookies
  return { forum_session, loid }
}

/** Works on all of a list, so many at a time, each of which rests after each. */
export async function each<T>(
  list: readonly T[],
  { width, rest_ms = 0 }: { width: number; rest_ms?: number },
  work: (it: T) => Promise<void>,
): Promise<void> {
  const rest = list.values()
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const it of rest) {
        await work(it)
        if (rest_ms > 0) await Bun.sleep(rest_ms)
      }
    }),
  )
}
