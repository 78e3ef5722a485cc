import { expect, test } from 'bun:test'

import { createAccessEnds } from '../../../src/runtime/access-ends.ts'

const HOUR_MS = 3_600_000

function record() {
  let now = 0
  const logged: string[] = []
  const clock = { mono: () => now, now: () => now, sleep: () => Promise.resolve() }
  const ends = createAccessEnds({
    clock,
    log: (_, event, fields = {}) =>
      logged.push([event, fields['reason'], fields['subject']].join(' ')),
  })
  return { ends, logged, pass: (ms: number) => void (now += ms) }
}

test('many subjects are one end of each kind, which is over with the last of them', () => {
  const { ends, logged } = record()
  ends.ended('emptied', 'posts:a')
  ends.ended('emptied', 'posts:b')
  ends.ended('emptied', 'posts:a')
  ends.ended('placeholder', 'posts:c')
  ends.restored('emptied', 'posts:a')
  ends.restored('emptied', 'posts:unknown')
  expect(logged).toEqual(['access.ended emptied posts:a', 'access.ended placeholder posts:c'])

  ends.restored('emptied', 'posts:b')
  ends.restored('emptied', 'posts:b')
  expect(logged.slice(2)).toEqual(['access.restored emptied posts:a'])
})

test('a subject without a read for a day is forgotten', () => {
  const { ends, logged, pass } = record()
  ends.ended('profile_hidden', 'user_posts:ann')
  pass(23 * HOUR_MS)
  ends.ended('profile_hidden', 'user_posts:bob')
  pass(2 * HOUR_MS)
  ends.restored('profile_hidden', 'user_posts:bob')

  expect(logged).toEqual([
    'access.ended profile_hidden user_posts:ann',
    'access.restored profile_hidden user_posts:ann',
  ])
})
