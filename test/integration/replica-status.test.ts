import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { hasPostgres, startPostgres } from '../support/lease-servers.ts'
import { litestreamProgram } from '../support/litestream.ts'
import { startPair, until } from '../support/node-pair.ts'
import { runForumdToEnd } from '../support/process.ts'

// Two daemons as processes of their own, PostgreSQL and Litestream.

setDefaultTimeout(120_000)

/** Each look is a command that asks both nodes and the lease. */
const LOOK_MS = 500

const dir = mkdtempSync(join(tmpdir(), 'forumd-status-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const status_shape = z.looseObject({
  role: z.string(),
  primary: z.string().nullable(),
  epoch: z.number().nullable(),
  lease_ends_at: z.string().nullable(),
  replication: z.string().nullable(),
  lag_s: z.number().nullable(),
  lag_measured_at: z.string().nullable(),
  problem: z.string().nullish(),
  nodes: z.array(
    z.looseObject({
      node: z.string(),
      role: z.string(),
      is_silent: z.boolean(),
      epoch: z.number().nullable(),
      error: z.string().nullable(),
    }),
  ),
})

async function status(config: string, ...more: string[]) {
  const { code, out, err } = await runForumdToEnd([
    'replica',
    'status',
    '--config',
    config,
    '--json',
    ...more,
  ])
  return { code, err, answer: status_shape.parse(JSON.parse(out)) }
}

test('a single node is named as such', async () => {
  const file = join(dir, 'single.toml')
  writeFileSync(
    file,
    `[storage]\ndir = "${join(dir, 'single')}"\n[platform]\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
  )

  const { code, err } = await runForumdToEnd(['replica', 'status', '--config', file])

  expect(code).toBe(1)
  expect(err).toContain('this is a single node: [standby].lease is not set')
})

const litestream = litestreamProgram()

test.skipIf(litestream === null || !hasPostgres())(
  'both nodes report role, epoch and lag, and a lag above the bound fails',
  async () => {
    await using pair = await startPair({
      dir,
      startLease: startPostgres,
      litestream: litestream ?? '',
    })
    pair.prepare('a')
    const a = pair.start('a')
    await a.next('serve.listening')
    // A lack of knowledge is no good news.
    expect(await status(pair.configOf('a'), '--max-lag', '30s')).toMatchObject({
      code: 1,
      answer: { role: 'primary', problem: expect.stringContaining('no standby') },
    })

    pair.prepare('b', { key_of: 'a' })
    const b = pair.start('b')
    await b.next('standby.copied')
    const good = await until(async () => {
      const it = await status(pair.configOf('b'), '--max-lag', '30s')
      return it.code === 0 ? it : null
    }, LOOK_MS)
    expect(good.answer).toMatchObject({
      role: 'standby',
      primary: 'a',
      epoch: 1,
      replication: 'running',
      problem: null,
    })
    expect(Date.parse(good.answer.lease_ends_at ?? '')).toBeGreaterThan(Date.now() - 6000)
    expect(good.answer.lag_s).toBeLessThan(6)
    expect(good.answer.nodes.map(({ node, role, epoch }) => [node, role, epoch])).toEqual(
      expect.arrayContaining([
        ['a', 'primary', 1],
        ['b', 'standby', 1],
      ]),
    )
    const human = await runForumdToEnd(['replica', 'status', '--config', pair.configOf('a')])
    expect(human.out).toMatch(/role +primary\n/)
    expect(human.out).toMatch(/lag +[\d.]+ s when b restored it at /)

    // Litestream stands still while the database changes.
    const replicating = pair.litestreamOf('a') ?? expect.unreachable('nothing replicates a')
    using db = new Database(join(pair.folderOf('a'), 'forumd.sqlite'))
    db.run('PRAGMA busy_timeout = 500')
    await until(() => {
      process.kill(replicating, 'SIGSTOP')
      try {
        db.run('UPDATE instance SET packed_to = packed_to + 1')
        return true
      } catch {
        // It stands still in the middle of a transaction: the daemon could not write either.
        process.kill(replicating, 'SIGCONT')
        return null
      }
    })
    const late = await until(async () => {
      db.run('UPDATE instance SET packed_to = packed_to + 1')
      const it = await status(pair.configOf('a'), '--max-lag', '3s')
      return it.answer.problem?.includes('behind') === true ? it : null
    }, LOOK_MS)
    expect(late.code).toBe(1)
    expect(late.answer.lag_s).toBeGreaterThan(3)
    expect(late.err).toMatch(/the replica was [\d.]+ s behind, more than 3 s/)

    process.kill(replicating, 'SIGCONT')
    await until(async () => {
      const it = await status(pair.configOf('a'), '--max-lag', '3s')
      return it.code === 0 ? it : null
    }, LOOK_MS)

    // A node that is gone is seen as such.
    await b.end('SIGKILL')
    const silent = await until(async () => {
      const { answer } = await status(pair.configOf('a'))
      return answer.nodes.some(({ node, is_silent }) => node === 'b' && is_silent) ? answer : null
    }, LOOK_MS)
    expect(silent.primary).toBe('a')
  },
)
