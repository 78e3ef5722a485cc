// Goal: inputs that programs of this field met in use have the right value.
// Method: the cases of $FORUMD_FIELD_CASES about reading, with the adapters, the filter and the readers of the daemon.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'

import { indexText, wordQuery } from '../../src/core/archive/words.ts'
import { retryAfter } from '../../src/core/base/wait.ts'
import { compileFilter } from '../../src/core/filter/compile.ts'
import { parseFilterSpec } from '../../src/core/filter/parse.ts'
import type { Item } from '../../src/core/forum/items.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { createJars } from '../../src/platforms/reddit/login/cookie-jar.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { startSite } from '../support/hostile-site.ts'
import { postOf } from '../support/items.ts'

/** The day of the cases. */
const NOW = Date.UTC(2026, 10, 28, 20)

type Given = Record<string, any>
type Case = { kind: string; given: Given; expected: any; source: string }

const folder = process.env['FORUMD_FIELD_CASES']
if (folder === undefined) console.log('FORUMD_FIELD_CASES is not set: field cases are skipped')

const file = (name: string): string => `${folder}/${name}`
const all: Case[] =
  folder === undefined
    ? []
    : readFileSync(file('cases.jsonl'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
const casesOf = (kind: string) =>
  all
    .filter((it) => it.kind === kind)
    .map((it) => [JSON.stringify(it.given).slice(0, 100), it] as const)

const words = createNaming({ platform: 'forum', community: 'subforum' })

/** True if a filter matches an item. */
const matches = (spec: Given, item: Item): boolean =>
  compileFilter(parseFilterSpec({ source: ['s'], ...spec }, words))({ ...item, source: 's' }) !==
  null

/** The newest item of a Discourse site with one row. */
async function discourseItem(over: Given): Promise<Item> {
  await using it = startSite('discourse')
  it.put()
  const { state } = await it.step(null)
  it.put({ over })
  const step = await it.step(state)
  const [item] = step.outcome.ok ? step.outcome.value.items : []
  if (item === undefined) throw new Error('no item was read')
  return item
}

/** The post of a Hacker News item. */
async function newsPost(row: unknown, id: number) {
  await using it = startSite('hackernews')
  it.site.now = NOW
  it.site.override = (path) =>
    path === `/v0/item/${id}.json`
      ? new Response(typeof row === 'string' ? row : JSON.stringify(row), {
          headers: { 'content-type': 'application/json' },
        })
      : null
  const read = await it.source.reads.postsById([String(id)], it.call())
  return read.ok ? read.value[0] : read
}

/** A server that writes an answer as it is to the first request, and others to those that follow. */
function raw(answers: readonly (string | Uint8Array)[], heads: string[] = []) {
  let count = 0
  return Object.assign(
    Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket, bytes) {
          heads.push(String(bytes))
          socket.end(answers[Math.min(count++, answers.length - 1)] ?? '')
        },
      },
    }),
    { heads },
  )
}

test.skipIf(folder === undefined)('the cases are readable, and of known kinds', () => {
  expect(all.length).toBeGreaterThan(0)
  const known = [...Object.keys(KINDS), 'forwarded', 'public-url', 'doctor']
  expect([...new Set(all.map(({ kind }) => kind))].filter((it) => !known.includes(it))).toEqual([])
})

const verdictOf = (expected: unknown): boolean => !/not match/.test(String(expected))

