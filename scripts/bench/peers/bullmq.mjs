// BullMQ: a queue and a worker in one process. Arguments: the plan, the port of Redis; `idle` only starts it.
// Prints `ready`, then the result.
import { Queue, Worker } from 'bullmq'

import { CONCURRENCY, itemOf, planOf, TARGETS } from './plan.mjs'
import { createPost, now_ms } from './post.mjs'

const [text, port, idle] = process.argv.slice(2)
const plan = planOf(text)
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null }
const post = createPost(plan.receiver)

// Completed jobs are stored like forumd's rows: operators inspect sent deliveries.
const options = { attempts: 6, backoff: { type: 'exponential', delay: 5000 } }
const queue = new Queue('deliveries', { connection, defaultJobOptions: options })
let [added, done] = [0, 0]
const worker = new Worker(
  'deliveries',
  ({ id, data: { target, item } }) => post(`dlv_${id}`, target, item),
  { connection, concurrency: CONCURRENCY },
)
worker.on('completed', () => void done++)
await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])

async function commit(numbers) {
  const at = now_ms()
  const jobs = numbers.map((n) => ({
    name: 'match',
    data: { target: n % TARGETS, item: itemOf(n, at) },
    opts: { jobId: `p${n}` },
  }))
  added += jobs.length
  await queue.addBulk(jobs)
}

console.log('ready')
if (idle !== 'idle') {
  const result = await plan.run({ commit, now_ms, recorded: () => done >= added })
  console.log(
    JSON.stringify({ ...result, recorded: (await queue.getJobCounts('completed')).completed }),
  )
  await worker.close()
  await queue.close()
  process.exit(0)
}
