/**
 * Checks that sources which send as much as they may fill neither the memory nor the disk: the executable watches ten forums,
 * each answer of which is as large as one may be, with new rows only, the longest texts, and all of them match. It runs in a
 * memory cgroup of the size of the shipped unit's MemoryMax where the machine lets one be made (version 1, as root);
 * elsewhere its own memory is compared with that. Exit code 0 only if the process lives, its memory and its data folder stay
 * within their bounds, no turn of its main thread takes long, and `/health` answers.
 *
 *     bun run bar:flood [--minutes 10] [--cadence 60] [--keep matches] [--short]
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { certificate } from '../../../test/support/certificate.ts'
import { runForumd, startProcess } from '../../../test/support/process.ts'
import { quantile } from '../abuse/watch.ts'
import { builtFrom } from '../binary.ts'
import { sample } from '../soak/samples.ts'
import { readTurns } from '../turns.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    cadence: { type: 'string', default: '60' },
    keep: { type: 'string', default: 'matches' },
    short: { type: 'boolean', default: false },
  },
})
const MINUTES = values.short ? 1 : Number(values.minutes)
const CADENCE_S = values.short ? 5 : Number(values.cadence)
/** The kinds that monitors follow by ids. */
const KINDS = ['discourse', 'hackernews', 'lemmy', 'piefed', 'discourse'].flatMap((it) => [it, it])
const MIB = 1024 * 1024
/** MemoryMax of the unit that `forumd service-unit` writes. */
const MEMORY_MAX = 768 * MIB
/** `limits.source_mib_per_day`. */
const PER_DAY_MIB = 256
/** One step may exceed the account of its source: two answers of 8 MiB. */
const STEP_MIB = 16
/** The match, a delivery to one webhook, and text and index in the archive. */
const COPIES = 5
/** Reserve file, logs and their remains. */
const REST_MIB = 256
/** Longest time for which the main thread may run between two turns of the event loop. */
const TURN_MAX_MS = 250
const SAMPLE_EVERY_MS = 250
const HEALTH_TIMEOUT_MS = 30_000

/** Budget of the data folder, in MiB: an hour's share at once, what came since, and the last step. */
const DISK_MAX_MIB =
  KINDS.length * COPIES * (PER_DAY_MIB / 24 + (PER_DAY_MIB * MINUTES) / 1440 + STEP_MIB) + REST_MIB

await using stack = new AsyncDisposableStack()
const dir = mkdtempSync(join(tmpdir(), 'forumd-flood-'))
stack.defer(() => rmSync(dir, { recursive: true, force: true }))
process.env['FORUMD_BINARY'] ??= await builtFrom(join(import.meta.dir, '../../..'), join(dir, 'it'))
const cgroup = limited()
if (cgroup !== null) stack.defer(() => rmdirSync(cgroup))

const server = join(import.meta.dir, 'server.ts')
const sites = Bun.spawn([process.execPath, server, ...KINDS], {
  stdout: 'pipe',
  stderr: 'inherit',
})
stack.defer(() => sites.kill())
const first = await sites.stdout.getReader().read()
const started: { kind: string; url: string }[] = JSON.parse(new TextDecoder().decode(first.value))
const { key, cert } = await certificate()
const receiver = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  tls: { key, cert },
  fetch: () => new Response(null, { status: 204 }),
})
stack.defer(() => receiver.stop(true))

const data = join(dir, 'data')
const config = join(dir, 'forumd.toml')
const ca_file = join(dir, 'ca.pem')
writeFileSync(ca_file, cert)
writeFileSync(
  config,
  `server = { port = 0 }
storage = { dir = "${data}" }
billing = { enabled = false }
archive = { keep = "${values.keep}" }
guard = { allow_targets = ["127.0.0.1"] }
delivery = { ca_file = "${ca_file}" }
plans = { entry = { slots = 100, sitewide_slots = 100, cadence_s = ${CADENCE_S} } }
${started.map(({ kind, url }, n) => `[[source]]\nname = "s${n}"\nkind = "${kind}"\nbase_url = "${url}"`).join('\n')}
`,
)
const token = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
const enter = `echo $$ > ${cgroup}/cgroup.procs && exec "$@"`
const turns = join(dir, 'turns')
writeFileSync(turns, '')
const preload = join(import.meta.dir, '../turns.ts')
const daemon = await startProcess(config, [
  ...(cgroup === null ? [] : ['sh', '-c', enter, 'sh']),
  'env',
  `BUN_OPTIONS=--preload=${preload}`,
  `FORUMD_TURNS=${turns}`,
])
stack.defer(async () => void (await daemon.end('SIGKILL')))
const ended = new AbortController()
void daemon.ended.then(() => ended.abort())

