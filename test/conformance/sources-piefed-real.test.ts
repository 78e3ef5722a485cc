// Goal: answers that a real PieFed 1.6.18 gave are read whole, and its refusals are understood.
// Method: each line of real.jsonl of $FORUMD_SOURCES/piefed that answers a GET of the API, or a limit, is replayed by a server.

import { describe, expect, test } from 'bun:test'

import {
  createdOf,
  stateOf,
  toComment,
  toCommunity,
  toItem,
  toPost,
  toSite,
  toUser,
} from '../../src/platforms/lemmy/readers.ts'
import { fieldsOf, rowsOf, textAt } from '../../src/platforms/values.ts'
import { bodyOf, linesOf, pathOf, recordings, replay } from './lemmy-replay.ts'

const SITE = 'https://pie.example'
const lines = linesOf('piefed')
const gets = lines.filter(({ method }) => method === 'GET')

/** Fault of a refusal, by its text. */
const FAULTS: readonly (readonly [RegExp, string])[] = [
  [/^404|^405/, 'not_found rejected'],
  [/No row was found|unknown community|^400 No object|^400 \(\)$|NoneType/, 'not_found'],
  [/Private community/, 'forbidden'],
  [/incorrect_login|Not enough segments/, 'login_required rejected'],
  [/Validation failed/, 'rejected'],
  [/OperationalError|Error 111 connecting|The browser \(or proxy\)/, 'unavailable'],
  [/out of range|NumericValueOutOfRange/, 'unavailable'],
]

describe.skipIf(recordings === undefined)('a real PieFed', () => {
  test.each(gets.filter(({ status }) => status >= 400 && status !== 429))(
    'refuses: $name',
    async (line) => {
      await using fixture = replay('piefed', line)
      const answer = await fixture.api().get(fixture.path, fixture.params, fixture.call())
      const said = `${line.status} ${textAt(bodyOf(line), 'message') ?? ''}`
      const kinds = FAULTS.find(([text]) => text.test(said))?.[1] ?? expect.unreachable(said)
      const kind = answer.ok ? 'ok' : answer.fault.kind
      expect({ said, is_known: kinds.split(' ').includes(kind), kind }).toMatchObject({
        is_known: true,
      })
    },
  )

  test.each(lines.filter(({ status }) => status === 429))('limits: $name', async (line) => {
    await using fixture = replay('piefed', line)
    const answer = await fixture.api().get(pathOf(line), {}, fixture.call())
    // It names no time: the pause is a safe one.
    expect(answer).toMatchObject({ ok: false, fault: { kind: 'throttled', retry_after_s: 60 } })
  })

  test.each(gets.filter((it) => it.status === 200 && /\/(post|comment)\/list\?/.test(it.path)))(
    'lists: $name',
    async (line) => {
      await using fixture = replay('piefed', line)
      const kind = line.path.includes('/post/') ? 'post' : 'comment'
      const paging = { limit: 50, after: null }
      const page = await fixture
        .api()
        .list(kind, fixture.path, fixture.params, paging, fixture.call())
      if (!page.ok) throw new Error(page.fault.kind)
      expect(page.value.views).toHaveLength(rowsOf(bodyOf(line)[`${kind}s`]).length)
      for (const view of page.value.views) {
        const row = fieldsOf(view[kind])
        const item = kind === 'post' ? toPost(view, SITE) : toComment(view, SITE)
        expect(item?.id).toBe(String(row['id']))
        expect(item?.created_utc).toBe(Math.floor(createdOf(row) / 1000))
        const community = fieldsOf(view['community'])
        const is_gone = row['removed'] === true || row['deleted'] === true
        if (is_gone || community['banned'] === true) expect(stateOf(view)).not.toBe('public')
        if (stateOf(view) === 'public') expect(toItem(view, SITE)).not.toBeNull()
        const is_adult = fieldsOf(view['post'])['nsfw'] === true || community['nsfw'] === true
        expect(item?.over_18).toBe(is_adult)
      }
    },
  )

  test.each(gets.filter((it) => it.status === 200 && /\/(post|comment)\?id=/.test(it.path)))(
    'reads by id: $name',
    async (line) => {
      await using fixture = replay('piefed', line)
      const kind = fixture.path === '/post' ? 'post' : 'comment'
      const view = await fixture.api().byId(kind, fixture.params['id'] ?? '', fixture.call())
      if (!view.ok || view.value === null) throw new Error(view.ok ? 'absent' : view.fault.kind)
      const row = fieldsOf(view.value[kind])
      const item = kind === 'post' ? toPost(view.value, SITE) : toComment(view.value, SITE)
      expect(item?.created_utc).toBe(Math.floor(createdOf(row) / 1000))
      if (kind === 'post')
        expect(toPost(view.value, SITE)?.flair ?? '').toBe(textAt(row, 'flair') ?? '')
      // Drafts look like all others: no list has this one.
      if (kind === 'post') expect(stateOf(view.value)).toBe('hidden')
    },
  )

  test.each(gets.filter(({ status, path }) => status === 200 && /\/community\?/.test(path)))(
    'describes: $name',
    (line) => {
      const view = fieldsOf(bodyOf(line)['community_view'])
      expect(toCommunity(view, SITE)?.name).toMatch(/^\w+/)
    },
  )

  test.each(gets.filter(({ status, path }) => status === 200 && /\/user\?/.test(path)))(
    'knows: $name',
    (line) => {
      expect(toUser(fieldsOf(bodyOf(line)['person_view']), SITE)?.name).toMatch(/^\w+/)
    },
  )

  test.each(gets.filter(({ status, path }) => status === 200 && path === '/api/alpha/site'))(
    'is found: $name',
    (line) => expect(toSite(bodyOf(line))?.version).toMatch(/^\d/),
  )
})
