import { expect, test } from 'bun:test'

import { pauseOf } from '../../../../src/core/forum/native-refusals.ts'

test.each([
  [312.4, 'try again in 5 minutes.', 313],
  [0.2, '', 1],
  [null, 'you are doing that too much. try again in 7 minutes.', 420],
  [null, 'try again in 1 minute.', 60],
  [null, 'Take a break for 51 seconds before trying again.', 51],
  [null, 'Take a break for 250 milliseconds before trying again.', 1],
  [null, 'Please try again in 2 hours.', 780],
  [null, 'Too much. Come back later.', 60],
  [null, 'Error 12345 seconds', 780],
])('the number %j with the sentence %j gives this delay', (stated_s, sentence, pause_s) => {
  expect(pauseOf(stated_s, sentence)).toBe(pause_s)
})
