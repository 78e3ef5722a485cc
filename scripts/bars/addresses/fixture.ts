import { join } from 'node:path'

import * as z from 'zod'

import { startSandbox } from '../../../sandbox/server/sandbox.ts'
import { SESSION_COOKIE } from '../../../sandbox/server/sessions.ts'
import { insertWebhook } from '../../../src/store/delivery/webhooks.ts'
import { openInstance } from '../../../src/store/maintenance/instance.ts'
import { runForumd, startProcess } from '../../../test/support/process.ts'
import { PLACES } from './network.ts'

const TIMEOUT_S = 2
/** Proxy variables of the environment; a client that honours them would dial these. */
const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) =>
  [name, name.toLowerCase()].map((it) => `${it}=http://127.0.0.1:3128`),
)
const text = z.string()
const answer = z.record(z.string(), z.unknown())

export type AddressFixture = Awaited<ReturnType<typeof startAddressFixture>>

/**
 * A platform and a daemon in its own process, each at a public address; `allow` lists private addresses that
 * customers may use.
 */
export async function startAddressFixture(dir: string, ca: string, allow: readonly string[] = []) {
  await using stack = new AsyncDisposableStack()
  const sandbox = stack.use(
    await startSandbox({
      port: 0,
      host: PLACES.platform,
      seed: 1,
      speed: 0,
      world: 'empty',
      now: Date.now,
      allowance: 1_000_000,
      session_allowance: 1_000_000,
    }),
  )
  sandbox.user({ name: 'ann', password: 'open-sesame' })
  const path = join(dir, 'forumd.toml')
  await Bun.write(join(dir, 'ca.pem'), ca)
  await Bun.write(
    path,
    `[server]
host = "${PLACES.daemon}"
port = 0
[storage]
dir = "${join(dir, 'data')}"
[requests]
timeout_s = ${TIMEOUT_S}
read_deadline_s = 4
[[source]]
name = "forum"
kind = "reddit"
base_url = "${sandbox.url}"
session_cookie = "${SESSION_COOKIE}"
link_hosts = ["www.forum.test"]
short_link_hosts = ["short.forum.test"]
retries = 1
[source.accounts]
session_requests_per_minute = 60000
[plans.entry]
cadence_s = 1
[guard]
allow_targets = ${JSON.stringify(allow)}
[delivery]
timeout_s = ${TIMEOUT_S}
retry_delays_s = [0, 1, 1, 1, 1, 1]
ca_file = "${join(dir, 'ca.pem')}"
[limits]
key_rate = 0
management_per_minute = 0
writes_per_minute = 0
uploads_per_minute = 0
health_per_minute = 0
webhook_test_per_minute = 0
read_cache_s = 0
[log]
json = true
`,
  )
  const minted = await runForumd(
    `key create --config ${path} --customer ann --credits unlimited --json`.split(' '),
  )
  const { key } = z.object({ key: text }).parse(JSON.parse(minted))
  const daemon = await startProcess(path, [
    'env',
    ...PROXIES,
    `NODE_EXTRA_CA_CERTS=${join(dir, 'ca.pem')}`,
  ])
  stack.defer(async () => void (await daemon.end('SIGTERM')))
  const clock = { now: Date.now }
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  }
  const beside = openInstance(
    { dir: join(dir, 'data'), key_file: '', clock, random },
    { mode: 'beside' },
  )
  stack.defer(() => beside.close())
  const customer_id =
    beside.db.query<{ id: string }, []>('SELECT id FROM customers').get()?.id ?? ''

  async function call(
    route: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ) {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...init.headers,
    }
    const response = await fetch(daemon.url + route, { ...init, headers })
    return { status: response.status, body: answer.parse(await response.json()) }
  }
  const owned = stack.move()
  return {
    sandbox,
    call,
    db: beside.db,
    lines: daemon.lines,
    send: (route: string, body: object) =>
      call(route, { method: 'POST', body: JSON.stringify(body) }),
    /** Headers of ann's reads and session fields of her writes. */
    session() {
      const { [SESSION_COOKIE]: forum_session = '', loid = '' } = sandbox.session({
        username: 'ann',
      }).cookies
      return {
        headers: { 'x-forum-session': forum_session, 'x-forum-loid': loid },
        fields: { forum_session, loid },
      }
    },
    /** Inserts a target as an older, less strict daemon might have left it. */
    insertWebhook(url: string): string {
      const id = `wh_${random.uuid()}`
      const secret = beside.ring.seal(
        `webhooks.secret:${id}`,
        `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
      )
      insertWebhook(beside.db, {
        id,
        customer_id,
        kind: 'webhook',
        url,
        secret,
        created_at: Date.now(),
      })
      return id
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
