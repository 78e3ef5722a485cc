/**
 * Start to first answer, and memory when idle: `bun run bench:start`. Runs dist/forumd against an empty
 * sandbox, alternating with the smallest Bun server and with the smallest executable of the same parts
 * (floors/start.ts), and prints medians side by side. The first start creates the data folder and does not count.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'

import { startSandbox } from '../../sandbox/server/sandbox.ts'

const ROUNDS = 20
const IDLE_ROUNDS = 3
const IDLE_S = 10
const forumd = join(import.meta.dir, '../../dist/forumd')

const dir = mkdtempSync(join(tmpdir(), 'forumd-bench-'))
const sandbox = await startSandbox({
  port: 0,
  seed: 1,
  speed: 0,
  world: 'empty',
  now: Date.now,
})
const port = sandbox.port + 1
await Bun.write(
  join(dir, 'forumd.toml'),
  `server = { port = ${port} }\nsource = [{ name = "forum", kind = "reddit", base_url = "${sandbox.url}", session_cookie = "session" }]\n`,
)
const hello = join(dir, 'hello.ts')
await Bun.write(hello, `Bun.serve({ port: ${port}, fetch: () => new Response('hello') })`)

const floor = join(dir, 'floor')
const { success, logs } = await Bun.build({
  entrypoints: [join(import.meta.dir, 'floors/start.ts')],
  // As forumd is compiled (scripts/build/compile.ts).
  compile: { outfile: floor, autoloadDotenv: false, autoloadBunfig: false, jitPolicy: 20 },
  bytecode: true,
  format: 'esm',
})
if (!success) throw new AggregateError(logs, 'build failed')

const FORUMD = [forumd, 'serve']
const PEERS = {
  forumd: FORUMD,
  'Elysia and SQLite': [floor, String(port)],
  'bun hello': [process.execPath, hello],
}

type Taken = { first_answer_ms: number; idle_mb: number | null }

async function once(command: string[], idle: boolean): Promise<Taken> {
  const began = performance.now()
  const child = Bun.spawn(command, { cwd: dir, stdout: 'ignore', stderr: 'inherit' })
  while (!(await answers())) await Bun.sleep(1)
  const first_answer_ms = performance.now() - began
  if (idle) await Bun.sleep(IDLE_S * 1000)
  const idle_mb = idle ? residentMb(await Bun.file(`/proc/${child.pid}/status`).text()) : null
  child.kill('SIGTERM')
  await child.exited
  return { first_answer_ms, idle_mb }
}

const answers = () =>
  fetch(`http://127.0.0.1:${port}/health`, { keepalive: false }).then(
    (response) => response.ok,
    () => false,
  )

const residentMb = (status: string) => Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
/** Median; for an even number of values the mean of the two in the middle. */
function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[Math.ceil(sorted.length / 2) - 1],
    sorted[Math.floor(sorted.length / 2)],
  ]
  return (low + high) / 2
}

const load = loadavg()[0] ?? Number.NaN
await once(FORUMD, false)
const taken = new Map<string, Taken[]>(Object.keys(PEERS).map((name) => [name, []]))
// Alternating, so that load of the machine affects both.
for (let round = 0; round < ROUNDS; round++)
  for (const [name, command] of Object.entries(PEERS))
    taken.get(name)?.push(await once(command, round < IDLE_ROUNDS))

console.log(
  `${ROUNDS} alternating rounds, medians, memory of ${IDLE_ROUNDS} after ${IDLE_S} s; Bun ${Bun.version}, ` +
    `${cpus().length} cores (${cpus()[0]?.model.trim()}), load ${load.toFixed(1)} before\n`,
)
console.log('| | start to first answer | idle memory |\n|---|---|---|')
const rows = [...taken].map(([name, all]) => ({
  name,
  ms: median(all.map(({ first_answer_ms }) => first_answer_ms)),
  mb: median(all.flatMap(({ idle_mb }) => idle_mb ?? [])),
}))
for (const { name, ms, mb } of rows)
  console.log(`| ${name} | ${ms.toFixed(0)} ms | ${mb.toFixed(0)} MB |`)
const [ours, ...peers] = rows
for (const { name, ms, mb } of peers)
  if (ours)
    console.log(
      `| ratio to ${name} | ${(ours.ms / ms).toFixed(1)} | ${(ours.mb / mb).toFixed(1)} |`,
    )

await sandbox.stop()
rmSync(dir, { recursive: true })
