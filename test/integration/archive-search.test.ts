// Goal: search, export and state of the archive through the API: the grammar of monitors, cursors, errors that name their
// field, customers apart.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { run } from '../../src/cli/run.ts'
import type { Item } from '../../src/core/forum/items.ts'
import { openArchive } from '../../src/store/archive/file.ts'
import { archive } from '../support/archive.ts'
import { commentOf, postOf } from '../support/items.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { surroundings } from '../unit/cli/environment.ts'

const DAY_S = 86_400
const FIRST_S = 1_767_225_600

let house: Awaited<ReturnType<typeof startTestDaemon>>
let other: string
beforeAll(async () => {
  house = await startTestDaemon({
    change(config) {
      config.limits.management_per_minute = 0
      config.limits.key_rate = 0
    },
  })
  other = house.mint('bob')
  house.sandbox.post({ subforum: 'cats', title: 'an old cat' })
  await house.clock.advance(60_000)
  const filter_spec = { subforum: 'cats', include_any: ['nothing'] }
  const mine = await house.send('/forum/monitor/add', { filter_spec })
  const theirs = await house.call(
    '/forum/monitor/add',
    { method: 'POST', body: JSON.stringify({ filter_spec }) },
    other,
  )
  using db = openArchive(join(house.dir, 'archive.sqlite'))
  archive(db, items(), { scopes: [`m:${mine.body.id}`] })
  archive(db, [post(900, { title: 'a grinder of bob' })], { scopes: [`m:${theirs.body.id}`] })
})
afterAll(() => house[Symbol.asyncDispose]())

const post = (n: number, fields: Partial<Item & { kind: 'post' }>) =>
  postOf({
    id: `x${n}`,
    name: `t3_x${n}`,
    created_utc: FIRST_S + n * DAY_S,
    created: new Date((FIRST_S + n * DAY_S) * 1000).toISOString(),
    ...fields,
  })

const items = (): Item[] => [
  post(1, { title: 'The best grinder', text: 'for espresso', upvotes: 5, author: 'ann' }),
  post(2, { title: 'A kettle', text: 'no grinder "here", only\n=SUM(1)', subforum: 'tea' }),
  { ...post(3, { title: 'grinder café', upvotes: 50 }), source: 'hn' },
  commentOf({ id: 'x4', name: 't1_x4', body: 'my grinder', created_utc: FIRST_S + 4 * DAY_S }),
  post(5, { title: '@formula', text: 'kettle' }),
]

const search = async (query: Record<string, string>, as?: string) => {
  const { status, body } = await house.call(
    `/forum/archive/search?${new URLSearchParams(query).toString()}`,
    {},
    as,
  )
  return {
    status,
    body,
    names: (body.items ?? []).map(({ name }: { name: string }) => name),
  }
}

test.each<[Record<string, string>, string[]]>([
  [{}, ['t3_x5', 't1_x4', 't3_x3', 't3_x2', 't3_x1']],
  [{ q: 'grinder' }, ['t1_x4', 't3_x3', 't3_x2', 't3_x1']],
  [{ q: 'title:grinder AND NOT café' }, ['t3_x1']],
  [{ q: 'grinder', kind: 'comment' }, ['t1_x4']],
  [{ q: 'grinder', source: 'hn' }, ['t3_x3']],
  [{ q: 'grinder', source: 'forum' }, ['t1_x4', 't3_x2', 't3_x1']],
  [{ filter_spec: '{"source":"forum","q":"café"}' }, []],
  [{ source: 'hn,forum', subforum: 'tea, cats', author: 'ANN' }, ['t3_x1']],
  [{ min_score: '5' }, ['t3_x3', 't3_x1']],
  [{ from: '2026-01-04T00:00:00Z', to: '2026-01-05' }, ['t3_x3']],
  [{ filter_spec: '{"include_any":["cafe"],"fold_accents":true}' }, ['t3_x3']],
  [{ filter_spec: '{"include_any":["cafe"]}' }, []],
  [{ filter_spec: '{"exclude_terms":["grinder"]}', kind: 'post' }, ['t3_x5']],
  [{ filter_spec: '{"regex":["kett.e"],"match":"substring"}' }, ['t3_x5', 't3_x2']],
])('%j finds %j', async (query, expected) => {
  expect((await search(query)).names).toEqual(expected)
})

test('an item has what a webhook would get, and when it was seen', async () => {
  const { body } = await search({ q: 'best grinder' })

  expect(body.items).toHaveLength(1)
  expect(body.items[0]).toMatchObject({
    name: 't3_x1',
    title: 'The best grinder',
    enrichment: { relevance: { matched_terms: ['best grinder'] } },
    archived: { first_seen: '1970-01-01T00:00:00.001Z', versions: 0 },
  })
  expect(body.items[0].archived.monitor_ids).toHaveLength(1)
})

test('pages follow each other by after, and the last one has none', async () => {
  const seen: string[] = []
  let after: string | null = null
  let pages = 0
  do {
    const { body, names } = await search({ limit: '2', ...(after !== null && { after }) })
    seen.push(...names)
    after = body.after
    pages += 1
  } while (after !== null && pages < 10)

  expect(seen).toEqual(['t3_x5', 't1_x4', 't3_x3', 't3_x2', 't3_x1'])
  expect(pages).toBe(3)
})

