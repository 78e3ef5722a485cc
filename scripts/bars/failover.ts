/**
 * Checks that two nodes never act at the same time and that no match is lost between them, as the platform, the receiver and
 * the object store see it. Half of the faults strike the daemon alone, whose Litestream goes on; half strike both.
 *
 *     bun run bar:failover [--kills 30] [--stops 10] [--ttl 5] [--binary PATH]
 *
 * Needs SeaweedFS (`weed` on PATH) and Linux x64.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { overlapsOf, startPair, until } from '../../test/support/standby-pair.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '30' },
    stops: { type: 'string', default: '10' },
    ttl: { type: 'string', default: '5' },
  },
})
const [kills, stops, ttl_s] = [values.kills, values.stops, values.ttl].map(Number)
if (kills === undefined || stops === undefined || ttl_s === undefined) process.exit(2)

const EXIT_RESTART = 75
const EXIT_MAX_MS = 10_000
/** The stopped daemon stays so for this time after the other one has begun. */
const STOPPED_MS = 1500

const dir = mkdtempSync(join(tmpdir(), 'forumd-failover-'))
const failures: string[] = []
const took: number[] = []
try {
  await using pair = await startPair({ dir, ttl_s })
  let [primary, standby] = [pair.a, pair.b]
  primary.start()
  if (!(await until(() => primary.url !== ''))) throw new Error('the first node does not start')
  await pair.populate(primary)
  standby.start(primary)
  if (!(await until(() => pair.delivers(primary.life)))) throw new Error('nothing is delivered')

  // Stops lie between the kills.
  const every = stops === 0 ? Infinity : Math.floor((kills + stops) / stops)
  for (let round = 1; round <= kills + stops; round++) {
    const is_stop = round % every === 0 && round / every <= stops
    const to = round % 2 === 0 ? 'group' : 'daemon'
    if (!(await until(() => standby.saw('lease.waiting')))) failures.push(`${round}: no standby`)
    const at = performance.now()
    primary.signal(is_stop ? 'SIGSTOP' : 'SIGKILL', to)
    if (!(await until(() => pair.delivers(standby.life)))) {
      failures.push(
        `${round}: ${standby.life} does not take over: ${standby.lines.slice(-5).join(' ')}`,
      )
      break
    }
    took.push(performance.now() - at)
    if (is_stop) {
      await Bun.sleep(STOPPED_MS)
      primary.signal('SIGCONT', to)
    }
    // One that goes on without its lease does not end by itself.
    const code = await Promise.race([primary.exited(), Bun.sleep(EXIT_MAX_MS)])
    if (code === undefined) await primary.end('SIGKILL')
    if (is_stop && code !== EXIT_RESTART)
      failures.push(`${round}: exit code ${code ?? 'none'} after a stop`)
    console.log(
      `${round}: ${is_stop ? 'stop' : 'kill'} of the ${to}, ${Math.round(took.at(-1) ?? 0)} ms`,
    )
    ;[primary, standby] = [standby, primary]
    standby.start(primary)
  }
  await pair.poster.stop()
  await until(() => pair.missing().length === 0)
  const overlaps = overlapsOf(pair.arrivals)
  const deliveries = pair.arrivals.filter(({ where }) => where === 'receiver')
  const names = deliveries.flatMap(({ items }) => items)
  const report = {
    failovers: took.length,
    takeover_ms: took
      .toSorted((x, y) => x - y)
      .filter((_, n) => n === 0 || n === took.length >> 1 || n === took.length - 1)
      .map(Math.round),
    matches: pair.poster.matching.length,
    lost: pair.missing().length,
    repeated: names.length - new Set(names).size,
    overlaps: overlaps.length,
    failures,
  }
  console.log(JSON.stringify(report))
  for (const it of overlaps.slice(0, 10)) console.log(JSON.stringify(it))
  process.exitCode = report.lost + report.overlaps + failures.length === 0 ? 0 : 1
} finally {
  rmSync(dir, { recursive: true, force: true })
}
process.exit()
