// Goal: the commands of the documentation work. Method: calls of the API are made by curl to a
// daemon; each option of a command must exist. The quick start of README is replayed whole
// (quick-start.test.ts).
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { loadAll } from '../../src/cli/run.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { codeBlocks } from './documentation.ts'

setDefaultTimeout(30_000)

const typed = codeBlocks().filter(
  ({ language, words }) => language === 'sh' && !words.includes('newcomer'),
)

/** One command per line, with continuations joined; comments removed. */
const linesOf = (text: string) =>
  text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) =>
      line
        .replace(/(^|\s)#.*$/, '')
        .replace(/sudo (-u \S+ )?/, '')
        .trim(),
    )
    .filter(Boolean)

describe('an API call', () => {
  const calls = typed.filter(({ text }) => /curl[^]*http:\/\/127\.0\.0\.1:8080/.test(text))

  let daemon: Awaited<ReturnType<typeof startTestDaemon>>
  beforeAll(async () => {
    daemon = await startTestDaemon({ world: 'seeded' })
  })
  afterAll(() => daemon[Symbol.asyncDispose]())

  test.each(calls)('in $page gets the expected answer: $text', async ({ text }) => {
    const command = text
      .replaceAll('http://127.0.0.1:8080', daemon.url())
      .replaceAll(/https:\/\/(?:example\.com|ntfy\.sh)\//g, 'https://receiver.test/')

    const child = Bun.spawn(['bash', '-ec', command], {
      env: { PATH: process.env['PATH'] ?? '', KEY: daemon.key },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const answer = JSON.parse(await new Response(child.stdout).text())

    expect(await child.exited).toBe(0)
    expect(answer).not.toHaveProperty('error')
  })

  test('occurs in five pages', () => {
    expect(new Set(calls.map(({ page }) => page))).toEqual(
      new Set(['api', 'archive', 'inbox', 'monitors', 'webhooks'].map((name) => `docs/${name}.md`)),
    )
  })
})

test('every command accepts every option in the docs', async () => {
  const known_commands = new Map(
    (await loadAll()).map((it) => [it.name, new Set(Object.keys(it.options))]),
  )
  const commands = typed.flatMap(({ page, text }) =>
    linesOf(text).flatMap((line) =>
      [...line.matchAll(/(?:^|\s)(?:[^\s=]*\/)?forumd ([a-z][a-z -]*?)(?= -| [^a-z]|$)(.*)/g)].map(
        ([whole, , rest = '']) => ({ page, whole: whole.trim(), rest }),
      ),
    ),
  )
  const wrong = commands.filter(({ whole, rest }) => {
    const [, first = '', second = ''] = /forumd (\S+)(?: (\S+))?/.exec(whole) ?? []
    const options = known_commands.get(`${first} ${second}`) ?? known_commands.get(first)
    const used = [...rest.matchAll(/(?:^|\s)--([a-z-]+)/g)].map(([, it = '']) => it)
    return !options || used.some((it) => it !== 'config' && !options.has(it))
  })

  expect(wrong).toEqual([])
  expect(commands.length).toBeGreaterThan(15)
})
