import {
  type Sandbox,
  type SandboxOptions,
  startSandbox,
} from '../../../../../sandbox/server/sandbox.ts'
import { ANONYMOUS, type Call, type Identity } from '../../../../../src/platforms/port.ts'
import { createForum, type ForumOptions } from '../../../../../src/platforms/reddit/adapter.ts'
import type { Clock } from '../../../../../src/runtime/runtime.ts'

const NOON = Date.UTC(2026, 10, 20, 12)

/** A stopped clock: a sleep ends only by its signal. */
const stopped_clock: Clock = {
  now: () => NOON,
  mono: () => 0,
  sleep: (_ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) resolve()
      else signal?.addEventListener('abort', () => resolve(), { once: true })
    }),
}

let drawn = 0

/**
 * A platform with the accounts ann and ben and a post by ben about cats, and a forum in front of
 * it.
 */
export async function acting({
  options = {},
  sandbox: how = {},
}: { options?: Partial<ForumOptions>; sandbox?: Partial<SandboxOptions> } = {}) {
  const sandbox = await startSandbox({
    port: 0,
    chat_port: 0,
    seed: 7,
    speed: 0,
    world: 'empty',
    now: () => NOON,
    ...how,
  })
  sandbox.user({ name: 'ann', password: 'open-sesame' })
  sandbox.user({ name: 'ben' })
  const post = sandbox.post({ subforum: 'cats', author: 'ben', title: 'A cat', text: 'It sleeps.' })
  const forum = createForum({
    name: 'forum',
    fetch: (url, init) => fetch(url, init),
    clock: stopped_clock,
    random: {
      uuid: () => `u${++drawn}`,
      fraction: () => 0.5,
      bytes: (count) => new Uint8Array(count),
    },
    log: () => {},
    base_url: sandbox.url,
    chat_url: sandbox.chat_url ?? '',
    user_agent: 'forumd-test/1.0',
    timeout_ms: 10_000,
    retries: 0,
    requests_per_minute: 600,
    ...options,
  })
  /** A call as a signed-in account, with the given changes. */
  const as = (username: string, identity: Partial<Identity> = {}): Call => ({
    identity: {
      ...ANONYMOUS,
      id: `caller:${username}`,
      whose: 'caller',
      cookie: Object.entries(sandbox.session({ username }).cookies)
        .map(([name, value]) => `${name}=${value}`)
        .join('; '),
      ...identity,
    },
    deadline_at: NOON + 30_000,
  })
  return {
    sandbox,
    forum,
    acts: forum.acts,
    post,
    as,
    /** Methods and paths in the order of the requests, from here on. */
    listen: () => listening(sandbox),
    [Symbol.asyncDispose]: () => sandbox.stop(),
  }
}

function listening(sandbox: Sandbox): () => string[] {
  const from = sandbox.requests.length
  return () => sandbox.requests.slice(from).map(({ method, path }) => `${method} ${path}`)
}

/** Texts of the comments under a post. */
export const textsUnder = (sandbox: Sandbox, name: string): string[] => {
  const thing = sandbox.world.things.get(name)
  return thing?.kind === 't3' ? thing.comments.map(({ text }) => text) : []
}
