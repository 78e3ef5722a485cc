import { expect, test } from 'bun:test'

import { acting } from './fixture.ts'

test.each([
  ['up', 1],
  ['down', -1],
  ['none', undefined],
] as const)('a vote %s is counted', async (direction, counted) => {
  await using it = await acting()
  const { world } = it.sandbox

  const done = await it.acts.vote({ id: it.post.name, direction }, it.as('ann'))

  const thing = world.things.get(it.post.name)
  expect(done).toEqual({ ok: true, value: null })
  expect(thing && world.users.get('ann')?.votes.get(thing)).toBe(counted)
})

test('a vote on an archived post is refused as archived', async () => {
  await using it = await acting()
  it.sandbox.edit({ name: it.post.name, archived: true })

  const done = await it.acts.vote({ id: it.post.name, direction: 'up' }, it.as('ann'))

  expect(done).toMatchObject({ ok: false, fault: { code: 'HTTP_400', meaning: 'ARCHIVED' } })
})

test('a vote on a missing post is not found', async () => {
  await using it = await acting()

  const done = await it.acts.vote({ id: 't3_nosuch', direction: 'up' }, it.as('ann'))

  expect(done).toEqual({ ok: false, fault: { kind: 'not_found', reason: 'absent' } })
})
