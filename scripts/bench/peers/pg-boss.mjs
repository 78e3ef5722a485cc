// pg-boss, in one process. Arguments: the plan, the address of PostgreSQL. Prints `ready`, then the result.
import PgBoss from 'pg-boss'

import { CONCURRENCY, itemOf, planOf, TARGETS } from './plan.mjs'
import { createPost, now_ms } from './post.mjs'

const [text, url] = process.argv.slice(2)
const plan = planOf(text)
const post = createPost(plan.receiver)
const boss = new PgBoss({ connectionString: url, max: 10 })
boss.on('error', (error) => console.error(error))
await boss.start()
await boss.createQueue('deliveries')
let [added, done] = [0, 0]

// Its own worker waits at least half a second between polls; polling again as soon as jobs were found is the
// fastest use of its interface. An empty queue is polled every 2 ms.
const ended = new AbortController()
async function work() {
  while (!ended.signal.aborted) {
    const jobs = await boss.fetch('deliveries', { batchSize: CONCURRENCY })
    if (jobs.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 2))
      continue
    }
    const attempts = await Promise.all(
      jobs.map(({ id, data: { target, item } }) => post(`dlv_${id}`, target, item)),
    )
    await boss.complete(
      'deliveries',
      jobs.map(({ id }) => id),
      { attempts },
    )
    done += jobs.length
  }
}

async function commit(numbers) {
  const at = now_ms()
  added += numbers.length
  await boss.insert(
    numbers.map((n) => ({
      name: 'deliveries',
      data: { target: n % TARGETS, item: itemOf(n, at) },
      retryLimit: 5,
      retryBackoff: true,
    })),
  )
}

console.log('ready')
const working = work()
const result = await plan.run({ commit, now_ms, recorded: () => done >= added })
ended.abort()
await working
console.log(JSON.stringify({ ...result, recorded: done }))
process.exit(0)
