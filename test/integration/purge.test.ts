// Goal: content of an author can be removed from all stored data, and nothing else is lost. Method:
// content in every table, then the command, then a search of the stored bytes.
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { run } from '../../src/cli/run.ts'
import { countQueued } from '../../src/store/archive/queue.ts'
import { connect } from '../../src/store/db/connection.ts'
import { packBodies } from '../../src/store/delivery/messages.ts'
import { countUnread } from '../../src/store/delivery/projections.ts'
import { findParts } from '../support/byte-search.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { surroundings } from '../unit/cli/environment.ts'

const MINUTE = 60_000
const WORDS = 'unmistakable-walrus'

/**
 * A daemon that has delivered content of ann and bob: alone, in a bundle, and in a pending bundle.
 */
async function delivered() {
  const daemon = await startTestDaemon()
  const { sandbox, clock } = daemon
  for (const name of ['ann_w', 'bob_w']) sandbox.user({ name })
  sandbox.post({ subforum: 'cats', title: 'an old cat' })
  const { url } = daemon.receiver
  await daemon.send('/forum/monitor/webhook/create', { kind: 'webhook', url })
  const add = async (spec: object) => {
    const { body } = await daemon.send('/forum/monitor/add', {
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
  // What still waits for the archive counts as pending.
  const database = connect(join(daemon.dir, 'forumd.sqlite'))
  while (countQueued(database) + countUnread(database, 'archive') > 0) await Bun.sleep(5)
  database.close()

  const config = join(daemon.dir, 'forumd.toml')
  writeFileSync(
    config,
    `[storage]\ndir = "${daemon.dir}"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
  )
  return {
    daemon,
    by_ann,
    by_bob,
    async forumd(...args: string[]) {
      const { around: environment, said: output } = surroundings()
      return { code: await run([...args, '--config', config], environment), ...output }
    },
    items: async () =>
      (await daemon.call('/forum/monitor/deliveries?limit=200')).body.deliveries.flatMap(
        ({ payload }: { payload: { items: Record<string, unknown>[] } }) => payload.items,
      ),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

/** Every byte of a copy of the database, as in a backup: all stored data, and nothing else. */
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
    matches: list('SELECT monitor_id, seq FROM messages WHERE seq IS NOT NULL ORDER BY 1, 2'),
    waiting: list('SELECT bundle_id, item_id FROM bundle_items ORDER BY 1, 2'),
  }
  db.close()
  return found
}

test("an author's content is gone from every stored byte; rows, ids and others' content stay", async () => {
  await using it = await delivered()
  const before = skeleton(it.daemon.dir)
  expect(bytesOf(it.daemon.dir).includes(WORDS)).toBe(true)
  expect(before.waiting.length).toBeGreaterThan(0)

  const { code, out } = await it.forumd('purge', '--author', 'u/Ann_W', '--json')

  expect(code).toBe(0)
  const counts = JSON.parse(out)
  // Her post alone and in a bundle, her comment, and items with its title; the same number in the
  // pull API.
  expect(counts).toEqual({
    messages: 4,
    waiting: 2,
    candidates: 1,
    overwritten: true,
  })
  const after = skeleton(it.daemon.dir)
  expect(after.deliveries).toEqual(before.deliveries)
  expect(after.matches).toEqual(before.matches)
  expect(after.waiting).toHaveLength(before.waiting.length - 2)
  for (const trace of [WORDS, WORDS.replace('-', '_'), 'ann_w'])
    expect([trace, bytesOf(it.daemon.dir).includes(trace)]).toEqual([trace, false])
  expect(bytesOf(it.daemon.dir).includes('bobs words')).toBe(true)
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

test('one item is erased, and its title in the items under it', async () => {
  await using it = await delivered()

  const { code } = await it.forumd('purge', '--item', it.by_ann.name)

  expect(code).toBe(0)
  const items = await it.items()
  const items_json = JSON.stringify(items)
  expect(items_json).not.toContain(`${WORDS} one`)
  expect(items_json).toContain(`${WORDS} two`)
  const reply = items.find(({ body }: { body?: string }) => body === 'bob replies')
  expect(reply).toMatchObject({ author: 'bob_w', link_title: '' })
  // Its address leads to it without the title.
  expect(reply?.['permalink']).toBe(`/r/cats/comments/${it.by_ann.id}/_/${reply?.['id']}/`)
})

test('waiting deliveries are not sent any more, candidates leave, and drafts stay as they are', async () => {
  await using it = await delivered()
  const { daemon, by_ann } = it
  const post_url = `${daemon.sandbox.url}/r/cats/comments/${by_ann.id}/x/`
  for (const text of [`> ${WORDS} one\n\nI agree.`, 'my own words'])
    expect(
      await daemon.send('/drafts', { action: 'comment', body: { post_url, text } }),
    ).toMatchObject({ status: 200 })
  await daemon.send('/forum/monitor/add', {
    filter_spec: { subforum: 'cats', kind: 'both', min_score: 1000 },
  })
  await daemon.clock.advance(2 * MINUTE)
  daemon.sandbox.comment({ parent: by_ann.name, author: 'bob_w', text: 'bob waits for votes' })
  daemon.receiver.answers.push(...Array.from({ length: 9 }, () => 503))
  daemon.sandbox.post({ subforum: 'cats', author: 'ann_w', title: `${WORDS} three` })
  await daemon.clock.advance(3 * MINUTE)
  const pending = () =>
    skeleton(daemon.dir).deliveries.filter((row) => Object(row).status === 'pending').length
  expect(pending()).toBeGreaterThan(0)

  const { code } = await it.forumd('purge', '--author', 'ann_w')
  await it.forumd('purge', '--item', by_ann.name)

  expect(code).toBe(0)
  const left = bytesOf(daemon.dir).replaceAll(`> ${WORDS} one`, '')
  expect(left).not.toContain(WORDS)
  for (const others of ['I agree.', 'my own words', 'bob waits for votes'])
    expect(bytesOf(daemon.dir)).toContain(others)
}, 20_000)

test('an id of several sources is refused until one is named, and the item of the other stays', async () => {
  await using it = await delivered()
  const { id, name } = it.by_bob
  const db = connect(join(it.daemon.dir, 'forumd.sqlite'))
  db.query(
    `INSERT INTO kept_items (item_id, source, digest, first_kept_at, last_kept_at, next_check_at)
     SELECT 'hn/' || item_id, 'hn', digest, first_kept_at, last_kept_at, next_check_at FROM kept_items
      WHERE item_id = $name`,
  ).run({ name })
  const row = { id, name, source: 'hn', title: 'of another bob', author: 'bob_w' }
  db.query('UPDATE messages SET body = $body WHERE row = (SELECT min(row) FROM messages)').run({
    body: Buffer.from(JSON.stringify({ items: [row] })),
  })
  db.close()

  const refused = await it.forumd('purge', '--item', name)
  const named = await it.forumd('purge', '--item', name, '--source', 'forum')

  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining(`hn/${name} and ${name}`),
  ])
  expect(named.code).toBe(0)
  const bytes = bytesOf(it.daemon.dir)
  expect(bytes).toContain('of another bob')
  expect(bytes).not.toContain('bobs words')
  await it.forumd('purge', '--author', 'bob_w', '--source', 'hn')
  expect(bytesOf(it.daemon.dir)).not.toContain('of another bob')
})

test('an erased item is in no file of the folder, and its snapshot is told to lose it later', async () => {
  await using it = await delivered()
  const text = 'a title that is its own and long enough to be found'
  const unique = it.daemon.sandbox.post({ subforum: 'cats', title: text })
  await it.daemon.clock.advance(3 * MINUTE)
  expect(findParts(it.daemon.dir, [text])).not.toEqual([])

  const { code, out } = await it.forumd('purge', '--item', unique.name)

  expect(code).toBe(0)
  expect(out).toContain('from snapshots in the next night')
  expect(findParts(it.daemon.dir, [text])).toEqual([])
})

test('files that another process reads are overwritten later, which the command says', async () => {
  await using it = await delivered()
  const reader = connect(join(it.daemon.dir, 'forumd.sqlite'))
  reader.run('BEGIN')
  reader.query('SELECT count(*) FROM deliveries').get()

  const { code, out } = await it.forumd('purge', '--author', 'ann_w', '--json')

  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ overwritten: false })
  reader.close()
}, 60_000)

test('compressed content is found, too, and every body still has a valid digest', async () => {
  await using it = await delivered()
  const db = connect(join(it.daemon.dir, 'forumd.sqlite'))
  expect(
    packBodies(db, { before_at: Number.MAX_SAFE_INTEGER, now: Date.now() }, 1000),
  ).toBeGreaterThan(0)

  await it.forumd('purge', '--author', 'ann_w')

  const rows = db
    .query<{ body: Uint8Array; digest: Uint8Array }, []>('SELECT body, digest FROM messages')
    .all()
  db.close()
  const { createHash } = await import('node:crypto')
  const { unpackBody } = await import('../../src/store/delivery/messages.ts')
  for (const { body, digest } of rows) {
    const whole = unpackBody(body)
    expect(Buffer.from(whole).toString()).not.toContain(WORDS)
    expect(createHash('sha256').update(whole).digest('hex')).toBe(
      Buffer.from(digest).toString('hex'),
    )
  }
})

test('a second purge has nothing to erase, and the audit records both without a name', async () => {
  await using it = await delivered()
  await it.forumd('purge', '--author', 'ann_w')

  const { out } = await it.forumd('purge', '--author', 'ann_w', '--json')

  const nothing = { messages: 0, waiting: 0, candidates: 0 }
  expect(JSON.parse(out)).toEqual({ ...nothing, overwritten: true })
  const db = new Database(join(it.daemon.dir, 'forumd.sqlite'), { readonly: true })
  const details = db
    .query<{ detail: string }, []>(
      "SELECT detail FROM audit WHERE kind = 'content.purged' ORDER BY seq",
    )
    .all()
    .map(({ detail }) => detail)
  db.close()
  const proof = expect.stringMatching(/^[\w-]{22}$/)
  expect(details.map((detail) => JSON.parse(detail))).toMatchObject([
    { by: 'author', messages: 4, proof },
    { by: 'author', ...nothing, proof },
  ])
  expect(details.join()).not.toContain('ann')
})

describe('it is refused', () => {
  test.each([
    [[], '--author NAME or --item ID is needed'],
    [['--author', 'a', '--item', 't3_a'], 'but not both'],
    [['--author', 'a b'], 'allowed is a name of up to 255 characters'],
    [['--author', 'a', '--prove'], 'the search for erased content was removed'],
    [['--item', 't5_a'], 'allowed is the id of a post or comment'],
  ])('with %j', async (args, sentence) => {
    const { around: environment, said: output } = surroundings()

    expect(await run(['purge', ...args], environment)).toBe(2)
    expect(output.err).toContain(sentence)
  })
})
