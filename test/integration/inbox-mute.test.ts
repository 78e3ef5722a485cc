// Goal: a mute is the edit that the monitor's filter needs, its effect is the truth of the stored matches, and an undo takes
// back this edit alone.
import { expect, test } from 'bun:test'

import { decodeFilterSpec, encodeFilterSpec } from '../../src/core/filter/parse.ts'
import { removeMonitorOf } from '../../src/store/monitoring/monitors.ts'
import { startInbox } from '../support/inbox-fixture.ts'
import { postOf } from '../support/items.ts'

const kitten = (n: number, fields: object = {}) =>
  postOf({ id: `k${n}`, name: `t3_k${n}`, title: `A kitten, number ${n}`, ...fields })
const DAY_MS = 86_400_000

/** Matches of three authors in two places; every third has a phrase. */
function fill(it: Awaited<ReturnType<typeof startInbox>>) {
  const authors = ['Spam', 'jane', 'bob']
  for (let n = 0; n < 12; n++)
    it.match(
      kitten(n, {
        author: authors[n % 3],
        subforum: n % 2 === 0 ? 'Cats' : 'dogs',
        text: n % 4 === 0 ? 'Buy   NOW!' : 'a story',
      }),
      'mon_all',
    )
}

test.each([
  [{ mute: 'author' }, 'exclude_authors', { added: 'Spam', removed: null, after: ['Spam'] }, 4],
  [
    { mute: 'phrase', phrase: 'buy now' },
    'exclude_terms',
    { added: 'buy now', removed: null, after: ['buy now'] },
    3,
  ],
  [{ mute: 'place' }, 'subforum', { added: null, removed: 'cats', after: ['dogs'] }, 6],
])('%j is an edit of %s', async (body, field, edit, removed) => {
  await using it = startInbox()
  fill(it)

  const answer = await it.call('/mute', { id: 't3_k0', ...body })

  expect(answer.status).toBe(200)
  const { monitor_id, applied, action_id, effect } = answer.body
  expect([monitor_id, applied, action_id]).toEqual(['mon_all', false, null])
  expect(answer.body.edit).toMatchObject({ field, ...edit })
  expect(effect).toMatchObject({
    days: 30,
    examined: 12,
    complete: true,
    removed,
    kept: 12 - removed,
  })
  expect(effect.samples.length).toBe(Math.min(5, removed))
  const before = specOf(it)
  expect((await it.call('/history')).body.actions).toEqual([])

  await it.call('/mute', { id: 't3_k0', ...body, apply: true })

  expect(specOf(it)).toEqual({ ...before, [field]: edit.after })
})

/** The filter of the monitor that matched everything. */
const specOf = (it: Awaited<ReturnType<typeof startInbox>>) =>
  decodeFilterSpec(it.monitor('mon_all')?.filter_spec ?? '')

test('an undo of a mute leaves what else was changed in the filter, and can be undone too', async () => {
  await using it = startInbox()
  fill(it)
  const before = specOf(it)
  const mute = { id: 't3_k0', mute: 'author', apply: true }
  const muted = await it.call('/mute', mute)
  it.db
    .query("UPDATE monitors SET filter_spec = ? WHERE id = 'mon_all'")
    .run(encodeFilterSpec({ ...specOf(it), exclude_authors: ['Spam', 'bob'] }))

  const undone = await it.call('/undo', { action_id: muted.body.action_id }, 'ann2')

  expect([undone.status, undone.body.restored]).toEqual([200, 1])
  expect(specOf(it)).toEqual({ ...before, exclude_authors: ['bob'] })
  await it.call('/undo', { action_id: undone.body.action_id })
  expect(specOf(it)).toEqual({ ...before, exclude_authors: ['bob', 'Spam'] })
  const { actions } = (await it.call('/history')).body
  expect(actions.map(({ kind, mute: edit }: any) => [kind, edit.added, edit.removed])).toEqual([
    ['undo', 'Spam', null],
    ['undo', null, 'Spam'],
    ['mute', 'Spam', null],
  ])
  expect(actions[2]).toMatchObject({ undone_by: undone.body.action_id, can_undo: false, items: 0 })
})

test('a place that a mute removed is watched again after its undo', async () => {
  await using it = startInbox()
  fill(it)
  const before = specOf(it)
  const { body } = await it.call('/mute', { id: 't3_k0', mute: 'place', apply: true })

  const undone = await it.call('/undo', { action_id: body.action_id })

  expect(undone.status).toBe(200)
  expect(specOf(it).subforum.toSorted()).toEqual(before.subforum.toSorted())
})

