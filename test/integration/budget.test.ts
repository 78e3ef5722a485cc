import { expect, test } from 'bun:test'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { createPool } from '../../src/accounts/pool.ts'
import { parseConfig } from '../../src/config/load.ts'
import { HOME } from '../../src/core/forum/items.ts'
import type { Use } from '../../src/platforms/port.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { insertAccount } from '../../src/store/accounts/accounts.ts'
import { insertProxy } from '../../src/store/accounts/proxies.ts'
import { openInstance } from '../../src/store/maintenance/instance.ts'
import { jarText, SESSION_COOKIE } from '../support/accounts.ts'
import { fakeClock } from '../support/clock.ts'
import { tempFolder } from '../support/folder.ts'
import { cases } from '../support/long-form.ts'
import { openHome } from '../support/platform.ts'

// Goal: no account exceeds the rate limit of its platform under any load, and little of its budget
// is wasted. Method: ten accounts, each with an egress and at a platform of its own with windows of ten minutes
// and 429 past the limit; for an hour, in steps of a second, far more reads than budget, and polls
// beside them.

const LASTS_S = cases({ short: 1200, long: 3600 })
const WINDOW_S = 600
/** Part of real allowances. */
const SCALE = cases({ short: 1 / 3, long: 1 })
const READS_PER_S = Math.ceil(20 * SCALE)
const POLL_EVERY_S = cases({ short: 3, long: 1 })
/** 30 to 60 a minute. */
const ALLOWANCES = [300, 330, 360, 400, 420, 450, 500, 540, 570, 600].map((it) => it * SCALE)
const well = { state: 'ready', state_reason: null, state_since: 0, cooling_until: null } as const

async function startTen() {
  await using stack = new AsyncDisposableStack()
  let out = 0
  const clock = fakeClock(async () => {
    for (let quiet = 0; quiet < 2; quiet = out > 0 ? 0 : quiet + 1)
      await new Promise((resolve) => setImmediate(resolve))
  })
  const sandboxes = await Promise.all(
    ALLOWANCES.map((session_allowance, n) =>
      startSandbox({
        port: 0,
        seed: n + 1,
        speed: 0,
        world: 'empty',
        now: clock.now,
        session_allowance,
        allowance: 0,
      }),
    ),
  )
  for (const sandbox of sandboxes) stack.use(sandbox)
  const folder = stack.use(tempFolder())
  const base_url = sandboxes[0]?.url ?? ''
  const config = parseConfig(
    `[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "${base_url}"\nsession_cookie = "${SESSION_COOKIE}"`,
  )
  config.storage.dir = folder.path

  const request_counts = ALLOWANCES.map(() => 0)
  const refused: number[] = []
  const homes = new Map<string, number>()
  const runtime: Runtime = {
    clock,
    random: {
      uuid: () => Bun.randomUUIDv7(),
      fraction: () => 0.5,
      bytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
    },
    resolve: () => Promise.reject(new Error('no names here')),
    // One address for all of them, as in the daemon; each account's platform counts separately.
    async fetch(url, init) {
      const cookie = new Headers(init.headers).get('cookie') ?? ''
      const home = [...homes].find(([session]) => cookie.includes(session))?.[1] ?? -1
      request_counts[home] = (request_counts[home] ?? 0) + 1
      out++
      try {
        const direct = { ...init, proxy: undefined }
        const answer = await fetch(url.replace(base_url, sandboxes[home]?.url ?? base_url), direct)
        if (answer.status === 429) refused.push(home)
        return answer
      } finally {
        out--
      }
    },
    log: () => {},
  }
  const { db, ring, close } = openInstance(
    { ...config.storage, clock, random: runtime.random },
    { mode: 'serve' },
  )
  stack.defer(close)
  for (const [n, sandbox] of sandboxes.entries()) {
    const username = `reader_${n}`
    sandbox.user({ name: username })
    const { cookies } = sandbox.session({ username })
    homes.set(cookies[SESSION_COOKIE] ?? '', n)
    insertProxy(db, ring, {
      id: `proxy_${n}`,
      name: `proxy_${n}`,
      proxy: { scheme: 'http', host: `proxy-${n}`, port: 80, username: null, password: null },
      created_at: 0,
    })
    insertAccount(db, ring, {
      id: `acc_${n}`,
      name: username,
      username,
      secrets: { kind: 'session', password: null, totp_secret: null },
      jar: { text: jarText(base_url, cookies), expires_at: null },
      proxy_id: `proxy_${n}`,
      status: { ...well, strikes: 0, probes: 0, probe_at: null },
      created_at: 0,
    })
  }
  const {
    forum: platform,
    client,
    close: hangUp,
  } = openHome(config, runtime, {
    signal: new AbortController().signal,
    on_request: (event) => pool.onRequest(event),
  })
  stack.defer(hangUp)
  const pool = createPool({
    ...runtime,
    db,
    ring,
    client,
    source: HOME,
    allow_anonymous: false,
    signal: new AbortController().signal,
    nudge: () => {},
  })

  const owned = stack.move()
  return {
    clock,
    pool,
    request_counts,
    refused,
    /** Sends one request of a use; true if it was answered. */
    async tryRequest(use: Use): Promise<boolean> {
      const identity = pool.lease(use)
      if (identity === null) return false
      const call = { identity, use, deadline_at: clock.now() + 1000 }
      return (await platform.postsById(['1'], call)).ok
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('under far more reads than ten accounts can serve, none exceeds its budget, 95 % of it is used, and polls continue', async () => {
  await using ten = await startTen()
  const budget = ALLOWANCES.reduce((sum, each) => sum + each, 0) * (LASTS_S / WINDOW_S)
  const answered = { read: 0, poll: 0 }
  let [silent_s, longest_silence_s] = [0, 0]

  for (let second = 0; second < LASTS_S; second++) {
    const polls = second % POLL_EVERY_S === 0 ? [ten.tryRequest('poll')] : []
    const reads = Array.from({ length: READS_PER_S }, () => ten.tryRequest('read'))
    await ten.clock.advance(1000)
    const [poll_count, read_count] = await Promise.all([count(polls), count(reads)])
    answered.poll += poll_count
    answered.read += read_count
    silent_s = poll_count > 0 ? 0 : silent_s + 1
    longest_silence_s = Math.max(longest_silence_s, silent_s)
    if (second % 60 === 0) await ten.pool.turn()
  }

  expect(ten.refused).toEqual([])
  for (const [n, allowance] of ALLOWANCES.entries())
    expect(ten.request_counts[n]).toBeLessThanOrEqual(allowance * (LASTS_S / WINDOW_S))
  expect(answered.read + answered.poll).toBeGreaterThanOrEqual(0.95 * budget)
  expect(answered.poll).toBeGreaterThanOrEqual((0.85 * LASTS_S) / POLL_EVERY_S)
  expect(longest_silence_s).toBeLessThanOrEqual(60)
}, 120_000)

const count = async (attempts: readonly Promise<boolean>[]): Promise<number> =>
  (await Promise.all(attempts)).filter(Boolean).length
