import { expect, test } from 'bun:test'

import { createProgress } from '../../../src/runtime/systemd.ts'

/** Progress on a clock that the test moves; the wall clock can be set separately. */
function watched() {
  const time = { mono: 0, wall: 1_000_000 }
  const progress = createProgress({ mono: () => time.mono, now: () => time.wall })
  const pass = (ms: number) => {
    time.mono += ms
    time.wall += ms
  }
  return { progress, time, pass }
}

test('a loop that returns at its stated time is not stuck', async () => {
  const { progress, time, pass } = watched()
  const turn = progress.watch('sender', () => Promise.resolve(time.wall + 1000))
  for (let n = 0; n < 5; n += 1) {
    await turn()
    pass(1000)
    expect(progress.stuck(500)).toBeNull()
  }
})

test('an endless iteration is stuck after the slack', () => {
  const { progress, pass } = watched()
  void progress.watch('monitor', () => new Promise<number>(() => {}))()

  pass(500)
  expect(progress.stuck(500)).toBeNull()
  pass(1)
  expect(progress.stuck(500)).toEqual({ loop: 'monitor', what: 'turn', late_ms: 501 })
})

test('a loop that does not return is stuck, counted from its stated time', async () => {
  const { progress, time, pass } = watched()
  await progress.watch('sender', () => Promise.resolve(time.wall + 3000))()

  pass(3400)
  expect(progress.stuck(500)).toBeNull()
  pass(200)
  expect(progress.stuck(500)).toEqual({ loop: 'sender', what: 'wait', late_ms: 600 })
})

test('a loop without work is expected back within a minute', async () => {
  const { progress, pass } = watched()
  await progress.watch('sender', () => Promise.resolve(Infinity))()

  pass(60_000)
  expect(progress.stuck(500)).toBeNull()
  pass(501)
  expect(progress.stuck(500)).toMatchObject({ loop: 'sender', what: 'wait' })
})

test('an iteration that throws has ended, and its error is passed on', async () => {
  const { progress, pass } = watched()
  const turn = progress.watch('sender', () => Promise.reject(new Error('no')))

  expect(await turn().catch(String)).toBe('Error: no')
  pass(5000)
  expect(progress.stuck(500)).toBeNull()
})

test('a change of the wall clock makes no iteration overdue', async () => {
  const { progress, time } = watched()
  await progress.watch('sender', () => Promise.resolve(time.wall + 1000))()

  time.wall += 86_400_000
  expect(progress.stuck(500)).toBeNull()
})

test('work is no longer tracked once it ends, with or without an error', async () => {
  const { progress, pass } = watched()
  const failed = progress.expect('sender', 1000, Promise.reject(new Error('no')))

  expect(await failed.catch(String)).toBe('Error: no')
  expect(await progress.expect('sender', 1000, Promise.resolve('done'))).toBe('done')
  pass(100_000)
  expect(progress.stuck(0)).toBeNull()
})

test('the latest of several overdue loops is reported', () => {
  const { progress, pass } = watched()
  void progress.expect('sender', 2000, new Promise(() => {}))
  void progress.expect('monitor', 1000, new Promise(() => {}))

  pass(2600)
  expect(progress.stuck(500)).toEqual({ loop: 'monitor', what: 'work', late_ms: 1600 })
})
