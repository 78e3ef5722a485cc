/**
 * The smallest Bun sender that loses nothing: a match and its delivery are one row with the body, committed as many at a
 * time as a poll commits; the outcome of an attempt is one statement, and those of an iteration of the event loop share a
 * commit. Bodies are signed and posted as the peers do. It has no claims of another process, retry schedule, pauses, order,
 * checks of addresses, inbox or pull API: what forumd does beside this is the difference. Arguments: the plan as JSON and a
 * folder. Prints `ready`, then the result.
 */
import { Database } from 'bun:sqlite'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { monotonicMs } from '../figures/monotonic.ts'
import { threadMs } from '../figures/thread-time.ts'
import { CONCURRENCY, itemOf, planOf, signedHeaders, TARGETS } from '../peers/plan.mjs'

const plan = planOf(process.argv[2] ?? '')
const db = new Database(join(process.argv[3] ?? '', 'floor.sqlite'), { create: true, strict: true })
db.run('PRAGMA journal_mode = WAL')
db.run('PRAGMA synchronous = FULL')
db.run(
  'CREATE TABLE deliveries (n INTEGER PRIMARY KEY, target INTEGER, body TEXT, status TEXT, attempted_at INTEGER, http INTEGER)',
)
const insert = db.query("INSERT INTO deliveries VALUES (?, ?, ?, 'pending', NULL, NULL)")
const record = db.query('UPDATE deliveries SET status = ?, attempted_at = ?, http = ? WHERE n = ?')
const secrets = Array.from({ length: TARGETS }, () => randomBytes(32))

type Job = { n: number; target: number; text: string }
type Outcome = { n: number; status: number }
const waiting: Job[] = []
let head = 0
let in_flight = 0
let recorded = 0
let added = 0
let outcomes: Outcome[] = []

const store = db.transaction((jobs: readonly Job[]) => {
  for (const { n, target, text } of jobs) insert.run(n, target, text)
})
const settle = db.transaction((list: readonly Outcome[]) => {
  for (const { n, status } of list)
    record.run(status < 300 ? 'delivered' : 'failed', Date.now(), status, n)
})

function commit(numbers: readonly number[]): void {
  const at = monotonicMs()
  const jobs = numbers.map((n) => {
    const target = n % TARGETS
    const text = JSON.stringify({
      delivery_id: `dlv_${n}`,
      monitor_id: `mon_${target}`,
      count: 1,
      items: [itemOf(n, at)],
    })
    return { n, target, text }
  })
  store.immediate(jobs)
  added += jobs.length
  waiting.push(...jobs)
  next()
}

function next(): void {
  while (in_flight < CONCURRENCY && head < waiting.length) {
    const job = waiting[head++]
    if (job === undefined) return
    in_flight++
    void send(job).then(({ status }) => {
      in_flight--
      if (outcomes.push({ n: job.n, status }) === 1) setImmediate(write)
    })
  }
}

function write(): void {
  const list = outcomes
  outcomes = []
  settle.immediate(list)
  recorded += list.length
  next()
}

async function send({ n, target, text }: Job): Promise<Response> {
  const id = `dlv_${n}`
  const response = await fetch(`${plan.receiver}/wh_${target}`, {
    method: 'POST',
    headers: signedHeaders(secrets[target] ?? new Uint8Array(), id, text),
    body: text,
  })
  await response.arrayBuffer()
  return response
}

console.log('ready')
const began_ms = threadMs()
const results = await plan.run({
  commit,
  now_ms: monotonicMs,
  recorded: () => recorded === added,
})
const thread_ms = threadMs() - began_ms
const [{ n } = { n: 0 }] = db
  .query<{ n: number }, []>("SELECT count(*) AS n FROM deliveries WHERE status = 'delivered'")
  .all()
console.log(JSON.stringify({ ...results, thread_ms, recorded: n }))
db.close()
process.exit(0)
