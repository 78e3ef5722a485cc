import { expect, test } from 'bun:test'

import type { Outcome } from '../../../src/core/outcome.ts'
import type { Carried } from '../../../src/net/egress.ts'
import { createListings } from '../../../src/platform/listings.ts'
import { createReaders } from '../../../src/platform/readers.ts'
import { listing, post, stage } from './stage.ts'

const newest = { limit: 25, after: null, subforums: ['cats'], sort: 'new', t: null }

test('the text of an answer is let go once it is read', async () => {
  const headers = new Headers({ 'content-type': 'application/json' })
  const answer = { status: 200, headers, body: JSON.stringify(listing([post()])) }
  const carried: Carried = { ok: true, answer }
  await using it = stage([], { egress: { send: () => Promise.resolve(carried), close() {} } })

  const page = await it.forum.posts(newest, it.call())

  expect(page.ok && page.value.rows.length).toBe(1)
  expect(answer.body).toBe('')
})

test('a page is let go once its rows are read', async () => {
  await using it = stage([])
  const base = 'https://forum.example'
  const value: unknown = listing([post()])
  const outcome: Outcome<unknown> = { ok: true, value }
  const get = () => Promise.resolve(outcome)
  const asking = { base, get, ownPage: <T>(page: T) => Promise.resolve(page) }

  const page = await createListings(asking, createReaders(base)).posts(newest, it.call())

  expect(page.ok && page.value.rows.length).toBe(1)
  expect(outcome).toEqual({ ok: true, value: null })
})
