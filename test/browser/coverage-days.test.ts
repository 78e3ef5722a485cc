import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { isLongForm } from '../support/long-form.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { createClients } from './dashboard-client.ts'
import { launchIn } from './dashboard-fixture.ts'
import { inBrowser, TEST_MS } from './fixture.ts'

// A monitor is created on 1 January at 20:00 and checked every five minutes. Its platform fails twice; from 23:00 to 23:20
// the daemon is stopped. At 1:00 of the next day, coverage is counted by hand.
//
// 1. Requests fail from 20:30 to 20:50. The last good check was at 20:27:12. An item is listed up to a minute after its
//    creation, so what may be missed begins at 20:26:12. The next good check is at 20:50:03. Times of items are whole
//    seconds, so the gap is a second wider at both ends: 20:26:11 to 20:50:04, which is 23 min 53 s, 1433 s.
// 2. The platform asks for a login from 22:00 to 22:30. Good checks are at 21:57:30 and 22:30:03, so by the same rule the
//    gap is 21:56:29 to 22:30:04, which is 33 min 35 s, 2015 s.
// 3. The first checks after the stop read back to items from before it: nothing is missing.
//
// Of the 4 h watched on 1 January, 14,400 s, 1433 s + 2015 s = 3448 s are not verified and 10,952 s are complete. The 20 h
// before, 72,000 s, are not watched.
const YESTERDAY = {
  day: '2026-01-01',
  complete_s: 10_952,
  not_verified_s: 3448,
  unwatched_s: 72_000,
  gaps: [
    {
      from: '2026-01-01T00:00:00.000Z',
      until: '2026-01-01T20:00:00.000Z',
      status: 'unknown',
      reason: 'before_start',
    },
    {
      from: '2026-01-01T20:26:11.000Z',
      until: '2026-01-01T20:50:04.000Z',
      status: 'degraded',
      reason: 'error',
    },
    {
      from: '2026-01-01T21:56:29.000Z',
      until: '2026-01-01T22:30:04.000Z',
      status: 'degraded',
      reason: 'login_wall',
    },
  ],
}

// The last audit starts at 00:56:35. Items may be listed 45 s late, so that it verifies what was created until 00:55:50: of the
// 3600 s since midnight, 3350 s are complete and the newest 250 s not verified yet.
const TODAY = {
  day: '2026-01-02',
  complete_s: 3350,
  not_verified_s: 250,
  unwatched_s: 0,
  gaps: [
    {
      from: '2026-01-02T00:55:50.000Z',
      until: '2026-01-02T01:00:00.000Z',
      status: 'partial',
      reason: 'not_verified',
    },
  ],
}

const MINUTE = 60_000
setDefaultTimeout(TEST_MS)

type Daemon = Awaited<ReturnType<typeof startTestDaemon>>
let daemon: Daemon
let id = ''
const coverage = async () =>
  (await daemon.call(`/forum/monitor/coverage?id=${id}&from=2026-01-01`)).body

beforeAll(async () => {
  daemon = await startTestDaemon({
    start_at: Date.parse('2026-01-01T20:00:00Z'),
    change: (config) => {
      config.monitor.audit_interval_s = 300
    },
  })
  const { sandbox, clock } = daemon
  sandbox.user({ name: 'ann', password: 'open-sesame 3' })
  sandbox.subforum({ name: 'cats' })
  sandbox.post({ subforum: 'cats', author: 'ann', title: 'a cat', text: '' })
  const monitor = { filter_spec: { subforum: 'cats' }, cadence_s: 300 }
  id = (await daemon.send('/forum/monitor/add', monitor)).body.id
  await clock.advance(30 * MINUTE)
  sandbox.addFault({ path: '/r/', fault: '5xx', status: 503, seconds: 20 * 60 })
  await clock.advance(90 * MINUTE)
  sandbox.addFault({ path: '/r/', fault: 'login_page_200', seconds: 30 * 60 })
  await clock.advance(60 * MINUTE)
}, TEST_MS)
afterAll(() => daemon?.[Symbol.asyncDispose]())

test('coverage by day is what a count by hand gives, also after a restart within the day', async () => {
  const before = await coverage()
  await daemon.restart(20 * MINUTE)
  const after = await coverage()
  await daemon.clock.advance(100 * MINUTE)

  const { days } = await coverage()

  expect(after.days[0].gaps.slice(0, 3)).toEqual(before.days[0].gaps.slice(0, 3))
  expect(days[0]).toEqual(YESTERDAY)
  expect(days[1]).toEqual(TODAY)
})

inBrowser('the dashboard', () => {
  test.skipIf(!isLongForm)('the page of the monitor lists the same figures', async () => {
    await using stack = new AsyncDisposableStack()
    const browser = await launchIn(stack)
    const client = stack.use(await createClients(browser, daemon.url()).open())
    await client.enter(daemon.key)
    await client.open(`/monitors/${id}`, 'Coverage in 90 days')
    await client.waitForText('2026-01-01')
    const rows = await client.page.$$eval('[aria-labelledby=history] tbody tr', (found) =>
      found.map((row) => row.innerText.split(/\s*\n\s*/)),
    )

    expect(rows).toEqual([
      ['2026-01-02', '55 min 50 s', '4 min 10 s', 'Not verified by an audit or by ids.'],
      [
        '2026-01-01',
        '3 h 2 min 32 s',
        '57 min 28 s',
        'Before the monitor was created. The platform could not be read. The platform asks for a login.',
      ],
    ])
  })
})
