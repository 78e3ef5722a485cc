import { expect, test } from 'bun:test'

import type { RunningDaemon } from '../../../../src/cli/command.ts'
import { reload, watchExternalChanges } from '../../../../src/cli/serve/serve.ts'
import { reportStatus } from '../../../../src/cli/serve/systemd.ts'
import { ConfigError, parseConfig } from '../../../../src/config/load.ts'

const config = parseConfig(
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n',
)

function logged() {
  const lines: string[] = []
  return {
    lines,
    log: (level: string, event: string, fields: object = {}) =>
      void lines.push([level, event, ...Object.values(fields)].join(' ')),
  }
}

test('a reload logs warnings, applied keys, and keys that need a restart', () => {
  const { lines, log } = logged()
  const daemon: Pick<RunningDaemon, 'reconfigure' | 'noteRefusedReload'> = {
    noteRefusedReload: () => expect.unreachable(),
    reconfigure: () => [
      { key: 'limits.key_rate', live: true },
      { key: 'server.port', live: false },
    ],
  }

  reload(daemon, () => ({ config, warnings: ['mind this'] }), log)

  expect(lines).toEqual([
    'warn config.warning mind this',
    'info config.changed limits.key_rate',
    'warn config.needs_restart server.port restart forumd to use it',
    'info config.reloaded 2',
  ])
})

test.each([
  [
    'its problems',
    new ConfigError('f.toml', [
      { line: 1, column: 2, key: 'a', found: 'x', allowed: 'y' },
      { line: 3, column: 4, key: 'b', found: 'x', allowed: 'y' },
    ]),
    ['error config.refused f.toml:1:2: a: x; y', 'error config.refused f.toml:3:4: b: x; y'],
  ],
  [
    'that it cannot be read',
    new Error('it cannot be read'),
    ['error config.refused it cannot be read'],
  ],
])('an unusable configuration never reaches the daemon; %s is reported', (_, error, message) => {
  const { lines, log } = logged()
  let refused = 0
  const daemon = {
    reconfigure: () => expect.unreachable(),
    noteRefusedReload: () => void (refused += 1),
  }

  reload(
    daemon,
    () => {
      throw error
    },
    log,
  )

  expect(refused).toBe(1)
  expect(lines).toEqual(message)
})

/** A manager and a daemon of the test's own; each sleep is a step, and the last one ends it. */
async function runWatchdog(
  steps: ((daemon: { stuck: string | null; standing: string }) => void)[],
  watchdog_ms: number | null = 900,
) {
  const notifications: string[] = []
  const slept: number[] = []
  const { lines, log } = logged()
  const state: { stuck: string | null; standing: string } = { stuck: null, standing: 'well' }
  const ended = new AbortController()
  await reportStatus(
    {
      notify: (...it) => void notifications.push(it.join(' ')),
      since: () => '',
      watchdog_ms,
      listens: true,
    },
    {
      stuck: (slack_ms) => {
        expect(slack_ms).toBe((watchdog_ms ?? 0) * 8)
        return state.stuck === null ? null : { loop: state.stuck, what: 'turn', late_ms: 5 }
      },
      statusLine: () => {
        if (state.standing === 'broken') throw new Error('disk I/O error')
        return state.standing
      },
    },
    {
      sleep: (ms) => {
        slept.push(ms)
        const step = steps.shift()
        if (step) step(state)
        else ended.abort()
        return Promise.resolve()
      },
      log,
      signal: ended.signal,
    },
  )
  return { notifications, slept, lines }
}

const nothing = () => {}

test('the watchdog is fed three times per interval, and a changed status is sent', async () => {
  const { notifications, slept } = await runWatchdog([nothing, (it) => (it.standing = 'busy')])

  expect(notifications).toEqual([
    'WATCHDOG=1',
    'STATUS=well',
    'WATCHDOG=1',
    'WATCHDOG=1',
    'STATUS=busy',
  ])
  expect(new Set(slept)).toEqual(new Set([300]))
})

test('a stuck loop stops the watchdog and is logged once; the watchdog continues when the loop does', async () => {
  const { notifications, lines } = await runWatchdog([
    (it) => (it.stuck = 'sender'),
    nothing,
    (it) => (it.stuck = null),
    (it) => (it.stuck = 'monitor'),
  ])

  expect(notifications).toEqual([
    'WATCHDOG=1',
    'STATUS=well',
    'STATUS=the sender loop is stuck',
    'WATCHDOG=1',
    'STATUS=well',
    'STATUS=the monitor loop is stuck',
  ])
  expect(lines).toEqual(['error serve.stuck sender turn 5', 'error serve.stuck monitor turn 5'])
})

test('without a watchdog only the status is sent, at most every ten seconds', async () => {
  const { notifications, slept } = await runWatchdog([(it) => (it.stuck = 'sender')], null)

  expect(notifications).toEqual(['STATUS=well'])
  expect(new Set(slept)).toEqual(new Set([10_000]))
})

test('a failing database is reported as a status', async () => {
  const { notifications } = await runWatchdog([(it) => (it.standing = 'broken')])

  expect(notifications.at(-1)).toBe('STATUS=the database does not answer')
})

test('external writes are checked every second, also after a failed check', async () => {
  const slept: number[] = []
  const ended = new AbortController()
  let checks = 0

  await watchExternalChanges(
    {
      noticeExternalWrites: () => {
        checks += 1
        if (checks === 2) throw new Error('disk I/O error')
      },
    },
    {
      sleep: (ms) => {
        slept.push(ms)
        if (slept.length === 3) ended.abort()
        return Promise.resolve()
      },
      signal: ended.signal,
    },
  )

  expect(checks).toBe(3)
  expect(slept).toEqual([1000, 1000, 1000])
})
