// Goal: the rows of further sources have the values that the specification defines for them.
// Method: source_rows.py maps each recorded answer by the specification alone; the adapter maps the same answer, and every
// field that the script knows must be equal.

import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import type { Outcome } from '../../src/core/base/result.ts'
import {
  hitOf,
  isComment,
  isPost,
  livenessOf,
  storyOf,
  toComment as toReply,
  toItem as toNative,
  toPost as toStory,
  toUser as toHnUser,
} from '../../src/platforms/hackernews/readers.ts'
import { toComment, toPost, toUser, viewsOf } from '../../src/platforms/lemmy/readers.ts'
import { fieldsOf } from '../../src/platforms/values.ts'
import { startForum } from '../unit/platforms/discourse/fixture.ts'
import { differences } from './differences.ts'

const KINDS = ['discourse', 'hackernews', 'lemmy'] as const
/** Most rows of a recording that one page of the adapter's reads holds. */
const LIMIT = 100

const Mapped = z.object({
  file: z.string(),
  rows: z.array(
    z.object({
      of: z.enum(['post', 'comment', 'user']),
      name: z.string(),
      row: z.record(z.string(), z.unknown()),
    }),
  ),
})
type Mapped = z.infer<typeof Mapped>
type Row = Record<string, unknown>
const Native = z.record(z.string(), z.unknown())
const NativeRows = z.array(Native)

const folder = process.env['FORUMD_SOURCES']
if (folder === undefined) console.log('FORUMD_SOURCES is not set: source rows are skipped')
if (folder !== undefined && !existsSync(folder)) throw new Error(`${folder} cannot be read`)

const filesOf = (kind: string): string[] =>
  folder === undefined
    ? []
    : readdirSync(join(folder, kind))
        .filter((name) => name.endsWith('.json'))
        .map((name) => join(folder, kind, name))

async function mapRecordings(): Promise<Mapped[]> {
  const lines = KINDS.flatMap((kind) => filesOf(kind).map((file) => `${kind}\t${file}`))
  const python = Bun.spawn(['python3', join(import.meta.dir, 'source_rows.py')], {
    stdin: new Blob([lines.join('\n')]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, errors] = await Promise.all([
    new Response(python.stdout).text(),
    new Response(python.stderr).text(),
  ])
  if ((await python.exited) !== 0) throw new Error(`source_rows.py failed: ${errors}`)
  return stdout
    .trim()
    .split('\n')
    .map((line) => Mapped.parse(JSON.parse(line)))
}

const mapped = folder === undefined ? [] : await mapRecordings()
const withRows = (kind: string) =>
  mapped.filter(({ file, rows }) => file.includes(`/${kind}/`) && rows.length > 0)

const bodyOf = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))

function compare(expected: Mapped['rows'], actual: readonly { name: string }[]): void {
  const byName = new Map(actual.map((row) => [row.name, row]))
  const wrong = expected.flatMap(({ name, row }) =>
    byName.has(name) ? differences(row, byName.get(name), name) : [`${name}: is missing`],
  )
  expect(wrong).toEqual([])
}

const valueOf = <T>(outcome: Outcome<T>): T => {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.fault))
  return outcome.value
}

const LISTS = ['user', 'latest_posts', 'topic_list']

const wholeSecond = ({ created }: Row): string =>
  new Date(Math.floor(Date.parse(String(created)) / 1000) * 1000).toISOString()

const postsOf = (body: Row): Row[] =>
  NativeRows.parse(fieldsOf(body['post_stream'])['posts'] ?? [body])

const isTopic = (body: Row): boolean =>
  body['post_stream'] !== undefined &&
  body['title'] !== undefined &&
  postsOf(body).some((post) => post['post_number'] === 1)

/** The expected row as far as a read answers it. */
function inReads(it: Mapped['rows'][number], body: Row): Mapped['rows'] {
  if (LISTS.some((list) => body[list] !== undefined)) return [it]
  // A post of a topic is read as a comment of its tree, whose nodes have times in whole seconds.
  if (it.of === 'comment') return [{ ...it, row: { ...it.row, created: wholeSecond(it.row) } }]
  return isTopic(body) ? [it] : []
}

