import { createSender } from '../../../src/delivery/sender.ts'
import { findBreaches } from '../../support/invariants.ts'
import { type MonitorFixture, START } from './fixture.ts'

export type Sent = { at: number; id: string; webhook_id: string; body: any; accepted: boolean }

/** Outcome of one attempt; `killed`: the process dies after the receiver has read it. */
export type Fate = 'accepted' | 'refused' | 'killed'

/**
 * Runs monitoring and its sender on the clock of the fixture, from one due instant to the next. A kill closes the
 * database at once and starts both again.
 */
export function startSending(fixture: MonitorFixture, fateOf: () => Fate = () => 'accepted') {
  const sent: Sent[] = []
  const { clock } = fixture
  let is_dying = false
  let run_count = 0

  function open() {
    // No power is cut here, and a simulated day has hundreds of commits.
    fixture.db.run('PRAGMA synchronous = OFF')
    return createSender({
      db: fixture.db,
      run_id: `send_${++run_count}`,
      send: async ({ webhook_id }, { id, body }) => {
        const fate = fateOf()
        const started_at = clock.now()
        sent.push({
          at: started_at,
          id,
          webhook_id,
          body: JSON.parse(new TextDecoder().decode(body)),
          accepted: fate === 'accepted',
        })
        if (fate === 'killed') {
          is_dying = true
          return new Promise<never>(() => {})
        }
        const status = fate === 'accepted' ? 200 : 503
        const attempt = { status, accepted: status === 200, retry_after_s: null }
        return {
          attempt: { kind: 'answered', ...attempt },
          started_at,
          ended_at: started_at,
          duration_ms: 0,
          excerpt: null,
        }
      },
      clock,
      random: { uuid: () => '', fraction: () => 0.5, bytes: (size) => new Uint8Array(size) },
      log: () => {},
      retry_schedule: { retry_delays_s: [0, 60, 600, 1800, 3600, 7200], jitter: 0 },
      concurrency: 64,
      per_target_concurrency: 4,
      pause_after_ms: Infinity,
      nudge: () => {},
    })
  }
  let sender = open()

  function kill() {
    is_dying = false
    fixture.reboot()
    sender = open()
  }

  return {
    sent,
    kill,
    /** Runs until an instant. `turn` runs beside them, and returns its next instant. */
    async until(end: number, turn: () => number = () => Infinity) {
      for (;;) {
        await fixture.monitoring.checkDue()
        await fixture.monitoring.idle()
        const turn_at = turn()
        await sender.turn()
        // Outcomes of one iteration of the event loop share a commit.
        for (let i = 0; i < 3; i++) await new Promise((resolve) => void setImmediate(resolve))
        if (is_dying) {
          kill()
          continue
        }
        const now = clock.now()
        const next = Math.min(turn_at, nextDue(fixture))
        if (next > end) return fixture.pass(Math.max(0, end - now))
        fixture.pass(Math.max(1, next - now))
      }
    },
  }
}

/** The next instant at which a row is due. The loops also look once a minute, which a simulated day cannot afford. */
const nextDue = ({ one }: MonitorFixture): number =>
  one<{ at: number | null }>(
    `SELECT min(at) AS at FROM (SELECT min(next_attempt_at) AS at FROM deliveries UNION ALL
       SELECT min(close_at) FROM bundles UNION ALL SELECT min(next_check_at) FROM feeds)`,
  )?.at ?? Infinity

export const breachesOf = (fixture: MonitorFixture) =>
  findBreaches(fixture.db, {
    now: fixture.clock.now(),
    since_at: START,
    instance_id: 'instance',
  })