const webhook_id = await create('webhook/create', {
  kind: 'webhook',
  url: `https://127.0.0.1:${receiver.port}/`,
})
for (const n of started.keys())
  await create('add', {
    filter_spec: { source: `s${n}`, include_any: ['flood'] },
    webhook_ids: [webhook_id],
  })

const health_ms: number[] = []
let unanswered = 0
let memory_mib = 0
let disk_mib = 0
for (const until = Date.now() + MINUTES * 60_000; Date.now() < until && !ended.signal.aborted;) {
  const at = performance.now()
  const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS)
  const answer = await fetch(`${daemon.url}/health`, { signal }).catch(() => null)
  if (answer === null) unanswered += 1
  health_ms.push(performance.now() - at)
  memory_mib = Math.max(memory_mib, sample(daemon.pid, data, 0)?.own_mib ?? 0)
  disk_mib = Math.max(disk_mib, sizeIn(data) / MIB)
  await Bun.sleep(SAMPLE_EVERY_MS)
}
const turns_ms = readTurns(turns)
const events = Map.groupBy(daemon.lines, (line) => String(JSON.parse(line).event))
console.log(
  `${KINDS.length} sources, ${MINUTES} minutes, cadence ${CADENCE_S} s, ${cgroup === null ? 'no cgroup' : 'in a cgroup'}
memory of its own, highest: ${memory_mib.toFixed(0)} MiB, at most ${MEMORY_MAX / MIB} MiB
data folder, largest: ${disk_mib.toFixed(0)} MiB, at most ${DISK_MAX_MIB.toFixed(0)} MiB
longest turn of the main thread: ${quantile(turns_ms, 1).toFixed(0)} ms; p50, p99 of the longest of each second: ${quantile(turns_ms, 0.5).toFixed(0)}, ${quantile(turns_ms, 0.99).toFixed(0)} ms
/health, p50, p99: ${quantile(health_ms, 0.5).toFixed(0)}, ${quantile(health_ms, 0.99).toFixed(0)} ms
${[...events].map(([event, { length }]) => `${event} ${length}`).join(', ')}`,
)
const failed = [
  ended.signal.aborted && 'the process ended',
  memory_mib * MIB > MEMORY_MAX && 'its memory exceeds MemoryMax',
  disk_mib > DISK_MAX_MIB && 'the data folder exceeds its budget',
  quantile(turns_ms, 1) > TURN_MAX_MS && `a turn took longer than ${TURN_MAX_MS} ms`,
  unanswered > 0 && `/health did not answer ${unanswered} times`,
].filter((line) => line !== false)
for (const line of failed) console.error(`FAILED ${line}`)
process.exitCode = failed.length === 0 ? 0 : 1

/** Creates something of a customer; answers its id. */
async function create(path: string, body: object): Promise<string> {
  const answer = await fetch(`${daemon.url}/forum/monitor/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${text}`)
  const { id }: { id: string } = JSON.parse(text)
  return id
}

/** A memory cgroup; null: none can be made here. */
function limited(): string | null {
  const path = `/sys/fs/cgroup/memory/forumd-flood-${process.pid}`
  try {
    mkdirSync(path)
    writeFileSync(join(path, 'memory.limit_in_bytes'), String(MEMORY_MAX))
    readFileSync(join(path, 'cgroup.procs'))
    return path
  } catch {
    return null
  }
}

function sizeIn(folder: string): number {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true })
  return files
    .filter((it) => it.isFile())
    .map((it) => statSync(join(it.parentPath, it.name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, it) => sum + it, 0)
}