test('another customer finds its own items alone', async () => {
  expect((await search({ q: 'grinder' }, other)).names).toEqual(['t3_x900'])
})

test('the second path answers alike, and a source of the query selects items there too', async () => {
  const path = '/archive/search?q=grinder&source=hn'
  const [one, two] = await Promise.all([
    house.call(`/forum${path}`),
    house.call(`/api/forum${path}`),
  ])

  expect(two.status).toBe(200)
  expect(two.body).toEqual(one.body)
})

test.each<[Record<string, string>, string[]]>([
  [{ q: '"open' }, ['q']],
  [{ filter_spec: '{' }, ['filter_spec']],
  [{ filter_spec: '[]' }, ['filter_spec']],
  [{ filter_spec: '{"nothing":1}' }, ['filter_spec.nothing']],
  [{ filter_spec: '{"q":"a"}', q: 'b' }, ['q']],
  [{ kind: 'photo', limit: '101', from: 'now' }, ['from', 'kind', 'limit']],
  [{ from: '2026-02-01', to: '2026-01-01' }, ['to']],
  [{ subforum: 'a b c' }, ['subforum']],
  [{ after: 'x' }, ['after']],
  [{ sort: 'oldest' }, ['sort']],
])('%j is refused for %j', async (query, fields) => {
  const { status, body } = await search(query)

  expect(status).toBe(400)
  const named = body.errors?.map(({ field }: { field: string }) => field) ?? [body.field]
  expect(named.toSorted()).toEqual(fields)
  for (const field of fields) expect(JSON.stringify(body)).toContain(field)
})

const exported = async (query: string) => {
  const response = await fetch(`${house.url()}/forum/archive/export?${query}`, {
    headers: { authorization: `Bearer ${house.key}` },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

test('an export has every match once, as NDJSON', async () => {
  const { text, headers } = await exported('q=grinder')
  const rows = text
    .trimEnd()
    .split('\n')
    .map((it) => JSON.parse(it))

  expect(headers.get('content-type')).toStartWith('application/x-ndjson')
  expect(rows).toEqual((await search({ q: 'grinder' })).body.items)
})

test('a CSV export quotes texts, and no cell of a stranger is a formula', async () => {
  const { text } = await exported('format=csv&kind=post')
  const [head, ...lines] = text.split('\r\n')

  expect(head).toBe(
    'id,source,kind,subforum,author,created,score,comments,title,text,permalink,url,first_seen',
  )
  expect(lines[0]).toStartWith(
    "t3_x5,forum,post,cats,someone,2026-01-06T00:00:00.000Z,1,0,'@formula,kettle,",
  )
  expect(text).toContain('A kettle,"no grinder ""here"", only\n=SUM(1)",')
  expect(lines).toHaveLength(5)
})

/** The command in this process, with a configuration of the daemon's folder. */
async function command(...args: string[]) {
  const config = join(house.dir, 'forumd.toml')
  writeFileSync(
    config,
    `[storage]\ndir = "${house.dir}"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
  )
  const { around, said } = surroundings()
  return { code: await run(['archive', 'export', ...args, '--config', config], around), ...said }
}

test('the command exports the items of all customers, also into a file', async () => {
  const file = join(house.dir, 'items.csv')
  const out = await command('--q', 'grinder')
  const of_file = await command('--format', 'csv', '--from', '2026-01-05', '--output', file)
  const names = out.out
    .trimEnd()
    .split('\n')
    .map((it) => JSON.parse(it).name)

  expect(names).toEqual(['t3_x900', 't1_x4', 't3_x3', 't3_x2', 't3_x1'])
  expect(of_file).toMatchObject({ code: 0, out: `3 items are written to ${file}.\n` })
  expect(
    readFileSync(file, 'utf8')
      .split('\r\n')
      .map((it) => it.slice(0, 5)),
  ).toEqual(['id,so', 't3_x9', 't3_x5', 't1_x4', ''])
})

test.each([
  [['--format', 'xml'], '--format is "xml"'],
  [['--from', 'soon'], '--from is "soon"'],
  [['--filter', '['], '--filter must be a JSON object'],
  [['--filter', '{"nothing":1}'], '--filter.nothing'],
  [['--q', '('], '--q, position 2'],
  [['--from', '2026-02-01', '--to', '2026-01-01'], '--to must be after --from'],
  [['--output', '/nowhere/at/all.csv'], '/nowhere/at/all.csv cannot be written'],
])('the command refuses %j', async (args, sentence) => {
  const { code, err } = await command(...args)

  expect(code).toBe(2)
  expect(err).toContain(sentence)
})

test('the state says what is kept and how much there is', async () => {
  const { body } = await house.call('/forum/archive')

  expect(body).toMatchObject({ keep: 'matches', days: 90, max_size_mb: 2048, queued: 0 })
  expect(body.items).toBeGreaterThan(5)
  expect(body.bytes).toBeGreaterThan(10_000)
})

test('without an archive nothing is found, and no file appears', async () => {
  await using empty = await startTestDaemon()
  const found = await empty.call('/forum/archive/search?q=cat')
  const state = await empty.call('/forum/archive')

  expect(found.body).toEqual({ items: [], after: null, scanned: 0, scanned_until: null })
  expect(state.body).toMatchObject({ items: 0, bytes: 0, oldest: null })
  expect(await Bun.file(join(empty.dir, 'archive.sqlite')).exists()).toBe(false)
})
