// Goal: answers that a real Lemmy 0.19.20 and a real 1.0 gave are read whole, and their refusals are understood.
// Method: each line of real-v3.jsonl and real-v4.jsonl of $FORUMD_SOURCES/lemmy is replayed to the client by a server.

import { describe, expect, test } from 'bun:test'

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
import { bodyOf, linesOf, pathOf, recordings, replay } from './lemmy-replay.ts'

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

describe.skipIf(recordings === undefined).each(['v3', 'v4'] as const)('a real %s', (generation) => {
  const lines = linesOf(generation).filter(({ method }) => method === 'GET')

  test.each(lines.filter(({ status }) => status >= 400))('refuses: $name', async (line) => {
    await using fixture = replay(generation, line)
    const { path, params } = fixture
    const answer = await fixture.api().get(path, params, fixture.call())
    const { error = '', message = '' } = bodyOf(line)
    const said = `${line.status} ${String(error)} ${String(message)}`
    const kind = FAULTS.find(([text]) => text.test(said))?.[1] ?? expect.unreachable(said)
    expect({ said, kind: answer.ok ? 'ok' : answer.fault.kind }).toEqual({ said, kind })
  })

  test.each(lines.filter(({ status, path }) => status === 200 && /\/list\?/.test(path)))(
    'lists: $name',
    async (line) => {
      await using fixture = replay(generation, line)
      const { path, params } = fixture
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
    await using fixture = replay(generation, line)
    const { path, params } = fixture
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

  test.each(lines.filter((line) => line.status === 200 && READS[pathOf(line)] !== undefined))(
    'answers: $name',
    (line) => {
      READS[pathOf(line)]?.(bodyOf(line))
    },
  )

  test('an answer may be a copy of a minute ago', async () => {
    const line = lines.find(({ path, status }) => status === 200 && path.includes('/post/list?'))
    if (line === undefined) throw new Error('no list is recorded')
    await using fixture = replay(generation, line)
    const paging = { limit: 50, after: null }
    const page = await fixture.api().list('post', '/post/list', {}, paging, fixture.call())
    expect(page).toMatchObject({ ok: true, value: { age_ms: 60_000 } })
  })
})
