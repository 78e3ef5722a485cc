// Goal: the judge of deletion notices what it is there for. Method: planted faults in files and in what receivers got.
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { deflateSync, zstdCompressSync } from 'node:zlib'

import { tempFolder } from '../../support/folder.ts'
import { type Sightings, sightings } from './bytes.ts'
import { judge } from './judge.ts'
import type { Fate } from './life.ts'
import type { Look } from './platform.ts'
import type { Received } from './receiver.ts'
import { seeded, uniqueWord } from './words.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const HOUR = 3_600_000
const random = seeded(1)

test('a word is found as text, in capitals, in UTF-16, compressed, and in pages that are free', () => {
  using folder = tempFolder()
  const data = folder.file('data')
  mkdirSync(data)
  const names = ['text', 'capitals', 'wide', 'packed', 'value', 'free', 'index'] as const
  const words = Object.fromEntries(names.map((name) => [name, uniqueWord(random)]))
  const of = (name: (typeof names)[number]): string => words[name] ?? ''
  writeFileSync(`${data}/text`, `${'x'.repeat(5000)}${of('text')}`)
  writeFileSync(`${data}/capitals`, of('capitals').toUpperCase())
  writeFileSync(`${data}/wide`, Buffer.from(of('wide'), 'utf16le'))
  writeFileSync(
    `${data}/packed`,
    Buffer.concat([Buffer.alloc(77, 1), deflateSync(`${of('packed')} `.repeat(50))]),
  )
  const database = new Database(`${data}/some.sqlite`, { create: true })
  database.run('PRAGMA secure_delete = OFF')
  database.run('CREATE TABLE held (body BLOB)')
  const insert = database.query('INSERT INTO held VALUES (?)')
  insert.run(zstdCompressSync(Buffer.from(`${of('value')} `.repeat(50))))
  insert.run(`${of('free')} `.repeat(500))
  database.run("CREATE VIRTUAL TABLE words USING fts5(body, content = '')")
  database.query('INSERT INTO words (rowid, body) VALUES (1, ?)').run(`qzxjaaaa ${of('index')}`)
  database.run('DELETE FROM held WHERE typeof(body) = ?', ['text'])
  database.close()

  const found = sightings(data, folder.file('scratch'))

  for (const name of names) expect([name, found.has(of(name))]).toEqual([name, true])
  expect(found.get(of('free'))?.map(({ how }) => how)).not.toContain('value')
  expect(found.has(uniqueWord(random))).toBe(false)
})

function fateOf(id: string, end_as: Look): Fate {
  const words = [uniqueWord(random), uniqueWord(random), uniqueWord(random)]
  const names = [uniqueWord(random), `t2_${uniqueWord(random)}`]
  const item = {
    id,
    kind: 'post' as const,
    place: 'tea',
    title: words[0] ?? '',
    text: words[1] ?? '',
    author: names[0] ?? '',
    author_id: names[1] ?? '',
    post: null,
    created: START,
    look: end_as,
    score: 1,
    edited: null,
  }
  const end = end_as === 'live' ? null : START + 2 * HOUR
  return { item, words, names, end, end_as, edit: null, edit_text: '' }
}

const matchOf = (id: string): Received => ({
  target: 'all',
  delivery_id: `dlv_${id}`,
  status: 200,
  body: { items: [{ name: `t3_${id}` }] },
})

const deletedOf = (id: string, fields: object = {}, delivery_id = `del_${id}`): Received => ({
  target: 'all',
  delivery_id,
  status: 200,
  body: {
    type: 'item.deleted',
    item: { id: `t3_${id}` },
    reason: 'author',
    detected_at: new Date(START + 3 * HOUR).toISOString(),
    items: [],
    ...fields,
  },
})

const gone = fateOf('gone', 'author')
const live = fateOf('live', 'live')
const orphan = fateOf('orphan', 'account_gone')
const MATCHES = [matchOf('gone'), matchOf('live'), matchOf('orphan')]
const held = (...words: (string | undefined)[]): Sightings =>
  new Map(words.map((word) => [word ?? '', [{ file: 'forumd.sqlite', how: 'value' as const }]]))
const KEPT = held(live.words[1], live.names[0], orphan.words[1])

const faultsOf = (received: Received[], found: Sightings): string[] =>
  judge(
    {
      life: { fates: [gone, live, orphan] },
      platform: { counts: { listings: 0, by_id: 0, ids: 0, other: 0 } },
      daemon: { kills: 0 },
      receivers: { received },
    },
    found,
    'test',
  ).faults

test('a world that keeps its promises has no fault', () => {
  expect(faultsOf([...MATCHES, deletedOf('gone'), deletedOf('gone')], KEPT)).toEqual([])
})

test('a receiver that refuses six attempts has a dead-lettered event, fewer are a fault', () => {
  const refused = { ...deletedOf('gone'), status: 503 }
  const attempts = (count: number): Received[] => Array.from({ length: count }, () => refused)
  expect(faultsOf([...MATCHES, ...attempts(6)], KEPT)).toEqual([])
  expect(faultsOf([...MATCHES, ...attempts(5)], KEPT).join('\n')).toMatch(/no item\.deleted/)
})

const PROPER = [...MATCHES, deletedOf('gone')]
test.each<[string, Received[], Sightings, RegExp]>([
  ['a text that stayed', PROPER, new Map([...KEPT, ...held(gone.words[2])]), /in forumd\.sqlite/],
  [
    'the name of an account that is gone',
    PROPER,
    new Map([...KEPT, ...held(orphan.names[0])]),
    /name/,
  ],
  ['a live text that is lost', PROPER, held(live.names[0], orphan.words[1]), /its text is lost/],
  [
    'a live author that is lost',
    PROPER,
    held(live.words[1], orphan.words[1]),
    /its author is lost/,
  ],
  ['a deletion without an event', MATCHES, KEPT, /no item\.deleted/],
  ['a second id', [...PROPER, deletedOf('gone', {}, 'del_2')], KEPT, /2 ids of item\.deleted/],
  [
    'a wrong reason',
    [...MATCHES, deletedOf('gone', { reason: 'platform' })],
    KEPT,
    /reason platform/,
  ],
  [
    'a text in the event',
    [...MATCHES, deletedOf('gone', { title: gone.words[0] })],
    KEPT,
    /text in item/,
  ],
  ['an event of a live item', [...PROPER, deletedOf('live')], KEPT, /which is not deleted/],
  ['an event without a match', PROPER.slice(1), KEPT, /which it never got/],
  [
    'a late event',
    [...MATCHES, deletedOf('gone', { detected_at: '2026-01-09T00:00:00Z' })],
    KEPT,
    /detected after/,
  ],
  [
    'a delivery without items',
    [...PROPER, { ...matchOf('gone'), body: { items: [] } }],
    KEPT,
    /without items/,
  ],
  [
    'a match that never came',
    PROPER.filter(({ delivery_id }) => delivery_id !== 'dlv_live'),
    KEPT,
    /was not delivered/,
  ],
])('%s is a fault', (_, received, found, fault) => {
  expect(faultsOf(received, found).join('\n')).toMatch(fault)
})
