// Goal: answers that a real Lemmy 0.19.20 and a real 1.0 gave are read whole, and their refusals are understood.
// Method: each line of real-v3.jsonl and real-v4.jsonl of $FORUMD_SOURCES/lemmy is replayed to the client by a server.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import {
  createdOf,
  modActionsOf,
  stateOf,
  toComment,
  toCommunity,
  toItem,
  toPost,
  toSite,
  toUser,
} from '../../src/platforms/lemmy/readers.ts'
import { fieldsOf, rowsOf } from '../../src/platforms/values.ts'
import { createServer } from '../unit/platforms/lemmy/fixture.ts'

const sources = process.env['FORUMD_SOURCES']
const folder = sources === undefined ? null : join(sources, 'lemmy')
if (folder === null)
  console.log('FORUMD_SOURCES is not set: the answers of real Lemmy servers are skipped')

const Line = z.object({
  name: z.string(),
  method: z.string(),
  path: z.string(),
  status: z.number(),
  headers: z.record(
    z.string(),
    z.union([z.string(), z.array(z.string()).transform((all) => all.join(', '))]),
  ),
  body: z.unknown(),
})
type Recorded = z.infer<typeof Line>

const linesOf = (generation: 'v3' | 'v4'): Recorded[] =>
  folder === null
    ? []
    : readFileSync(join(folder, `real-${generation}.jsonl`), 'utf8')
        .trim()
        .split('\n')
        .map((line) => Line.parse(JSON.parse(line)))
        .filter(({ method, path }) => method === 'GET' && path.startsWith(`/api/${generation}/`))

const textOf = ({ body }: Recorded): string =>
  typeof body === 'string' ? body : JSON.stringify(body)
const bodyOf = (line: Recorded) => fieldsOf(JSON.parse(textOf(line)))

/** A server that gives one recorded answer to its path, and what the client asks before it. */
function replay(generation: 'v3' | 'v4', line: Recorded) {
  const fixture = createServer(generation)
  const { pathname, searchParams } = new URL(line.path, 'http://lemmy.example')
  const path = pathname.slice(`/api/${generation}`.length)
  let site_asked = path !== '/site'
  fixture.world.answer = (asked) => {
    if (asked !== path) return null
    // The search for the API comes before it.
    if (!site_asked) {
      site_asked = true
      return null
    }
    return new Response(textOf(line), { status: line.status, headers: line.headers })
  }
  return { fixture, path, params: Object.fromEntries(searchParams) }
}

const LISTS: Readonly<Record<string, 'post' | 'comment' | 'community'>> = {
  '/post/list': 'post',
  '/comment/list': 'comment',
  '/community/list': 'community',
}

/** Fault of a refusal: by its code, else by its status. */
const FAULTS: readonly (readonly [RegExp, string])[] = [
  [/^\d+ (couldnt_find_\w+|not_found)/, 'not_found'],
  [/^\d+ (instance_is_private|not_logged_in)/, 'login_required'],
  [/^400 unknown Error occurred/, 'unavailable'],
  [
    /^400 (unknown (Query deserialize|Invalid last symbol)|couldnt_get_\w+|invalid_fetch_limit|resolve_object_failed)/,
    'rejected',
  ],
  [/^401 incorrect_login/, 'rejected'],
  [/^404/, 'not_found'],
  [/^50[23]/, 'unavailable'],
]

const SITE = 'https://lemmy.example'

/** Checks of the 200 of a path that is no list of rows. */
const READS: Readonly<Record<string, (body: Record<string, unknown>) => void>> = {
  '/site': (body) => expect(toSite(body)?.message_per_minute).toBeGreaterThan(0),
  '/community': (body) =>
    expect(toCommunity(fieldsOf(body['community_view']), SITE)?.name).toMatch(/^\w+/),
  '/user': (body) => expect(toUser(fieldsOf(body['person_view']), SITE)?.name).toMatch(/^\w+/),
  '/person': (body) => expect(toUser(fieldsOf(body['person_view']), SITE)?.name).toMatch(/^\w+/),
  '/modlog': (body) => {
    const removals = [
      ...rowsOf(body['removed_posts']),
      ...rowsOf(body['removed_comments']),
      ...rowsOf(body['banned']),
      ...rowsOf(body['banned_from_community']),
      ...rowsOf(body['items']).filter((row) =>
        /^mod_remove_(post|comment)$/.test(String(fieldsOf(row['modlog'])['kind'])),
      ),
    ]
    expect(modActionsOf(body)).toHaveLength(removals.length)
    for (const { at } of modActionsOf(body)) expect(at).toBeGreaterThan(1_600_000_000_000)
  },
}