const KINDS: Readonly<Record<string, (it: Case) => Promise<void>>> = {
  async validators({ given }) {
    const server = raw([readFileSync(file(given['answer']))])
    await using it = startSite('discourse')
    it.put()
    const conditions: (string | null)[] = []
    let is_cut = true
    it.site.override = (path, headers) => {
      const condition = headers.get('if-none-match')
      if (path !== given['path']) return null
      conditions.push(condition)
      if (condition !== null) return new Response(null, { status: 304 })
      if (!is_cut) return null
      const [, body = ''] = readFileSync(file(given['answer']), 'utf8').split('\r\n\r\n')
      return new Response(body, {
        headers: { 'content-type': 'application/json', etag: 'W/"5f2c9a01"' },
      })
    }
    expect(await it.posts()).toMatchObject({ ok: false, fault: { kind: 'unreadable' } })
    is_cut = false
    expect(await it.posts()).toMatchObject({ ok: true, value: { rows: [{}] } })
    expect(conditions.every((condition) => condition === null)).toBe(true)
    server.stop(true)
  },
  async 'retry-after'({ given, expected }) {
    const line = given['Retry-After'].join(', ')
    const found = retryAfter(new Headers({ 'retry-after': line }), Date.now())
    expect(found).toBe(expected.pause_s ?? null)
    await using it = startSite('hackernews')
    it.site.override = () =>
      new Response('{}', { status: given['status'], headers: { 'retry-after': line } })
    const fault = { kind: 'throttled', retry_after_s: expected.pause_s ?? 5 }
    expect(await it.posts()).toMatchObject({ ok: false, fault })
  },
  async names({ given, expected }) {
    if (given['call'] !== undefined) {
      const [, author = ''] = /author=(.*)$/.exec(given['call']) ?? []
      const text = indexText({ ...postOf({ author: given['archived'].author }), source: 's' })
      const query = wordQuery(parseFilterSpec({ source: ['s'], author: [author] }, words)) ?? ''
      for (const [, word = ''] of query.matchAll(/"([^"]+)"/g))
        expect(text.split(' ')).toContain(word)
      return
    }
    const { username, tags, raw: body } = given['post']
    for (const form of ['NFC', 'NFD'] as const) {
      const item = await discourseItem({
        ...(username !== undefined && { username: username.normalize(form) }),
        ...(body !== undefined && { raw: body }),
      })
      const placed =
        tags === undefined ? item : { ...item, subforum: `tag:${tags[0]}`.normalize(form) }
      expect(matches(given['filter_spec'], placed)).toBe(verdictOf(expected))
    }
  },
  async patterns({ given, expected }) {
    expect(matches(given['filter_spec'], postOf({ title: given['title'] }))).toBe(
      verdictOf(expected),
    )
  },
  async unicode({ given, expected }) {
    const row =
      typeof given['item'] === 'string'
        ? readFileSync(file(given['item']), 'utf8')
        : { id: 5, type: 'story', time: 1, by: 'a', ...given['item'] }
    const id = typeof row === 'string' ? JSON.parse(row).id : 5
    const post = await newsPost(row, id)
    expect(post).toMatchObject({ title: expected.title })
    expect(JSON.stringify(post)).not.toMatch(/\\ud[89a-f]|\\u0000/i)
  },
  async encoding({ given, expected }) {
    const server = raw([readFileSync(file(given['answer']))])
    await using it = startSite('hackernews', `http://127.0.0.1:${server.port}`)
    it.site.now = NOW
    const read = await it.source.reads.postsById(['995'], it.call())
    expect(read).toMatchObject({ ok: true, value: [{ title: expected.title }] })
    server.stop(true)
  },
  async time({ given }) {
    await using it = startSite('hackernews')
    it.put()
    const { state } = await it.step(null)
    const rows = given['items'].map(({ title, ...over }: Given) => it.put({ title, over }))
    const step = await it.step(state)
    const titles = step.outcome.ok
      ? step.outcome.value.items.map((item) => 'title' in item && item.title)
      : []
    expect(titles).toEqual(['before', 'after'])
    const read = await it.source.reads.postsById([String(rows[1].id)], it.call())
    expect(read).toEqual({ ok: true, value: [] })
  },
  async references({ given, expected }) {
    if (given['topic_title'] !== undefined) {
      const item = await discourseItem({ topic_title: given['topic_title'] })
      expect(item).toMatchObject(expected)
    } else if (given['comment'] !== undefined) {
      const post = await newsPost(
        { id: 5, type: 'story', time: 1, by: 'a', title: 't', text: given['comment'] },
        5,
      )
      expect(
        post !== undefined &&
          !('ok' in post) &&
          matches(given['filter_spec'], { kind: 'post', ...post }),
      ).toBe(true)
    } else
      expect(matches(given['filter_spec'], await discourseItem({ raw: given['raw'] }))).toBe(true)
  },
  async markup({ given }) {
    const item = await discourseItem({ raw: readFileSync(file(given['raw']), 'utf8') })
    expect(matches(given['filter_spec'], item)).toBe(false)
    const seen = ['That was bad', 'I agree', 'hidden words', 'tea', 'Summary']
    for (const word of seen) expect(matches({ include_any: [word] }, item)).toBe(true)
  },
  async marks({ given, expected }) {
    expect(matches(given['filter_spec'], postOf({ title: given['title'] }))).toBe(
      verdictOf(expected),
    )
  },
  async turkish({ given, expected }) {
    expect(matches(given['filter_spec'], postOf({ title: given['title'] }))).toBe(
      verdictOf(expected),
    )
  },
  async cookies({ given }) {
    const { base_url, session_cookie } = given
    const jars = createJars({ base_url, session_cookie, clock: realClock })
    const found = jars.import(readFileSync(file('cookies.txt'), 'utf8'))
    expect(found.ok && found.jar.header()).toBe('reddit_session=abc123')
  },
}

describe.each(Object.entries(KINDS))('%s', (kind, check) => {
  const cases = casesOf(kind)
  if (cases.length > 0) test.each(cases)('%s has the right value', (_name, it) => check(it))
})