/** The adapter's rows of a recording, by the read that asks for its endpoint. */
async function discourseRows(body: Row): Promise<{ name: string }[]> {
  await using it = startForum()
  const call = it.call()
  let answered = false
  it.forum.override = ({ path, query }) => {
    if (path === '/site.json') return null
    const isNext = Number(query.get('page')) > 0 || (answered && path === '/posts.json')
    if (isNext) return Response.json({ topic_list: { topics: [] }, latest_posts: [] })
    const isRest = /^\/t\/\d+\/posts\.json$/.test(path) && body['post_stream'] !== undefined
    if (isRest && answered) return Response.json({ post_stream: { posts: [] } })
    answered = true
    return Response.json(body)
  }
  if (body['user'] !== undefined) return [valueOf(await it.source.reads.user('name', call))]
  if (body['latest_posts'] !== undefined) {
    const ids = NativeRows.parse(body['latest_posts']).map(({ id }) => Number(id))
    const range = { from_id: Math.min(...ids), to_id: Math.max(...ids) }
    const bounds = { requests: 3, deadline_at: call.deadline_at }
    return valueOf(await it.watch.reread(range, bounds)).items
  }
  if (body['topic_list'] !== undefined) {
    const query = { subforums: [], sort: 'rising', t: null, limit: LIMIT, after: null }
    return valueOf(await it.source.reads.posts(query, call)).rows
  }
  const posts = postsOf(body)
  const id = String(body['post_stream'] === undefined ? body['topic_id'] : body['id'])
  const found = isTopic(body) ? valueOf(await it.source.reads.postsById([id], call)) : []
  it.forum.override = ({ path }) =>
    path === `/t/${id}/posts.json` ? Response.json({ post_stream: { posts } }) : null
  const nodes = valueOf(await it.source.reads.more({ post_id: id, ids: ['1'], sort: 'old' }, call))
  return [...found, ...nodes.map((node) => it.source.reads.commentOf(node))]
}

function hackerNewsRows(value: unknown): { name: string }[] {
  const body = Native.parse(value)
  const user = 'karma' in body ? toHnUser(body) : null
  if (user !== null) return [user]
  if (Array.isArray(body['hits']))
    return NativeRows.parse(body['hits'])
      .map(hitOf)
      .flatMap((hit): { name: string }[] =>
        hit === null ? [] : hit.kind === 'post' ? [hit.post] : [hit.comment],
      )
  const rows = 'type' in body ? [body] : Object.values(body)
  const items = rows.map(toNative).filter((item) => item !== null && livenessOf(item) === 'live')
  const story = storyOf(toStory({ id: 1, type: 'story', row: { title: 'a story', by: 'ann' } }))
  return items.flatMap((item): { name: string }[] => {
    if (item === null) return []
    if (isComment(item)) return [toReply(item, story)]
    return isPost(item) ? [toStory(item)] : []
  })
}

const SITE = 'https://lemmy.example'

function lemmyRows(value: unknown): { name: string }[] {
  const body = Native.parse(value)
  const people = [
    ...(viewsOf(value, 'person') ?? []),
    ...('person_view' in body ? [fieldsOf(body['person_view'])] : []),
  ]
  return [
    ...(viewsOf(value, 'post') ?? []).map((view) => toPost(view, SITE)),
    ...(viewsOf(value, 'comment') ?? []).map((view) => toComment(view, SITE)),
    ...people.map((view) => toUser(view, SITE)),
  ].flatMap((row) => (row === null ? [] : [row]))
}

describe.skipIf(folder === undefined)('a second mapper agrees', () => {
  test('on rows of every kind', () => {
    for (const kind of KINDS) {
      const seen = new Set(withRows(kind).flatMap(({ rows }) => rows.map((it) => it.of)))
      expect([...seen].toSorted()).toEqual(['comment', 'post', 'user'])
    }
  })

  test.each(withRows('discourse').map((it) => [it.file.split('/').at(-1), it] as const))(
    'Discourse: %s',
    async (_, { file, rows }) => {
      // Private messages, which the adapter shows to no reader, have the shape of a topic: they are mapped as one.
      const text = readFileSync(file, 'utf8')
      const opened = text.replaceAll(/("archetype": ?)"private_message"/g, '$1"regular"')
      const body = Native.parse(JSON.parse(opened))
      const expected = rows.flatMap((it) => inReads(it, body))
      compare(expected, await discourseRows(body))
    },
  )

  test.each(withRows('hackernews').map((it) => [it.file.split('/').at(-1), it] as const))(
    'Hacker News: %s',
    (_, { file, rows }) => {
      compare(rows, hackerNewsRows(bodyOf(file)))
    },
  )

  test.each(withRows('lemmy').map((it) => [it.file.split('/').at(-1), it] as const))(
    'Lemmy: %s',
    (_, { file, rows }) => {
      compare(rows, lemmyRows(bodyOf(file)))
    },
  )
})
