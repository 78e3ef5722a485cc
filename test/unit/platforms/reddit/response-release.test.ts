import { expect, test } from 'bun:test'

import type { Outcome } from '../../../../src/core/base/result.ts'
import type { EgressResult } from '../../../../src/net/proxy-agents.ts'
import { createListings } from '../../../../src/platforms/reddit/adapter.ts'
import { createReaders } from '../../../../src/platforms/reddit/readers/listing.ts'
import { createForumFixture, listing, post } from './fixture.ts'

const newest = { limit: 25, after: null, subforums: ['cats'], sort: 'new', t: null }

test('the text of an answer is released after it was parsed', async () => {
  const headers = new Headers({ 'content-type': 'application/json' })
  const answer = { status: 200, headers, body: JSON.stringify(listing([post()])) }
  const result: EgressResult = { ok: true, answer }
  await using it = createForumFixture([], {
    egress: { send: () => Promise.resolve(result), close() {} },
  })

  const page = await it.forum.posts(newest, it.call())

  expect(page.ok && page.value.rows.length).toBe(1)
  expect(answer.body).toBe('')
})

test('a parsed page is released after its rows were read', async () => {
  await using it = createForumFixture([])
  const base = 'https://forum.example'
  const value: unknown = listing([post()])
  const outcome: Outcome<unknown> = { ok: true, value }
  const get = () => Promise.resolve(outcome)
  const context = { base, get, ownPage: <T>(page: T) => Promise.resolve(page) }

  const page = await createListings(context, createReaders(base)).posts(newest, it.call())

  expect(page.ok && page.value.rows.length).toBe(1)
  expect(outcome).toEqual({ ok: true, value: null })
})
