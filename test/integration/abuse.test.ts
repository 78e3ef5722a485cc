// Goal: input built to break a parser, memory or a header gets an error and nothing else. Method:
// the attacks of the bar (bun run bar:abuse), fewer of each, against the daemon in its own process.
// Durations are measured by the bar only.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { createSeededRandom } from '../../sandbox/world/random.ts'
import { answerWithBombs, matchRegexes, readBombs } from '../support/abuse/answers.ts'
import { startAbused } from '../support/abuse/fixture.ts'
import { evilText, injectedInto } from '../support/abuse/fuzz.ts'
import { injectHeaders } from '../support/abuse/headers.ts'
import { openSlowly, sendHugeBodies, sendJsonBombs } from '../support/abuse/requests.ts'

setDefaultTimeout(60_000)
const SEED = 20_261_120

let abused: Awaited<ReturnType<typeof startAbused>>
/** They are closed after seconds, meanwhile the other attacks go on. */
let slow: ReturnType<typeof openSlowly>
beforeAll(async () => {
  abused = await startAbused()
  slow = openSlowly(abused.target, 50, 45_000)
})
afterAll(async () => {
  await abused[Symbol.asyncDispose]()
})

test('deep, wide or endless JSON is refused', async () => {
  expect((await sendJsonBombs(abused.target, 1)).wrong).toEqual([])
})

test('a body of a GiB is refused before it is read', async () => {
  expect((await sendHugeBodies(abused.target, 1)).wrong).toEqual([])
})

test('endless and inflating answers of receivers are cut off', async () => {
  expect((await answerWithBombs(abused.target, 1, abused.tls)).wrong).toEqual([])
})

test('decompression bombs of the platform are platform errors', async () => {
  expect((await readBombs(abused.target, 1, { mib: 24 })).wrong).toEqual([])
})

test('sixty expensive patterns match correctly, and another monitor gets its match', async () => {
  expect((await matchRegexes(abused.target, 2000, 30_000)).wrong).toEqual([])
})

test('a client that sends a byte a second is disconnected, and others are served', async () => {
  expect((await slow).wrong).toEqual([])
})

test('no text is injected into a header, a cookie or a request', async () => {
  expect((await injectHeaders(abused.target, 400, SEED)).wrong).toEqual([])
})

test('the daemon still runs, and its log has no internal error', async () => {
  expect(
    abused.lines.filter((line) => /request\.failed|turn_failed|"level":"error"/.test(line)),
  ).toEqual([])
  expect((await fetch(`${abused.target.url}/health`)).status).toBe(200)
})

test('the detector finds an injection', () => {
  const chance = createSeededRandom(SEED)
  const sound = 'GET /r/hay HTTP/1.1\r\nHost: x\r\nCookie: a=1; b=evil'
  expect(injectedInto(sound)).toEqual([])
  // Pasted unescaped, almost every text is detected.
  const texts = Array.from({ length: 200 }, () => evilText(chance))
  expect(texts.filter((text) => naive(text).length > 0).length).toBeGreaterThan(100)
})

/** Injections found for a text pasted unescaped into a cookie. */
function naive(text: string): string[] {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\nCookie: a=${text}`).toString('latin1')
  return bytes.split('\r\n\r\n').flatMap(injectedInto)
}
