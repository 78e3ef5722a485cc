import { expect, test } from 'bun:test'

import {
  expectedOf,
  inboxPath,
  isNarrowed,
  leavesList,
  readFilter,
  tabOf,
  toBody,
  toCountQuery,
  toQuery,
} from '../../../../../src/page/pages/inbox/state/filter.ts'
import type { MatchState } from '../../../../../src/page/pages/inbox/state/types.ts'

const NOW = Date.parse('2026-05-01T12:34:56.000Z')
const filterOf = (query: string) => readFilter(new URLSearchParams(query))

test.each([
  ['', 'Unread', { state: ['unread'] }],
  ['state=unread,read,answered', 'All', { state: ['unread', 'read', 'answered'] }],
  ['starred=true', 'Starred', { starred: true }],
  ['state=dismissed', 'Dismissed', { state: ['dismissed'] }],
  ['state=any&author=jane', undefined, { author: 'jane' }],
  [
    'q=two%20words&place=bread&within=7',
    'Unread',
    { state: ['unread'], text: 'two words', place: 'bread', from: '2026-04-24T12:00:00.000Z' },
  ],
] as const)('the URL %p is the tab %p', (query, tab, body) => {
  const filter = filterOf(query)

  expect(tabOf(filter)?.name).toBe(tab)
  expect(toBody(filter, NOW)).toEqual(body as object)
  // A path of the page reads as the same filter.
  expect(filterOf(inboxPath(filter).split('?')[1] ?? '')).toEqual(filter)
})

test('the query of the counts has neither states nor text', () => {
  const body = toBody(filterOf('q=rye&author=jane&state=read,unread'), NOW)

  expect(toQuery(body)).toBe('text=rye&author=jane&state=read%2Cunread')
  expect(toCountQuery(body)).toBe('author=jane')
  expect([isNarrowed(filterOf('')), isNarrowed(filterOf('q=a'))]).toEqual([false, true])
})

test.each([
  ['', 'unread', 'dismissed', true],
  ['', 'read', 'dismissed', true],
  ['', 'unread', 'answered', true],
  // A match that was only read stays until the list is loaded again.
  ['', 'unread', 'read', false],
  ['', 'unread', 'unread', false],
  ['state=unread,read,answered', 'unread', 'answered', false],
  ['state=unread,read,answered', 'read', 'dismissed', true],
  ['state=dismissed', 'dismissed', 'read', true],
  ['state=answered', 'answered', 'read', true],
  ['starred=true', 'unread', 'dismissed', false],
] as const)(
  'in %p a match from %s to %s leaves: %p',
  (query: string, before: MatchState, after: MatchState, leaves: boolean) => {
    expect(leavesList(filterOf(query), before, after)).toBe(leaves)
  },
)

test('the number of a list is unknown for a search, states of its own and incomplete counts', () => {
  const counts = {
    unread: 5,
    read: 3,
    answered: 2,
    dismissed: 7,
    starred: 1,
    total: 17,
    complete: true,
    labels: [],
  }
  const numberOf = (query: string, complete = true) =>
    expectedOf(filterOf(query), { ...counts, complete })

  expect([numberOf(''), numberOf('state=unread,read,answered'), numberOf('starred=true')]).toEqual([
    5, 10, 1,
  ])
  expect([numberOf('q=a'), numberOf('state=read'), numberOf('', false)]).toEqual([null, null, null])
  expect(expectedOf(filterOf(''), undefined)).toBeNull()
})