test.each<[string, (it: Awaited<ReturnType<typeof startInbox>>) => unknown]>([
  ['undone already', (it) => it.call('/undo', { action_id: idOfMute(it) })],
  ['more than a day old', (it) => it.advance(DAY_MS + 1)],
  [
    'changed since',
    (it) =>
      it.db
        .query("UPDATE monitors SET filter_spec = ? WHERE id = 'mon_all'")
        .run(encodeFilterSpec({ ...specOf(it), exclude_authors: [] })),
  ],
  ['was removed', (it) => removeMonitorOf(it.db, 'ann', 'mon_all', it.now())],
])('a mute is not undone if it is, or its monitor is: %s', async (reason, happen) => {
  await using it = startInbox()
  fill(it)
  const { body } = await it.call('/mute', { id: 't3_k0', mute: 'author', apply: true })
  await happen(it)

  const answer = await it.call('/undo', { action_id: body.action_id })

  expect([answer.status, answer.body.field]).toEqual([400, 'action_id'])
  expect(answer.body.error).toContain(reason)
})

/** Id of the only action. */
const idOfMute = ({ db }: Awaited<ReturnType<typeof startInbox>>) =>
  db.query<{ id: string }, []>('SELECT id FROM inbox_actions').get()?.id

test('of mutes at the same time each one that is answered with success is in the filter', async () => {
  await using it = startInbox()
  fill(it)
  const authors = { t3_k0: 'Spam', t3_k1: 'jane', t3_k2: 'bob' }

  const answers = await Promise.all(
    Object.entries(authors).map(async ([id, author]) => ({
      author,
      ...(await it.call('/mute', { id, mute: 'author', apply: true })),
    })),
  )

  const made = answers.filter(({ status }) => status === 200).map(({ author }) => author)
  expect(made.length).toBeGreaterThan(0)
  expect(specOf(it).exclude_authors.toSorted()).toEqual(made.toSorted())
  const refused = answers.filter(({ status }) => status !== 200)
  expect(refused.map(({ body }) => body.field)).toEqual(refused.map(() => 'monitor_id'))
})

test('a monitor of the whole platform excludes a place', async () => {
  await using it = startInbox()
  it.addMonitor('mon_wide', { include_any: ['kitten'] })
  it.match(kitten(1, { subforum: 'Spam' }), 'mon_wide')

  const { body } = await it.call('/mute', { id: 't3_k1', mute: 'place' })

  expect(body.edit).toEqual({
    field: 'exclude_subforums',
    added: 'Spam',
    removed: null,
    before: [],
    after: ['Spam'],
  })
  expect(body.effect).toMatchObject({ removed: 1, kept: 0 })
})

test('matches from before 30 days are not part of the effect', async () => {
  await using it = startInbox()
  it.match(kitten(1, { author: 'spam' }))
  it.advance(31 * DAY_MS)
  it.match(kitten(2, { author: 'spam' }))

  const { body } = await it.call('/mute', { id: 't3_k2', mute: 'author' })

  expect(body.effect).toMatchObject({ examined: 1, removed: 1 })
})

test.each([
  [{ id: 't3_gone', mute: 'author' }, 404, undefined],
  [{ id: 't3_k1', mute: 'author' }, 400, 'monitor_id'],
  [{ id: 't3_k1', mute: 'author', monitor_id: 'mon_bob' }, 400, 'monitor_id'],
  [{ id: 't3_k1', mute: 'place', monitor_id: 'mon_cats' }, 400, 'mute'],
  [{ id: 't3_k1', mute: 'phrase', monitor_id: 'mon_cats' }, 400, 'phrase'],
  [{ id: 't3_k1', mute: 'author', phrase: 'x', monitor_id: 'mon_cats' }, 400, 'phrase'],
  [{ id: 't3_k8', mute: 'phrase', phrase: 'one more' }, 400, 'mute'],
  [{ id: 't3_k9', mute: 'author' }, 400, 'mute'],
  [{ id: 't3_k1', mute: 'everything' }, 400, 'mute'],
])('%j is refused with %i', async (body, status, field) => {
  await using it = startInbox()
  it.match(kitten(1))
  it.match(kitten(1), 'mon_all')
  it.addMonitor('mon_muted', { subforum: ['cats'], exclude_authors: ['SomeOne'] })
  it.match(kitten(9), 'mon_muted')
  const exclude_terms = Array.from({ length: 50 }, (_, n) => `term ${n}`)
  it.addMonitor('mon_full', { subforum: ['cats'], exclude_terms })
  it.match(kitten(8), 'mon_full')

  const answer = await it.call('/mute', body)

  expect([answer.status, answer.body.field]).toEqual([status, field])
})
