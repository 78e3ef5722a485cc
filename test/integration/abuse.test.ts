// Goal: nobody who sends, or answers, what is made to break a parser, a memory or a header gets more than a refusal.
// Method: the attacks of the bar (bun run bar:abuse), fewer of each, against the daemon as a process of its own. What
// time it all takes is the bar's affair.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { createChance } from '../../src/sandbox/chance.ts'
import { answerWithBombs, matchRegexes, readBombs } from '../support/abuse/answers.ts'
import { evilText, injectedInto } from '../support/abuse/fuzz.ts'
import { injectHeaders } from '../support/abuse/headers.ts'
import { openSlowly, pourBodies, throwJson } from '../support/abuse/requests.ts'
import { startAbused } from '../support/abuse/stage.ts'

setDefaultTimeout(60_000)
const SEED = 20_261_120

let abused: Awaited<ReturnType<typeof startAbused>>
beforeAll(async () => {
  abused = await startAbused()
})
afterAll(async () => {
  await abused[Symbol.asyncDispose]()
})

test('JSON that is deep, wide or endless is refused', async () => {
  expect((await throwJson(abused.target, 1)).wrong).toEqual([])
})

test('a body of a GiB is refused before it is read', async () => {
  expect((await pourBodies(abused.target, 1)).wrong).toEqual([])
})

test('receivers that answer without end, or with what inflates, are done with', async () => {
  expect((await answerWithBombs(abused.target, 1, abused.tls)).wrong).toEqual([])
})

test('a platform that answers with bombs is in error, and we are not', async () => {
  expect((await readBombs(abused.target, 1, { mib: 24 })).wrong).toEqual([])
})

test('sixty evil patterns find what they find, and another monitor its match', async () => {
  expect((await matchRegexes(abused.target, 2000, 30_000)).wrong).toEqual([])
})

test('who sends a byte a second is let go, and others are served', async () => {
  expect((await openSlowly(abused.target, 50, 45_000)).wrong).toEqual([])
})

test('no text becomes a header, a cookie or a request', async () => {
  expect((await injectHeaders(abused.target, 400, SEED)).wrong).toEqual([])
})

test('the daemon is still there, and nothing in its log is an error of its own', async () => {
  expect(
    abused.lines.filter((line) => /request\.failed|turn_failed|"level":"error"/.test(line)),
  ).toEqual([])
  expect((await fetch(`${abused.target.url}/health`)).status).toBe(200)
})

test('what reads the wire finds an injection when there is one', () => {
  const chance = createChance(SEED)
  const sound = 'GET /r/hay HTTP/1.1\r\nHost: x\r\nCookie: a=1; b=evil'
  expect(injectedInto(sound)).toEqual([])
  // Pasted into a value as it is, about every text shows.
  const texts = Array.from({ length: 200 }, () => evilText(chance))
  expect(texts.filter((text) => naive(text).length > 0).length).toBeGreaterThan(100)
})

/** What is found where a text was pasted into a cookie as it is. */
function naive(text: string): string[] {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\nCookie: a=${text}`).toString('latin1')
  return bytes.split('\r\n\r\n').flatMap(injectedInto)
}
