/**
 * The smallest Bun server with the durability of a read: it finds the key, takes the price and counts the call in one
 * transaction that all calls of an iteration of the event loop share. A cached read is answered with the same bytes;
 * any other (`fetched`) fetches the platform's page, parses it, and maps its posts as the peer under Node does. What
 * forumd does beside that is the difference. Arguments: `cached` or `fetched`, the platform's address, a folder, a key.
 * Prints its address.
 */
import { Database } from 'bun:sqlite'
import { createHash } from 'node:crypto'
import { join } from 'node:path'

import { mappingOf } from '../peers/plan.mjs'

const [kind = '', platform = '', folder = '', key = ''] = process.argv.slice(2)
const PRICE_MICROS = 2000
const HOUR_MS = 3_600_000

const db = new Database(join(folder, 'floor.sqlite'), { create: true, strict: true })
db.run('PRAGMA journal_mode = WAL')
db.run('PRAGMA synchronous = FULL')
db.run('CREATE TABLE customers (id INTEGER PRIMARY KEY, key_hash TEXT UNIQUE, balance INTEGER)')
db.run(
  'CREATE TABLE usage (customer INTEGER, hour INTEGER, calls INTEGER, cost INTEGER, PRIMARY KEY (customer, hour))',
)
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
db.query('INSERT INTO customers VALUES (1, ?, ?)').run(hashOf(key), 1e12)

const find = db.query<{ id: number }, [string]>('SELECT id FROM customers WHERE key_hash = ?')
const take = db.query<{ balance: number }, [number, number, number]>(
  'UPDATE customers SET balance = balance - ? WHERE id = ? AND balance >= ? RETURNING balance',
)
const count = db.query(
  `INSERT INTO usage VALUES (?, ?, 1, ?)
   ON CONFLICT DO UPDATE SET calls = calls + 1, cost = cost + excluded.cost`,
)

type Job = { id: number; done: (balance: number | null) => void }
let waiting: Job[] = []

const write = db.transaction((jobs: readonly Job[]) =>
  jobs.map(({ id }) => {
    const row = take.get(PRICE_MICROS, id, PRICE_MICROS)
    if (row !== null) count.run(id, Math.floor(Date.now() / HOUR_MS), PRICE_MICROS)
    return row?.balance ?? null
  }),
)

function commit(): void {
  const jobs = waiting
  waiting = []
  const balances = write.immediate(jobs)
  for (const [i, { done }] of jobs.entries()) done(balances[i] ?? null)
}

const charge = (id: number): Promise<number | null> =>
  new Promise((done) => {
    if (waiting.push({ id, done }) === 1) setImmediate(commit)
  })

const toPost = mappingOf(platform)
const bytes =
  kind === 'cached' ? new Uint8Array(await (await fetch(`${platform}/answer`)).arrayBuffer()) : null

type Page = { data: { children: { data: Record<string, unknown> }[]; after: string | null } }

async function read(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const place = new URL(url).searchParams.get('subforum') ?? ''
  const answer = await fetch(
    `${platform}/r/${encodeURIComponent(place)}/new.json?limit=25&raw_json=1`,
  )
  if (!answer.ok) throw new Error(`the platform answered ${answer.status}`)
  const { data } = (await answer.json()) as Page
  return Buffer.from(JSON.stringify({ posts: data.children.map(toPost), after: data.after }))
}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const token = request.headers.get('authorization')?.slice('Bearer '.length) ?? ''
    const customer = find.get(hashOf(token))
    if (customer === null) return new Response(null, { status: 401 })
    const balance = await charge(customer.id)
    if (balance === null) return new Response(null, { status: 402 })
    const body = bytes ?? (await read(request.url))
    // As a plain body, made after an await, it would leave in many small writes.
    const stream = new ReadableStream({
      type: 'direct',
      pull(controller) {
        void controller.write(body)
        controller.close()
      },
    })
    return new Response(stream, {
      headers: {
        'content-type': 'application/json',
        'x-credits-remaining': String(balance / 1e6),
      },
    })
  },
})
console.log(server.url.origin)
