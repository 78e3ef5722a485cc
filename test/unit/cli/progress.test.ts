import { expect, test } from 'bun:test'

import { openBar, withBar } from '../../../src/cli/progress.ts'

const unreachable = () => expect.unreachable()

/** A terminal of so many columns: all that was written to it, and the line that is there now. */
function screen(columns = 80) {
  const written: string[] = []
  return {
    written,
    screen: { write: (text: string) => void written.push(text), columns: () => columns },
    line: () => written.join('').split('\r\u001b[K').at(-1),
  }
}

test.each([
  [0, '[------------------------]   0 %  copying'],
  [0.5, '[############------------]  50 %  copying'],
  [0.999, '[########################]  99 %  copying'],
  [1, '[########################] 100 %  copying'],
  [7, '[########################] 100 %  copying'],
  [null, '… copying'],
])('a bar at %p is %p', (share, line) => {
  const it = screen()

  openBar(it.screen).update('copying', share)

  expect(it.line()).toBe(line)
})

test('a progress bar is overwritten, fits the terminal and is erased at the end', () => {
  const it = screen(40)
  const bar = openBar(it.screen)

  bar.update('something that takes a while and a half', 0.2)
  bar.update('something that takes a while and a half', 0.4)
  expect(it.line()).toHaveLength(39)
  bar[Symbol.dispose]()
  bar[Symbol.dispose]()

  expect(it.line()).toBe('')
  expect(it.written).toHaveLength(3)
})

test('without a terminal nothing is written and no clock is read', async () => {
  openBar(null).update('copying', 0.5)

  expect(
    await withBar(
      { screen: null },
      { what: 'x', sample: () => 0, sleep: unreachable },
      Promise.resolve(7),
    ),
  ).toBe(7)
})

test('progress is displayed until the work ends, and its error is rethrown', async () => {
  const it = screen()
  const work = Promise.withResolvers<void>()
  let share = 0
  const sleep = () => {
    share += 0.25
    if (share === 0.75) work.reject(new Error('no'))
    return Promise.resolve()
  }

  const ended = await withBar(
    it,
    { what: 'copying', sample: () => share, sleep },
    work.promise,
  ).catch(String)

  expect(ended).toBe('Error: no')
  expect(it.written.map((text) => /(\d+) %/.exec(text)?.[1] ?? '')).toEqual(['0', '25', '50', ''])
  expect(it.line()).toBe('')
})
