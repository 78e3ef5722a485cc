import { expect, test } from 'bun:test'

import { createLog } from '../../../src/runtime/log.ts'

const clock = { now: () => Date.parse('2026-01-02T03:04:05Z') }

function logged(settings: Partial<Parameters<typeof createLog>[0]> = {}) {
  const lines: string[] = []
  const log = createLog({
    level: 'info',
    json: true,
    color: false,
    clock,
    write: (line) => void lines.push(line),
    ...settings,
  })
  return { log, lines }
}

test("an event is one line of JSON with the clock's time", () => {
  const { log, lines } = logged()

  log('warn', 'check.failed', { subforum: 'cats', kind: 'throttled', retry_after_s: 7 })

  expect(lines).toEqual([
    '{"time":"2026-01-02T03:04:05.000Z","level":"warn","event":"check.failed","subforum":"cats","kind":"throttled","retry_after_s":7}',
  ])
})

test('an event below the level is not written', () => {
  const { log, lines } = logged({ level: 'warn' })

  log('debug', 'a')
  log('info', 'b')
  log('warn', 'c')
  log('error', 'd')

  expect(lines.map((line) => JSON.parse(line).event)).toEqual(['c', 'd'])
})

test('an unknown field, or one that is not a plain value, is left out and counted', () => {
  const { log, lines } = logged()

  log('info', 'x', { id: 'a', cookie: 'secret', error: new Error('with a stack'), url: undefined })

  expect(JSON.parse(lines[0] ?? '')).toEqual({
    time: '2026-01-02T03:04:05.000Z',
    level: 'info',
    event: 'x',
    id: 'a',
    left_out: 2,
  })
})

test.each([
  ['key fk_0123456789abcdefghij failed', 'key fk_… failed'],
  ['whsec_abcdefghijklmnop/+=', 'whsec_…'],
  ['https://user:pass@host/x', 'https://…@host/x'],
  ['Authorization: Bearer abc.def', 'Authorization: Bearer …'],
])('the secret in %j is masked', (text, masked) => {
  const { log, lines } = logged()

  log('info', 'x', { error: text })

  expect(JSON.parse(lines[0] ?? '').error).toBe(masked)
})

test('a list of texts is one text, limited to ten', () => {
  const { log, lines } = logged()

  log('info', 'x', { at: ['here', 'there', ...Array.from({ length: 50 }, () => 'far')] })

  expect(JSON.parse(lines[0] ?? '').at).toBe(`here < there${' < far'.repeat(8)}`)
})

test('a long text is truncated', () => {
  const { log, lines } = logged()

  log('info', 'x', { error: 'e'.repeat(100_000) })

  expect(lines[0]?.length).toBeLessThan(700)
})

test('a text line has time, level and fields, and no control characters', () => {
  const { log, lines } = logged({ json: false })

  log('info', 'serve.listening', { url: 'http://127.0.0.1:1', error: 'a\u001b[2Jb' })

  expect(lines).toEqual([
    String.raw`03:04:05 info  serve.listening url=http://127.0.0.1:1 error="a\u001b[2Jb"`,
  ])
})

test('colours are only used if requested', () => {
  const { log, lines } = logged({ json: false, color: true })

  log('error', 'x', { id: 'a' })

  expect(lines[0]).toContain('\u001b[31m')
  expect(Bun.stripANSI(lines[0] ?? '')).toBe('03:04:05 error x id=a')
})

test('every logged field in the source is allowed', async () => {
  const src = `${import.meta.dir}/../../../src/`
  const { log, lines } = logged()
  let found = 0

  for await (const file of new Bun.Glob('**/*.ts').scan(src))
    for (const [, fields = ''] of (await Bun.file(src + file).text()).matchAll(CALL))
      for (const [, name = ''] of fields.matchAll(NAME)) {
        found++
        log('info', `${file} logs ${name}`, { [name]: 1 })
      }

  expect(lines.filter((line) => line.includes('left_out'))).toEqual([])
  expect(found).toBeGreaterThan(20)
})

// A call with a level, an event and an object literal; the names of its fields, without spread
// ones.
const CALL = /\blog\([^;{}]*,\s*(?:'[\w.]+'|`[^`]*`),\s*\{([^{}]*)\}/g
const NAME = /(?:^|,)\s*(\w+)\s*(?=[:,]|$)/g

test('each line for the journal starts with its priority', () => {
  const { log, lines } = logged({ level: 'debug', journal: true })

  for (const level of ['debug', 'info', 'warn', 'error'] as const) log(level, 'a.b')

  expect(lines.map((line) => line.slice(0, 4))).toEqual(['<7>{', '<6>{', '<4>{', '<3>{'])
})

test('the level is read at each line', () => {
  const settings = { level: 'warn' as 'warn' | 'info', json: true, color: false, clock }
  const lines: string[] = []
  const log = createLog({
    ...settings,
    get level() {
      return settings.level
    },
    write: (line) => void lines.push(line),
  })

  log('info', 'a.b')
  settings.level = 'info'
  log('info', 'c.d')

  expect(lines.map((line) => JSON.parse(line).event)).toEqual(['c.d'])
})
