/**
 * The platform of the capacity model's memory, in its own process: 400 places with a new post each every 20 s, so that the
 * filters of every place are in use. Prints its address.
 */
import { startSandbox } from '../../sandbox/server/sandbox.ts'

const PLACES = 400
const EVERY_MS = 20_000

const sandbox = await startSandbox({
  port: 0,
  seed: 1,
  speed: 0,
  world: 'empty',
  now: Date.now,
  allowance: 100_000_000,
})
let posted = 0
function postEverywhere(): void {
  for (let n = 0; n < PLACES; n++)
    sandbox.post({ subforum: `place${n}`, title: `report ${posted++} of this place` })
}
postEverywhere()
setInterval(postEverywhere, EVERY_MS)
console.log(JSON.stringify({ url: sandbox.url }))