describe.skipIf(folder === null).each(['v3', 'v4'] as const)('a real %s', (generation) => {
  const lines = linesOf(generation)

  test.each(lines.filter(({ status }) => status >= 400))('refuses: $name', async (line) => {
    const { fixture, path, params } = replay(generation, line)
    await using _ = fixture
    const answer = await fixture.api().get(path, params, fixture.call())
    const { error = '', message = '' } = /^[{]/.test(textOf(line)) ? bodyOf(line) : {}
    const said = `${line.status} ${String(error)} ${String(message)}`
    const kind = FAULTS.find(([text]) => text.test(said))?.[1] ?? expect.unreachable(said)
    expect({ said, kind: answer.ok ? 'ok' : answer.fault.kind }).toEqual({ said, kind })
  })

  test.each(lines.filter(({ status, path }) => status === 200 && /\/list\?/.test(path)))(
    'lists: $name',
    async (line) => {
      const { fixture, path, params } = replay(generation, line)
      await using _ = fixture
      const kind = LISTS[path] ?? expect.unreachable(path)
      const page = await fixture
        .api()
        .list(kind, path, params, { limit: 50, after: null }, fixture.call())
      if (!page.ok) throw new Error(page.fault.kind)
      const all = rowsOf(bodyOf(line)[generation === 'v4' ? 'items' : `${kind}s`])
      expect(page.value.views).toHaveLength(all.length)
      for (const view of page.value.views) {
        if (kind === 'community') {
          expect(toCommunity(view, SITE)?.id).toMatch(/^\d+$/)
          continue
        }
        const row = fieldsOf(view[kind])
        const item = kind === 'post' ? toPost(view, SITE) : toComment(view, SITE)
        expect(item?.id).toBe(String(row['id']))
        expect(item?.created_utc).toBe(Math.floor(createdOf(row) / 1000))
        const is_shown = row['removed'] !== true && row['deleted'] !== true
        if (!is_shown) expect(stateOf(view)).not.toBe('public')
        if (stateOf(view) === 'public') expect(toItem(view, SITE)).not.toBeNull()
      }
    },
  )

  test.each(
    lines.filter(({ status, path }) => status === 200 && /\/(post|comment)\?id=/.test(path)),
  )('reads by id: $name', async (line) => {
    const { fixture, path, params } = replay(generation, line)
    await using _ = fixture
    const kind = path === '/post' ? 'post' : 'comment'
    const view = await fixture.api().byId(kind, params['id'] ?? '', fixture.call())
    if (!view.ok || view.value === null) throw new Error(view.ok ? 'absent' : view.fault.kind)
    const row = fieldsOf(view.value[kind])
    const item = kind === 'post' ? toPost(view.value, SITE) : toComment(view.value, SITE)
    expect(item?.created_utc).toBe(Math.floor(createdOf(row) / 1000))
    const is_hidden =
      row['removed'] === true ||
      row['deleted'] === true ||
      row['federation_pending'] === true ||
      (row['scheduled_publish_time_at'] ?? null) !== null
    if (is_hidden) expect(stateOf(view.value)).not.toBe('public')
  })

  test.each(
    lines.filter(({ status, path }) => {
      const name = path.replace(/^\/api\/v\d|\?.*$/g, '')
      return status === 200 && READS[name] !== undefined
    }),
  )('answers: $name', (line) => {
    READS[line.path.replace(/^\/api\/v\d|\?.*$/g, '')]?.(bodyOf(line))
  })

  test('an answer may be a copy of a minute ago', async () => {
    const line = lines.find(({ path, status }) => status === 200 && path.includes('/post/list?'))
    if (line === undefined) throw new Error('no list is recorded')
    const { fixture } = replay(generation, line)
    await using _ = fixture
    const paging = { limit: 50, after: null }
    const page = await fixture.api().list('post', '/post/list', {}, paging, fixture.call())
    expect(page).toMatchObject({ ok: true, value: { age_ms: 60_000 } })
  })
})
