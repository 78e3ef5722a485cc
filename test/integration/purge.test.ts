// Goal: what somebody wrote can be taken out of everything that is kept, and nothing else is lost by it. Method: content
// that has gone every way through the house, then the command, then a search of the bytes that are kept.
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { run } from '../../src/cli/run.ts'
import { packBodies } from '../../src/store/bodies.ts'
import { connect } from '../../src/store/db.ts'
import { startHouse } from '../support/house.ts'
import { surroundings } from '../unit/cli/surroundings.ts'

const MINUTE = 60_000
const WORDS = 'unmistakable-walrus'

/** A house that has delivered what ann and bob wrote: alone, in a bundle, and a bundle that still waits. */
async function delivered() {
  const house = await startHouse()
  const { sandbox, clock } = house
  for (const name of ['ann_w', 'bob_w']) sandbox.user({ name })
  sandbox.post({ subforum: 'cats', title: 'an old cat' })
  const { url } = house.receiver
  await house.send('/forum/monitor/webhook/create', { kind: 'webhook', url })
  const add = async (spec: object) => {
    const { body } = await house.send('/forum/monitor/add', {
      filter_spec: { subforum: 'cats', ...spec },
    })
    return String(body.id)
  }
  await add({ kind: 'both' })
  await add({ group: true })
  await add({ group: true, group_window_s: 3600 })
  await add({ min_score: 1000 })
  await clock.advance(2 * MINUTE)
  const by_ann = sandbox.post({
    subforum: 'cats',
    author: 'ann_w',
    title: `${WORDS} one`,
    text: WORDS,
  })
  const by_bob = sandbox.post({
    subforum: 'cats',
    author: 'bob_w',
    title: 'of bob',
    text: 'bobs words',
  })
  await clock.advance(2 * MINUTE)
  sandbox.comment({ parent: by_ann.name, author: 'bob_w', text: 'bob replies' })
  sandbox.comment({ parent: by_bob.name, author: 'ann_w', text: `${WORDS} two` })
  await clock.advance(3 * MINUTE)

  const config = join(house.dir, 'forumd.toml')
  writeFileSync(
    config,
    `[storage]\ndir = "${house.dir}"\n[platform]\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
  )
  return {
    house,
    by_ann,
    by_bob,
    async forumd(...args: string[]) {
      const { around, said } = surroundings()
      return { code: await run([...args, '--config', config], around), ...said }
    },
    items: async () =>
      (await house.call('/forum/monitor/deliveries?limit=200')).body.deliveries.flatMap(
        ({ payload }: { payload: { items: Record<string, unknown>[] } }) => payload.items,
      ),
    [Symbol.asyncDispose]: () => house[Symbol.asyncDispose](),
  }
}

/** Every byte of a copy of the database, as a backup makes one: of all that is kept, and of nothing else. */
function bytesOf(dir: string): string {
  const copy = join(dir, 'copy.sqlite')
  const db = new Database(join(dir, 'forumd.sqlite'), { readonly: true })
  db.query('VACUUM INTO ?').run(copy)
  db.close()
  const bytes = readFileSync(copy).toString('latin1')
  rmSync(copy)
  return bytes
}

/** Counts of rows, and every id there is. */
function skeleton(dir: string) {
  const db = new Database(join(dir, 'forumd.sqlite'), { readonly: true })
  const list = (sql: string) => db.query(sql).all()
  const found = {
    deliveries: list(
      'SELECT id, status, attempts, delivered_at, webhook_id FROM deliveries ORDER BY id',
    ),
    matches: list('SELECT monitor_id, seq FROM match_bodies ORDER BY 1, 2'),
    waiting: list('SELECT bundle_id, item_id FROM bundle_items ORDER BY 1, 2'),
  }
  db.close()
  return found
}

test('what an author wrote is gone from every byte that is kept; rows, ids and what others wrote stay', async () => {
  await using it = await delivered()
  const before = skeleton(it.house.dir)
  expect(bytesOf(it.house.dir).includes(WORDS)).toBe(true)
  expect(before.waiting.length).toBeGreaterThan(0)

  const { code, out } = await it.forumd('purge', '--author', 'u/Ann_W', '--json')

  expect(code).toBe(0)
  const counts = JSON.parse(out)
  // Her post alone and in a bundle, her comment, and what bears her title; as many for whoever fetches them.
  expect(counts).toEqual({
    deliveries: 4,
    matches: 4,
    waiting: 2,
    candidates: 1,
  })
  expect(skeleton(it.house.dir)).toEqual(before)
  for (const trace of [WORDS, WORDS.replace('-', '_'), 'ann_w'])
    expect([trace, bytesOf(it.house.dir).includes(trace)]).toEqual([trace, false])
  expect(bytesOf(it.house.dir).includes('bobs words')).toBe(true)
  const items = await it.items()
  const blanked = items.filter(({ author }: { author: string }) => author === '[purged]')
  expect(blanked).toHaveLength(3)
  for (const { id, title = '', text = '', body = '', permalink, url } of blanked) {
    expect(id).toMatch(/^[a-z0-9]+$/)
    expect([title, text, body, permalink, url]).toEqual(['', '', '', '', ''])
  }
  expect(JSON.stringify(items)).not.toContain('ann_w')
  expect(JSON.stringify(items)).toContain('bob replies')
})

test('a second purge finds nothing left to do', async () => {
  await using it = await delivered()
  await it.forumd('purge', '--author', 'ann_w')

  const { out } = await it.forumd('purge', '--author', 'ann_w', '--json')

  expect(JSON.parse(out)).toEqual({ deliveries: 0, matches: 0, waiting: 0, candidates: 0 })
})

test('one item is blanked, and its title on what stands under it', async () => {
  await using it = await delivered()

  const { code } = await it.forumd('purge', '--item', it.by_ann.name)

  expect(code).toBe(0)
  const items = await it.items()
  const told = JSON.stringify(items)
  expect(told).not.toContain(`${WORDS} one`)
  expect(told).toContain(`${WORDS} two`)
  const reply = items.find(({ body }: { body?: string }) => body === 'bob replies')
  expect(reply).toMatchObject({ author: 'bob_w', link_title: '', permalink: '' })
})

test('what has been packed is found, too, and every body says still what its digest says', async () => {
  await using it = await delivered()
  const db = connect(join(it.house.dir, 'forumd.sqlite'))
  expect(
    packBodies(db, { before_at: Number.MAX_SAFE_INTEGER, now: Date.now() }, 1000),
  ).toBeGreaterThan(0)

  await it.forumd('purge', '--author', 'ann_w')

  const rows = db
    .query<{ body: Uint8Array; body_sha256: Uint8Array }, []>(
      'SELECT body, body_sha256 FROM delivery_bodies',
    )
    .all()
  db.close()
  const { createHash } = await import('node:crypto')
  const { unpackBody } = await import('../../src/store/bodies.ts')
  for (const { body, body_sha256 } of rows) {
    const whole = unpackBody(body)
    expect(Buffer.from(whole).toString()).not.toContain(WORDS)
    expect(createHash('sha256').update(whole).digest('hex')).toBe(
      Buffer.from(body_sha256).toString('hex'),
    )
  }
})

test('the audit says that it was done and how much it was, and not whose', async () => {
  await using it = await delivered()
  await it.forumd('purge', '--author', 'ann_w')

  const db = new Database(join(it.house.dir, 'forumd.sqlite'), { readonly: true })
  const row = db
    .query<{ detail: string }, []>("SELECT detail FROM audit WHERE kind = 'content.purged'")
    .get()
  db.close()

  expect(JSON.parse(row?.detail ?? '{}')).toMatchObject({
    by: 'author',
    deliveries: 4,
    proof: expect.stringMatching(/^[\w-]{22}$/),
  })
  expect(row?.detail).not.toContain('ann')
})

describe('it is refused', () => {
  test.each([
    [[], '--author NAME or --item ID is needed'],
    [['--author', 'a', '--item', 't3_a'], 'and only one of them'],
    [['--author', 'a b'], 'allowed is a name of letters'],
    [['--item', 't5_a'], 'allowed is the id of a post or comment'],
  ])('with %j', async (args, sentence) => {
    const { around, said } = surroundings()

    expect(await run(['purge', ...args], around)).toBe(2)
    expect(said.err).toContain(sentence)
  })
})

test('there is no other place where content is kept', async () => {
  await using house = await startHouse()
  const db = new Database(join(house.dir, 'forumd.sqlite'), { readonly: true })
  const columns = db
    .query<{ place: string }, []>(
      "SELECT t.name || '.' || c.name AS place FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY 1",
    )
    .all()
    .map(({ place }) => place)
  db.close()

  // A new one is to be looked through by store/purge.ts, or to be named here with the reason why not.
  expect(
    columns.filter((it) =>
      /\.(body|body_start|item|items|text|content|payload|answer|draft|title|details|request)$/.test(
        it,
      ),
    ),
  ).toEqual([
    'attempts.body_start',
    'bundle_items.body',
    // How many there are.
    'bundles.items',
    'candidates.item',
    'delivery_bodies.body',
    // What a program of a customer wants to write, and what that was answered with; gone 30 days later, with the next one.
    'drafts.answer',
    'drafts.body',
    // What customers wrote to the operator.
    'feedback.details',
    'feedback.title',
    'match_bodies.body',
    // What a caller's own write was answered with; gone within a day.
    'named_writes.answer',
    // What the operator is told, in words of ours.
    'operator_events.body',
    // How many there are.
    'stream_hours.items',
  ])
})
