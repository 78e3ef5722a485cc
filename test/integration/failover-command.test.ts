import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { hasEtcd, startEtcd } from '../support/lease-servers.ts'
import { litestreamProgram } from '../support/litestream.ts'
import { type NodeProcess, startPair } from '../support/node-pair.ts'
import { runForumd, runForumdToEnd } from '../support/process.ts'

// Two daemons as processes of their own, etcd and Litestream.

setDefaultTimeout(300_000)

const dir = mkdtempSync(join(tmpdir(), 'forumd-move-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const litestream = litestreamProgram()

/** `/health` of the address at which a node listens now. */
async function healthOf({ lines }: NodeProcess): Promise<Record<string, unknown>> {
  const url = lines.findLast(({ event }) => event === 'serve.listening')?.['url']
  const response = await fetch(`${String(url)}/health`)
  return z.record(z.string(), z.unknown()).parse(await response.json())
}

test.skipIf(litestream === null || !hasEtcd())(
  'a planned move loses nothing, is called off by either node, and goes back',
  async () => {
    await using pair = await startPair({ dir, startLease: startEtcd, litestream: litestream ?? '' })
    const move = (from: string, to: string) =>
      runForumdToEnd(['failover', '--to', to, '--config', pair.configOf(from)])
    const create = (node: string, name: string) =>
      runForumd(['customer', 'create', name, '--config', pair.configOf(node)])
    const customersOf = (node: string) => {
      using db = new Database(join(pair.folderOf(node), 'forumd.sqlite'), { readonly: true })
      return db.query<{ name: string }, []>('SELECT name FROM customers ORDER BY name').all()
    }
    /** Moves from b, which waits for `during` before its last change is replicated. */
    const moveWith = async (to: string, during: () => unknown) => {
      writeFileSync(pair.heldOf('b'), '')
      const moving = move('b', to)
      await b.next('serve.handing_over')
      await during()
      rmSync(pair.heldOf('b'))
      return moving
    }
    pair.prepare('a')
    const a = pair.start('a')
    await a.next('serve.listening')
    expect(await move('a', 'b')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no standby "b": none has announced itself'),
    })
    pair.prepare('b', { key_of: 'a' })
    const b = pair.start('b')
    await b.next('standby.copied')
    expect(await move('b', 'a')).toMatchObject({
      code: 1,
      err: expect.stringContaining('this node is b, and the primary is a'),
    })
    expect(await move('a', 'a')).toMatchObject({ code: 1 })
    expect((await move('a', 'c')).err).toContain('there is no standby "c": there is b')

    // A node that does not live is found out before anything stops.
    process.kill(b.pid, 'SIGSTOP')
    expect((await move('a', 'b')).err).toContain('b has not announced itself within')
    process.kill(b.pid, 'SIGCONT')
    expect(a.lines.some(({ event }) => event === 'serve.handing_over')).toBe(false)
    await b.next('standby.copied')

    // The last change before the move.
    await create('a', 'one')
    const first = await move('a', 'b')
    expect(first).toMatchObject({ code: 0 })
    expect(first.out).toMatch(
      /^b lives.*\na finishes.*\n(everything is replicated.*\n)?(b restores.*\n)?b is the primary in epoch 2, after [\d.]+ s; a is the standby\n$/,
    )
    await b.next('serve.listening')
    const [took_over] = b.lines.filter(({ event }) => event === 'standby.took_over')
    expect(took_over).toMatchObject({ holder: 'a', state: 'complete' })
    expect(customersOf('b')).toEqual([{ name: 'one' }])
    // The former primary has become the standby in the same process.
    await a.next('standby.copied')

    // A standby that cannot restore at the last moment gives the lease back.
    await create('b', 'two')
    const second = await moveWith('a', () => writeFileSync(pair.brokenOf('a'), ''))
    expect(second.code).toBe(1)
    expect(second.err).toMatch(
      /a did not take over \(.*\): b is the primary in epoch 4, and nothing is lost/,
    )
    await b.next('serve.listening')
    expect(customersOf('b')).toEqual([{ name: 'one' }, { name: 'two' }])
    expect(await a.exited).not.toBe(0)

    // And one that dies while it is to take over: the lease is free after a term.
    rmSync(pair.brokenOf('a'))
    const again = pair.start('a')
    await again.next('standby.copied')
    expect(await moveWith('a', () => again.end('SIGKILL'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('b is the primary in epoch'),
    })
    await b.next('serve.listening')

    const last = pair.start('a')
    await last.next('standby.copied')
    await create('b', 'zed')
    expect(await move('b', 'a')).toMatchObject({ code: 0 })
    await last.next('serve.listening')
    expect(customersOf('a').map(({ name }) => name)).toEqual(['one', 'two', 'zed'])
    // After a planned move nothing is in doubt.
    expect((await healthOf(last)).unsettled_until).toBeUndefined()

    // A node that dies, here in the middle of a move, leaves doubt, until the operator settles it.
    while ((await b.next('standby.copied'))['epoch'] !== 6);
    const replicating = pair.replicatorOf('a')
    writeFileSync(pair.heldOf('a'), '')
    const broken = move('a', 'b')
    await last.next('serve.handing_over')
    await last.end('SIGKILL')
    process.kill(replicating ?? expect.unreachable('nothing replicates a'), 'SIGKILL')
    await b.next('standby.unsettled')
    const [lost] = b.lines.filter(({ event }) => event === 'standby.took_over').slice(-1)
    expect(lost).toMatchObject({ holder: 'a', state: 'behind' })
    await b.next('serve.listening')
    expect(await broken).toMatchObject({
      code: 1,
      err: expect.stringContaining('a ended before everything was replicated: b is the primary'),
    })
    const { unsettled_until } = await healthOf(b)
    expect(Date.parse(String(unsettled_until))).toBeGreaterThan(Date.now() + 86_000_000)
    const settle = () => runForumd(['failover', '--settle', '--config', pair.configOf('b')])
    expect(await settle()).toStartWith('settled')
    await b.next('standby.settled')
    expect(await settle()).toBe('nothing was unsettled\n')
  },
)
