// A typical hand-written gateway: Fastify, undici to the platform, SQLite for keys and balances. Arguments: the
// platform's address, a folder, a key. Prints its port.
import { createHash } from 'node:crypto'
import { join } from 'node:path'

import Fastify from 'fastify'
import Database from 'libsql'
import { Pool } from 'undici'

import { mappingOf } from './plan.mjs'

const [platform, folder, key] = process.argv.slice(2)
const PRICE_MICROS = 2000
const HOUR_MS = 3_600_000

const db = new Database(join(folder, 'books.sqlite'))
db.pragma('journal_mode = WAL')
db.pragma('synchronous = FULL')
db.exec(`
  CREATE TABLE customers (id INTEGER PRIMARY KEY, key_hash TEXT UNIQUE, balance INTEGER NOT NULL);
  CREATE TABLE usage (customer INTEGER, hour INTEGER, calls INTEGER, cost INTEGER, PRIMARY KEY (customer, hour));
`)
const hash = (text) => createHash('sha256').update(text).digest('hex')
db.prepare('INSERT INTO customers VALUES (1, ?, ?)').run(hash(key), 1e12)

const find = db.prepare('SELECT id FROM customers WHERE key_hash = ?')
const take = db.prepare(
  'UPDATE customers SET balance = balance - ? WHERE id = ? AND balance >= ? RETURNING balance',
)
const give = db.prepare('UPDATE customers SET balance = balance + ? WHERE id = ?')
const count = db.prepare(
  `INSERT INTO usage VALUES (?, ?, 1, ?)
   ON CONFLICT DO UPDATE SET calls = calls + 1, cost = cost + excluded.cost`,
)
// One durable transaction per call: the price and its ledger entry. A failed call is refunded.
const charge = db.transaction((id) => {
  const row = take.get(PRICE_MICROS, id, PRICE_MICROS)
  if (row !== undefined) count.run(id, Math.floor(Date.now() / HOUR_MS), PRICE_MICROS)
  return row
})

const upstream = new Pool(platform, { connections: 64 })
const toPost = mappingOf(platform)

const app = Fastify()
app.get('/api/forum/posts', async (request, reply) => {
  const { authorization = '' } = request.headers
  if (!authorization.startsWith('Bearer ')) return reply.code(401).send({ error: 'no key' })
  const customer = find.get(hash(authorization.slice(7)))
  if (customer === undefined) return reply.code(403).send({ error: 'unknown key' })
  const { subforum } = request.query
  if (typeof subforum !== 'string') return reply.code(400).send({ error: 'subforum is required' })
  const paid = charge(customer.id)
  if (paid === undefined) return reply.code(402).send({ error: 'no money' })
  try {
    const path = `/r/${encodeURIComponent(subforum)}/new.json?limit=25&raw_json=1`
    const { statusCode, body } = await upstream.request({ path, method: 'GET' })
    if (statusCode !== 200) throw new Error(`the platform answered ${statusCode}`)
    const { data } = await body.json()
    reply.header('x-credits-remaining', String(paid.balance / 1e6))
    return { posts: data.children.map(toPost), after: data.after }
  } catch (error) {
    give.run(PRICE_MICROS, customer.id)
    return reply.code(502).send({ error: String(error) })
  }
})
console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
