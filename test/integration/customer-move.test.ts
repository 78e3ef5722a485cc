// Goal: a customer moves between two running daemons, and its receiver sees every item once by its id; the former instance
// sends nothing after the export; a kill during the import leaves all or nothing. Method: the program, two data folders, a
// simulated platform and a further source, a receiver that refuses for a while.
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, statSync, writeFileSync } from 'node:fs'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { startKind } from '../../sandbox/sources/kinds.ts'
import { tempFolder } from '../support/folder.ts'
import { PROGRAM, runForumd, runForumdToEnd, startProcess } from '../support/process.ts'

const WAIT_MAX_MS = 40_000

async function until(what: string, met: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + WAIT_MAX_MS; Date.now() < end; await Bun.sleep(50))
    if (await met()) return
  throw new Error(`${what}: not within ${WAIT_MAX_MS} ms`)
}

/** A receiver that answers 503 while it refuses. */
function startReceiver() {
  const received: { id: string; title: string; at: number; ok: boolean }[] = []
  const state = { refuses: false }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body: any = await request.json()
      const ok = !state.refuses
      received.push({ id: body.delivery_id, title: body.items[0].title, at: Date.now(), ok })
      return new Response(null, { status: ok ? 204 : 503 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/`,
    received,
    state,
    [Symbol.dispose]: () => void server.stop(true),
  }
}

type Folder = ReturnType<typeof tempFolder>

/** Writes the configuration of an instance. */
function configure(
  folder: Folder,
  name: string,
  { platform, source }: { platform: { url: string; session_cookie: string }; source: string },
): string {
  const path = folder.file(`${name}.toml`)
  writeFileSync(
    path,
    `server = { port = 0 }
storage = { dir = "${folder.file(name)}" }
platform = { base_url = "${platform.url}", session_cookie = "${platform.session_cookie}" }
guard = { allow_targets = ["127.0.0.1"], allow_http = true }
[plans.entry]
cadence_s = 1
[[source]]
name = "s"
kind = "hackernews"
base_url = "${source}"
requests_per_minute = 6000
`,
  )
  return path
}

const caller =
  (daemon: { url: string }, key: string) =>
  async (path: string, body?: object): Promise<any> => {
    const answer = await fetch(`${daemon.url}/forum/monitor/${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
    const given: any = await answer.json()
    return { http: answer.status, ...given }
  }

const newKey = async (config: string, name: string) =>
  (
    await runForumd(['key', 'create', '--customer', name, '--credits', '5', '--config', config])
  ).trim()

const rowsIn = (path: string, sql: string): unknown => {
  using db = new Database(path, { readonly: true })
  return Object.values(db.query(sql).get() ?? {})[0]
}

/** Runs `customer import` with its key on standard input. */
const importing = (file: string, key: string, config: string, ...more: string[]) => {
  const child = Bun.spawn(
    [...PROGRAM, 'customer', 'import', file, '--json', ...more, '--config', config],
    { stdin: Buffer.from(`${key}\n`), stdout: 'pipe', stderr: 'pipe' },
  )
  return {
    child,
    async end() {
      const [out, err, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ])
      return { out, err, code }
    },
  }
}

test('a customer moves between two daemons, and its receiver sees every item once', async () => {
  await using platform = await startSandbox({
    port: 0,
    seed: 1,
    speed: 0,
    world: 'empty',
    now: Date.now,
    allowance: 1_000_000,
    session_allowance: 1_000_000,
  })
  await using site = await startKind('hackernews', { port: 0, seed: 7, speed: 0, now: Date.now })
  using folder = tempFolder()
  using receiver = startReceiver()
  const parts = { platform, source: site.url }
  const here_config = configure(folder, 'here', parts)
  const there_config = configure(folder, 'there', parts)
  const key = await newKey(here_config, 'ann')
  const other_key = await newKey(there_config, 'zoe')
  const here = await startProcess(here_config)
  const there = await startProcess(there_config)
  const atHere = caller(here, key)
  const atThere = caller(there, key)
  const say = (title: string) => {
    platform.post({ subforum: 'coffee', title, text: 'It wakes the house.' })
  }
  const saySource = (title: string) =>
    fetch(`${site.url}/__sandbox/post`, {
      method: 'POST',
      body: JSON.stringify({ title, text: 'A text that is long enough.' }),
    })
  const accepted = () => receiver.received.filter(({ ok }) => ok).map(({ title }) => title)

  const { secret, ...hook } = await atHere('webhook/create', { url: receiver.url })
  expect(hook.http).toBe(200)
  platform.post({ subforum: 'coffee', title: 'An old one' })
  const grinders = { subforum: 'coffee', include_any: ['grinder'] }
  const { id } = await atHere('add', { filter_spec: grinders })
  const { id: kettles } = await atHere('add', {
    filter_spec: { source: 's', include_any: ['kettle'] },
  })
  // The other instance watches the same place for another customer: its feed is live there.
  await caller(there, other_key)('add', { filter_spec: grinders })
  const audited = async (monitor: string) =>
    (await atHere(`health?id=${monitor}`)).coverage_24h?.audited_until !== null
  await until('first polls', async () => (await audited(id)) && (await audited(kettles)))

  say('A first grinder')
  await saySource('A first kettle')
  await until('first deliveries', () => accepted().length === 2)
  receiver.state.refuses = true
  say('A refused grinder')
  await until('a refusal', () => receiver.received.length >= 3)
  const refused = receiver.received.findLast(({ ok }) => !ok)
  const { after } = await atHere(`items?id=${id}`)

  const file = folder.file('ann.customer')
  const exported = await runForumdToEnd([
    'customer',
    'export',
    'ann',
    '--output',
    file,
    '--config',
    here_config,
  ])
  expect([exported.code, exported.err]).toEqual([0, expect.stringContaining('is frozen here')])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const file_key = exported.out.trim()
  const exported_at = Date.now()
  receiver.state.refuses = false

  // The former instance answers with the reason and acts no more, although the retry is due within seconds.
  expect(await atHere(`items?id=${id}`)).toMatchObject({ http: 503, code: 'customer_moving' })
  expect(await atHere('add', { filter_spec: grinders })).toMatchObject({ http: 503 })
  say('A grinder meanwhile')
  await saySource('A kettle meanwhile')
  await Bun.sleep(8_000)
  expect(receiver.received.filter(({ at }) => at > exported_at)).toEqual([])

  const imported = await importing(file, file_key, there_config).end()
  expect([imported.code, imported.err.includes('Error')]).toEqual([0, false])
  const { receipt } = JSON.parse(imported.out)
  await until('the retry, and what came meanwhile', () => accepted().length >= 5)
  say('A last grinder')
  await saySource('A last kettle')
  await until('the last deliveries', () => accepted().length >= 7)
  await Bun.sleep(3_000)

  expect(accepted().toSorted()).toEqual([
    'A first grinder',
    'A first kettle',
    'A grinder meanwhile',
    'A kettle meanwhile',
    'A last grinder',
    'A last kettle',
    'A refused grinder',
  ])
  const retried = receiver.received.find(({ title, ok }) => ok && title === 'A refused grinder')
  expect(retried?.id).toBe(refused?.id ?? '')
  // The cursor of the pull API goes on, and the ledger is the same.
  const pulled = await atThere(`items?id=${id}&after=${after}`)
  expect(JSON.stringify(pulled)).toContain('A grinder meanwhile')
  expect(JSON.stringify(pulled)).not.toContain('A first grinder')
  expect(
    rowsIn(
      folder.file('there/forumd.sqlite'),
      "SELECT balance_micros FROM customers WHERE name = 'ann'",
    ),
  ).toBe(
    rowsIn(folder.file('here/forumd.sqlite'), 'SELECT balance_micros FROM customers') as number,
  )
  expect(secret).toMatch(/^whsec_/)

  const wrong = await runForumdToEnd([
    'customer',
    'export',
    'ann',
    '--finish',
    'nothing',
    '--config',
    here_config,
  ])
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('Nothing was deleted')])
  await runForumd(['customer', 'export', 'ann', '--finish', receipt, '--config', here_config])
  expect((await atHere(`items?id=${id}`)).http).toBe(403)
  const sent = receiver.received.length
  await Bun.sleep(2_000)
  expect(receiver.received).toHaveLength(sent)
  for (const daemon of [here, there]) {
    await daemon.end('SIGTERM')
    expect(daemon.lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
  }
}, 120_000)

/** Deliveries of the customer that is imported under kills. */
const MANY = 20_000

test('a kill during the import leaves nothing, and the import can be repeated', async () => {
  using folder = tempFolder()
  const parts = {
    platform: { url: 'http://127.0.0.1:1', session_cookie: 's' },
    source: 'http://127.0.0.1:1',
  }
  const here_config = configure(folder, 'here', parts)
  const there_config = configure(folder, 'there', parts)
  await newKey(here_config, 'ann')
  await newKey(there_config, 'zoe')
  const here = folder.file('here/forumd.sqlite')
  const there = folder.file('there/forumd.sqlite')
  {
    using db = new Database(here)
    db.run(`INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
      SELECT 'mon_1', id, '{}', 60, 1, 1, 1 FROM customers`)
    db.run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY})
      INSERT INTO deliveries (row, id, customer_id, monitor_id, status, created_at)
      SELECT i, 'dlv_' || i, (SELECT id FROM customers), 'mon_1', 'suppressed', i FROM n`)
    db.run(
      'INSERT INTO delivery_bodies SELECT row, randomblob(500), randomblob(32) FROM deliveries',
    )
  }
  const file = folder.file('ann.customer')
  const key = (
    await runForumd(['customer', 'export', 'ann', '--output', file, '--config', here_config])
  ).trim()
  const whole = await importing(
    file,
    key,
    configure(folder, 'whole', parts),
    '--name',
    'timed',
  ).end()
  expect([whole.code, JSON.parse(whole.out).tables.deliveries]).toEqual([0, MANY])

  const counts = () =>
    rowsIn(there, 'SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM customers)')
  let killed_within = 0
  for (let part = 1; part <= 6; part++) {
    const { child, end } = importing(file, key, there_config)
    // By what it has written: a slow machine kills within the transaction, too.
    const wal = `${there}-wal`
    const written = () => (existsSync(wal) ? statSync(wal).size : 0)
    const begun = written()
    while (written() < begun + part * 1_000_000 && child.exitCode === null) await Bun.sleep(1)
    child.kill('SIGKILL')
    await end()
    if (child.signalCode === 'SIGKILL') killed_within += 1
    expect([part, [1, MANY + 2].includes(Number(counts()))]).toEqual([part, true])
    if (counts() !== 1) break
  }
  expect(killed_within).toBeGreaterThan(0)

  if (counts() === 1) {
    const { code, err } = await importing(file, key, there_config).end()
    expect([code, err]).toEqual([0, expect.any(String)])
  }
  expect(counts()).toBe(MANY + 2)
  expect(rowsIn(there, 'PRAGMA integrity_check')).toBe('ok')
}, 120_000)
