// Goal: every recorded answer of a Discourse site, of 2013 to 2025, is mapped without an error and without a lost row.
// Method: a server answers with the recording where the adapter asks for its endpoint, and the read that uses it is called.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import type { Outcome } from '../../src/core/base/result.ts'
import { startForum } from '../unit/platforms/discourse/fixture.ts'

const Entry = z.object({
  file: z.string(),
  source_kind: z.literal('discourse'),
  endpoint: z.string(),
  what: z.string(),
})
type Row = Record<string, unknown>
const Rows = z.array(z.record(z.string(), z.unknown()))
type Fixture = ReturnType<typeof startForum>
type Read = (it: Fixture, body: Row) => Promise<Outcome<unknown>>

const PAGE = { limit: 100, after: null }

const folder = process.env['FORUMD_SOURCES']
if (folder === undefined)
  console.log('FORUMD_SOURCES is not set: recordings of sources are skipped')

function recordings() {
  if (folder === undefined) return []
  const text = readFileSync(join(folder, 'discourse', 'index.jsonl'), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => Entry.parse(JSON.parse(line)))
}

const at = (body: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>(
    (value, key) => z.record(z.string(), z.unknown()).catch({}).parse(value)[key],
    body,
  )
const count = (rows: unknown): number => Rows.parse(rows).length
const regular = (rows: unknown): Row[] =>
  Rows.parse(rows).filter((row) => (row['post_type'] ?? 1) === 1)
const live = (rows: unknown): Row[] =>
  regular(rows).filter((row) => row['user_deleted'] !== true && row['hidden'] !== true)

/** Reads a whole list of an endpoint, and checks the number of its rows. */
const listed = (
  read: (
    it: Fixture,
  ) => Promise<Outcome<{ rows: { name: string; created_utc?: number | null }[] }>>,
  expected: (body: Row) => number,
): Read => {
  return async (it, body) => {
    const page = await read(it)
    if (page.ok) {
      expect(page.value.rows).toHaveLength(expected(body))
      for (const row of page.value.rows) expect(row.name).not.toBe('')
    }
    return page
  }
}

const posts = listed(
  (it) => it.source.reads.posts({ subforums: [], sort: 'rising', t: null, ...PAGE }, it.call()),
  (body) => count(at(body, 'topic_list', 'topics')),
)

const actions = (body: Row): number =>
  Rows.parse(body['user_actions'])
    .slice(0, 30)
    .filter(
      ({ action_type, post_id, post_number }) =>
        action_type === 4 || (action_type === 5 && post_id !== undefined && post_number !== 1),
    ).length

/** The endpoints that the adapter asks for: the path of the request, and the read. */
const MAPPED: [RegExp, RegExp, Read][] = [
  [
    /^GET \/posts\.json/,
    /^\/posts\.json$/,
    listed(
      (it) => it.source.reads.comments({ subforums: [], ...PAGE }, it.call()),
      (body) => live(body['latest_posts']).filter((row) => row['post_number'] !== 1).length,
    ),
  ],
  [/^GET \/(?:latest|hot|top)\.json/, /^\/latest\.json$/, posts],
  [/^GET \/(?:c|tag)\/.*\/l\/latest\.json/, /^\/latest\.json$/, posts],
  [/^GET \/topics\/created-by\//, /^\/latest\.json$/, posts],
  [
    /^GET \/t\/(?:\{id\}|\d+)(?:\/1)?\.json/,
    /^\/t\/\d+\.json$/,
    async (it, body) => {
      const id = String(body['id'])
      const found = await it.source.reads.postsById([id], it.call())
      expect(found).toMatchObject({ ok: true, value: [{ id, title: body['title'] }] })
      const query = { post_id: id, sort: 'old', depth: null, limit: null }
      const tree = await it.source.reads.tree(query, it.call())
      const expected = live(at(body, 'post_stream', 'posts')).filter(
        (row) => row['post_number'] !== 1,
      )
      if (tree.ok) {
        const names = JSON.stringify(tree.value.comments)
        for (const { id: post_id } of expected) expect(names).toContain(`"t1_${String(post_id)}"`)
      }
      const seen = await it.source.reads.visibility(id, it.call())
      expect(seen).toMatchObject({ ok: true, value: { verdict: 'live' } })
      return tree
    },
  ],
  [
    /^GET \/posts\/(?:\{id\}|\d+)(?:\.json)?$/,
    /^\/posts\/\d+\.json$/,
    async (it, body) => {
      const state = await it.source.reads.liveness([String(body['id'])], it.call())
      if (state.ok) expect([...state.value.values()]).toEqual(['live'])
      return state
    },
  ],
  [
    /^GET \/search\.json/,
    /^\/search\.json$/,
    async (it, body) => {
      const query = { q: 'x', subforum: null, sort: 'new', t: 'all', nsfw: false, ...PAGE }
      const page = await it.source.reads.search(query, it.call())
      // A list of topics under this name, as no server answers the search: never "nothing found".
      if (body['posts'] === undefined) {
        expect(page).toMatchObject({ ok: false, fault: { kind: 'unreadable' } })
        return { ok: true, value: null }
      }
      const ids = new Set(Rows.parse(body['posts']).map((row) => row['topic_id']))
      if (page.ok) expect(page.value.rows).toHaveLength(ids.size)
      return page
    },
  ],
  [
    /^GET \/user_actions\.json/,
    /^\/user_actions\.json$/,
    async (it, body) => {
      const query = {
        name: 'x',
        tab: 'overview',
        sort: 'new',
        t: null,
        limit: 30,
        after: null,
      } as const
      const page = await it.source.reads.userItems(query, it.call())
      if (page.ok) expect(page.value.rows).toHaveLength(actions(body))
      return page
    },
  ],
  [
    /^GET \/directory_items/,
    /^\/directory_items\.json$/,
    listed(
      (it) =>
        it.source.reads.searchUsers({ q: 'x', nsfw: false, limit: 50, after: null }, it.call()),
      (body) => count(body['directory_items']),
    ),
  ],
  [
    /^GET \/site\.json/,
    /^\/site\.json$/,
    listed(
      (it) => it.source.reads.communities({ which: 'default', ...PAGE }, it.call()),
      (body) => count(body['categories']),
    ),
  ],
  [
    /^POST \/posts\.json/,
    /^\/posts\.json$/,
    async (it, body) => {
      const done = await it.acts.reply({ parent: 't3_1', text: 'x' }, it.call())
      expect(done).toMatchObject({
        ok: true,
        value: { state: 'done', value: { name: `t1_${String(body['id'])}` } },
      })
      return { ok: true, value: null }
    },
  ],
]

/** Private messages, which the adapter shows to no reader, have the shape of a topic: they are mapped as one. */
const opened = (text: string): string =>
  text.replaceAll(/("archetype": ?)"private_message"/g, '$1"regular"')

/** A topic without an id or with posts without one is cut further than a server cuts. */
const isCut = ({ what, endpoint }: z.infer<typeof Entry>): boolean =>
  what.includes('cut by hand') && endpoint.startsWith('GET /t/')

describe.skipIf(folder === undefined)('recorded answers of Discourse', () => {
  const cases = recordings()
    .filter((entry) => !isCut(entry))
    .flatMap(({ file, endpoint }) =>
      MAPPED.flatMap(([of, path, read], index): [string, string, number, RegExp, Read][] =>
        of.test(endpoint) ? [[endpoint, file, index, path, read]] : [],
      ),
    )

  test('there are some of every endpoint that the adapter maps', () => {
    const used = new Set(cases.map(([, , index]) => index))
    expect([...used].toSorted((a, b) => a - b)).toEqual(MAPPED.map((_, index) => index))
  })

  test('a recorded private message is absent', async () => {
    const texts = cases.map(([, file]) =>
      readFileSync(join(folder ?? '', 'discourse', file), 'utf8'),
    )
    const messages = new Set(
      texts.filter((text) => opened(text) !== text && 'post_stream' in JSON.parse(text)),
    )
    expect(messages.size).toBeGreaterThan(0)
    for (const text of messages) {
      await using it = startForum({ credential: 'key' })
      it.forum.override = ({ path }) => (path.startsWith('/t/') ? new Response(text) : null)
      const query = { post_id: '34', sort: 'old', depth: null, limit: null }
      expect(await it.source.reads.tree(query, it.call())).toMatchObject({
        fault: { kind: 'not_found' },
      })
    }
  })

  test.each(cases)('%s: %s (%i)', async (_, file, __, path, read) => {
    const text = opened(readFileSync(join(folder ?? '', 'discourse', file), 'utf8'))
    const body = z.record(z.string(), z.unknown()).parse(JSON.parse(text))
    await using it = startForum()
    let answered = 0
    it.forum.override = (request) => {
      if (path.test(request.path) && !request.query.has('before')) {
        answered += 1
        const { query } = request
        if (
          Number(query.get('page')) > 0 &&
          'topic_list' in body &&
          request.path !== '/search.json'
        )
          return Response.json({ topic_list: { topics: [] } })
        if (Number(query.get('offset')) > 0) return Response.json({ user_actions: [] })
        return new Response(text, { headers: { 'content-type': 'application/json' } })
      }
      if (/^\/t\/\d+\/posts\.json$/.test(request.path))
        return Response.json({ post_stream: { posts: [] } })
      const id = /^\/t\/(\d+)\.json$/.exec(request.path)?.[1]
      return id === undefined
        ? null
        : Response.json({ id: Number(id), title: 'x', post_stream: { posts: [], stream: [] } })
    }
    if (path.test('/posts.json') && 'latest_posts' in body) {
      const ids = Rows.parse(body['latest_posts']).map(({ id }) => Number(id))
      // A walk within the page asks with its upper end.
      it.forum.override = ({ path: asked, query }) =>
        asked === '/posts.json' &&
        (!query.has('before') || Number(query.get('before')) > Math.max(...ids))
          ? (answered++, new Response(text, { headers: { 'content-type': 'application/json' } }))
          : null
    }
    const outcome = await read(it, body)
    expect(outcome).toMatchObject({ ok: true })
    expect(answered).toBeGreaterThan(0)
  })
})
