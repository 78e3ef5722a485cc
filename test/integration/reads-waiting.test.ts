import { expect, test } from 'bun:test'

import { startReading } from '../support/reads-fixture.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const PATH = '/api/forum/posts?subforum=coffee'

/** The answer while the platform requests a wait of 12 s, and the seconds that the read took. */
async function readThrottled(read_wait_s: number) {
  await using daemon = await startTestDaemon({
    change: ({ limits }) => {
      limits.read_wait_s = read_wait_s
    },
  })
  daemon.sandbox.post({ subforum: 'coffee', title: 'Here' })
  daemon.sandbox.addFault({ path: '/r/', fault: '429_html', times: 1, retry_after_s: 12 })
  const headers = { authorization: `Bearer ${daemon.key}` }
  const seen = daemon.sandbox.requests.length
  const pending = fetch(daemon.url() + PATH, { headers })
  while (daemon.sandbox.requests.length === seen) await Bun.sleep(1)
  const began = daemon.clock.now()
  // An answer takes its time to arrive, in which the clock must not move far.
  const advance = async () => {
    await daemon.clock.advance(500)
    await Bun.sleep(20)
    return null
  }
  let answer = null
  while (answer === null) answer = await Promise.race([pending, advance()])
  return { answer, took_s: (daemon.clock.now() - began) / 1000 }
}

test('a read that would wait longer than read_wait_s is 429 with Retry-After, and free', async () => {
  const { answer, took_s } = await readThrottled(8)

  expect(answer.status).toBe(429)
  expect(await answer.json()).toMatchObject({ code: 'HTTP_429' })
  expect(Number(answer.headers.get('retry-after'))).toBeWithin(10, 14)
  expect(answer.headers.get('x-credits-remaining')).toBeNull()
  expect(took_s).toBeLessThan(8)
})

test.each([15, 0])(
  'a read waits for the end of a throttling within read_wait_s = %p',
  async (read_wait_s) => {
    const { answer, took_s } = await readThrottled(read_wait_s)

    expect(answer.status).toBe(200)
    expect(took_s).toBeWithin(12, 15)
  },
)

test('a read of a disconnected caller is not billed', async () => {
  await using daemon = await startReading()
  const { sandbox } = daemon
  sandbox.post({ subforum: 'coffee', title: 'Here' })
  sandbox.addFault({ path: '/r/', fault: 'slow', delay_s: 3600 })
  const leaving = new AbortController()
  const left = daemon.get('/posts?subforum=coffee', {}, leaving.signal).catch(() => 'left')
  await Bun.sleep(100)
  leaving.abort()
  expect(await left).toBe('left')
  await Bun.sleep(50)
  sandbox.advance(3600)

  let account = await daemon.account()
  for (let tries = 0; account.body.total_requests === 0 && tries < 200; tries++) {
    await Bun.sleep(5)
    account = await daemon.account()
  }
  expect(account.body).toMatchObject({ credits_used: 0, credits_remaining: 0.5, total_requests: 1 })
})
