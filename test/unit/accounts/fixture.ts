import type { AccountLogin, OpenJar, Renewed } from '../../../src/accounts/client.ts'
import { createPool } from '../../../src/accounts/pool.ts'
import { type AccountStatus, newStatus, unsigned } from '../../../src/core/accounts/status.ts'
import { ok, type Outcome } from '../../../src/core/base/result.ts'
import { createRing } from '../../../src/core/base/secrets.ts'
import { HOME } from '../../../src/core/forum/items.ts'
import type { Me } from '../../../src/core/forum/items.ts'
import type { Log } from '../../../src/runtime/runtime.ts'
import { type AccountSecrets, insertAccount } from '../../../src/store/accounts/accounts.ts'
import { insertProxy } from '../../../src/store/accounts/proxies.ts'
import { openDb } from '../../../src/store/db/connection.ts'
import { fakeClock } from '../../support/clock.ts'
import { tempFolder } from '../../support/folder.ts'

/** A jar with one line of cookies, with the behaviour of a real one. */
export function jarOf(text: string): OpenJar {
  let now = text
  let replaced: string | null = null
  return {
    header: () => (now === '' ? null : now),
    take(lines) {
      const before = now
      now = lines.at(-1) ?? now
      if (now !== before) replaced ??= before
      return now !== before
    },
    swap() {
      if (replaced !== null) [now, replaced] = [replaced, now]
    },
    settle() {
      const has_changed = replaced !== null
      replaced = null
      return has_changed
    },
    has_session: () => now !== '',
    text: () => now,
    expires_at: () => null,
  }
}

const NO_SECRETS: AccountSecrets = { kind: 'session', password: null, totp_secret: null }
export const ring = createRing(new Uint8Array(32).fill(3), (count) => new Uint8Array(count).fill(5))

/** A pool on a database file, with a platform that gives prepared answers. */
export function startPoolFixture({ allow_anonymous = true } = {}) {
  const folder = tempFolder()
  const path = folder.file('forumd.sqlite')
  const db = openDb(path, { create: true })
  // The connection of the command line, which writes beside the daemon.
  const beside = openDb(path)
  const clock = fakeClock(() => new Promise((resolve) => setImmediate(resolve)))
  const logged: [string, Record<string, unknown>][] = []
  const log: Log = (_, event, fields = {}) => void logged.push([event, fields])
  const headroom = new Map<string, { requests: number; until_ms: number }>()
  const mes: Outcome<Me | null>[] = []
  const sign_ins: AccountLogin[] = []
  const renewals: (Renewed | Promise<Renewed>)[] = []
  const public_reads: Outcome<unknown>[] = []
  const calls: string[] = []
  /** The only cookies that the platform knows; null: it knows all. */
  const known = { cookies: null as string | null }
  let nudged = false
  const stopping = new AbortController()

  const deps = {
    db,
    ring,
    clock,
    log,
    source: HOME,
    allow_anonymous,
    signal: stopping.signal,
    nudge: () => void (nudged = true),
    client: {
      openJar: jarOf,
      me: (identity: { id: string; cookie: string | null }) => {
        calls.push(`me ${identity.id}`)
        if (known.cookies !== null && identity.cookie !== known.cookies)
          return Promise.resolve(ok(null))
        return Promise.resolve(
          mes.shift() ?? ok<Me>({ id: 't2_a', name: 'ann', is_suspended: false }),
        )
      },
      blocked: () => Promise.resolve(ok([])),
      signIn: (who: { username: string }) => {
        calls.push(`sign in ${who.username}`)
        return Promise.resolve<AccountLogin>(
          sign_ins.shift() ?? { ok: false, reason: null, final: false },
        )
      },
      renew: (who: { client_id: string }) => {
        calls.push(`renew ${who.client_id}`)
        return Promise.resolve<Renewed>(renewals.shift() ?? { ok: false, final: false })
      },
      readPublic: ({ id }: { id: string }) => {
        calls.push(`read ${id}`)
        return Promise.resolve(public_reads.shift() ?? ok(null))
      },
      headroom: ({ id }: { id: string }) => headroom.get(id) ?? { requests: 10, until_ms: 0 },
      budget: () => null,
    },
  }
  const pool = createPool(deps)

  type Plan = {
    id?: string
    secrets?: AccountSecrets
    jar?: string | null
    proxy_id?: string | null
    status?: AccountStatus
    username?: string | null
  }
  /** Adds an account as the command line does; by default checked and ready. */
  function add(name: string, plan: Plan = {}) {
    const { secrets = NO_SECRETS, jar = `c=${name}`, proxy_id = null, username = name } = plan
    const well = { ...newStatus(clock.now()), probe_at: null }
    insertAccount(beside, ring, {
      id: plan.id ?? name,
      name,
      username,
      secrets,
      jar: jar === null ? null : { text: jar, expires_at: null },
      proxy_id,
      status: plan.status ?? (jar === null ? unsigned(clock.now()) : well),
      created_at: clock.now(),
    })
  }

  return {
    folder,
    db,
    beside,
    clock,
    pool,
    logged,
    headroom,
    known,
    mes,
    sign_ins,
    renewals,
    public_reads,
    asked: calls,
    add,
    addProxy: (id: string) =>
      insertProxy(beside, ring, {
        id,
        name: id,
        proxy: { scheme: 'http', host: 'way.test', port: 8080, username: 'u', password: 'p' },
        created_at: 0,
      }),
    stopping,
    restarted: () => createPool(deps),
    events: () => logged.map(([event]) => event),
    states: () => Object.fromEntries(pool.list().map(({ name, state }) => [name, state])),
    /** One turn of the loop, and the tasks that it started. */
    async turn() {
      const at = await pool.turn()
      await clock.advance(0)
      return at
    },
    /** All turns that are due within `ms`. */
    async pass(ms: number) {
      const end = clock.now() + ms
      for (;;) {
        nudged = false
        const due_at = await this.turn()
        const at = nudged ? clock.now() : Math.max(due_at, clock.now() + 1)
        if (at > end) break
        await clock.advance(at - clock.now())
      }
      await clock.advance(Math.max(0, end - clock.now()))
      await this.turn()
    },
    [Symbol.dispose]() {
      db.close()
      beside.close()
      folder[Symbol.dispose]()
    },
  }
}
