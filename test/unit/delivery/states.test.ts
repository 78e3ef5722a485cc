// Goal: whatever happens in whatever order, a delivery is in the state that a simple model says.
// Method: random sequences of what can happen to deliveries, against the real rows and against fifty lines that know
// nothing of SQL; after every step the two are compared. FORUMD_RUNS says how many sequences.

import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { type Attempt, judge } from '../../../src/core/ladder.ts'
import { type Db, openDb } from '../../../src/store/db.ts'
import { insertDelivery } from '../../../src/store/deliveries.ts'
import { claimDue, reclaim, recordEnded } from '../../../src/store/outbox.ts'
import { redeliver } from '../../../src/store/redeliver.ts'
import { deleteWebhook, insertWebhook, updateWebhook } from '../../../src/store/webhooks.ts'

const RUNS = Number(process.env['FORUMD_RUNS'] ?? 200)
const SEED = Number(process.env['FORUMD_SEED'] ?? Math.floor(Math.random() * 1e9))
const LADDER = { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0 }
const START = 1_767_225_600_000
const IDS = ['dlv_a', 'dlv_b', 'dlv_c']

const STEPS = ['put', 'send', 'crash', 'redeliver', 'off', 'on', 'delete', 'wait'] as const
/** So that some climb the whole ladder before something else becomes of them. */
const OFTEN = ['put', 'send', 'send', 'send', 'send', 'send', 'wait', 'wait', 'wait', 'on'] as const
const ANSWERS = [200, 302, 404, 410, 429, 500, 500, 503, 503, 'timeout', 'timeout'] as const
type Step = {
  step: (typeof STEPS)[number]
  id: string
  answer: (typeof ANSWERS)[number]
  wait_s: number
}

type Row = { status: string; attempts: number; rung: number; round: number; due: number | null }

/** What is true of deliveries to one target, as plainly as it can be said. */
function createModel() {
  const rows = new Map<string, Row>()
  let target = { there: true, active: true, paused: false }
  const fail = (row: Row) => Object.assign(row, { status: 'failed', due: null })
  const waiting = () => [...rows.values()].filter(({ status }) => status === 'pending')
  const die = (row: Row) => Object.assign(row, { status: 'dead', due: null })

  function answered(row: Row, answer: Step['answer'], now: number) {
    row.attempts++
    row.rung++
    if (typeof answer === 'number' && answer < 300) {
      row.status = 'delivered'
      row.due = null
    } else if (typeof answer === 'number' && answer >= 400 && answer < 500 && answer !== 429) {
      fail(row)
      if (answer === 410) {
        target.paused = true
        waiting().forEach(fail)
      }
    } else if (row.rung === LADDER.retry_delays_s.length) die(row)
    else row.due = now + (LADDER.retry_delays_s[row.rung] ?? 0) * 1000
  }

  return {
    rows,
    answered,
    put: (id: string, now: number) =>
      rows.has(id) || rows.set(id, { status: 'pending', attempts: 0, rung: 0, round: 1, due: now }),
    off() {
      if (target.active) waiting().forEach(fail)
      target = { ...target, active: false }
    },
    on: () => (target = { ...target, active: true }),
    remove() {
      if (target.there) waiting().forEach(fail)
      target = { ...target, there: false }
    },
    redeliver(id: string, now: number) {
      const row = rows.get(id)
      const takes = target.there && target.active && !target.paused
      if (!row || row.status === 'pending' || !takes) return
      Object.assign(row, { status: 'pending', rung: 0, round: row.round + 1, due: now })
    },
    crash(now: number) {
      for (const row of waiting()) {
        const most = now + (LADDER.retry_delays_s[row.rung] ?? 0) * 1100
        row.due = Math.min(row.due ?? most, most)
      }
    },
    takesNew: () => target.there && target.active && !target.paused,
  }
}

function opened(): Db {
  const db = openDb(':memory:', { create: true })
  db.run("INSERT INTO customers VALUES ('cus_1', 'ann', 'entry', 0, 0, 0, NULL)")
  db.run(`INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
          VALUES ('mon_1', 'cus_1', '{}', 60, 0, 0, 0)`)
  insertWebhook(db, {
    id: 'wh_1',
    customer_id: 'cus_1',
    kind: 'webhook',
    url: 'https://hooks.example.com/',
    secret: new Uint8Array(1),
    created_at: 0,
  })
  return db
}

const rowsOf = (db: Db) =>
  new Map(
    db
      .query<Row & { id: string }, []>(
        'SELECT id, status, attempts, rung, round, next_attempt_at AS due FROM deliveries',
      )
      .all()
      .map(({ id, ...row }) => [id, row]),
  )

const attemptOf = (answer: Step['answer']): Attempt =>
  answer === 'timeout'
    ? { kind: 'failed', error: 'timeout' }
    : { kind: 'answered', status: answer, accepted: answer < 300, retry_after_s: null }

/** Plays the steps on the rows and on the model, and compares them after each. */
function play(db: Db, steps: readonly Step[]) {
  const model = createModel()
  let now = START
  let boot = 1
  const free = { slots: 1, of: () => 1 }
  for (const { step, id, answer, wait_s } of steps) {
    const known = model.rows.get(id)
    switch (step) {
      case 'put':
        if (known || !model.takesNew()) break
        insertDelivery(db, {
          id,
          customer_id: 'cus_1',
          monitor_id: 'mon_1',
          webhook_id: 'wh_1',
          status: 'pending',
          body: new TextEncoder().encode('{}'),
          now,
        })
        model.put(id, now)
        break
      case 'send': {
        const claim = { boot: `boot_${boot}`, now, free, served_last: '' }
        const [delivery] = claimDue(db, claim)
        const due = [...model.rows.values()].some(({ due: at }) => at !== null && at <= now)
        expect(delivery !== undefined).toBe(due)
        const row = delivery && model.rows.get(delivery.id)
        if (!delivery || !row) break
        const verdict = judge(attemptOf(answer), delivery.rung, LADDER, 0.5)
        const ended = { started_at: now, ended_at: now, http_status: null, told: null }
        recordEnded(db, claim.boot, { delivery, verdict, ...ended }, now)
        model.answered(row, answer, now)
        break
      }
      case 'crash':
        // It dies with an attempt on its way: the same rung again.
        claimDue(db, { boot: `boot_${boot}`, now, free, served_last: '' })
        boot++
        reclaim(db, `boot_${boot}`, LADDER.retry_delays_s, now)
        model.crash(now)
        break
      case 'redeliver':
        redeliver(db, {
          customer_id: 'cus_1',
          which: { delivery_id: id },
          dry_run: false,
          rows_max: 1,
          now,
        })
        model.redeliver(id, now)
        break
      case 'off':
      case 'on': {
        if (step === 'off' && wait_s > 5) break
        const there = updateWebhook(db, 'cus_1', 'wh_1', { active: step === 'on' }) !== null
        if (there) model[step]()
        break
      }
      case 'delete':
        // Rarely, for nothing happens after it.
        if (wait_s > 0) break
        deleteWebhook(db, 'cus_1', 'wh_1', now)
        model.remove()
        break
      case 'wait':
        now += wait_s * 1000
    }
    expect(rowsOf(db)).toEqual(model.rows)
  }
}

test(`${RUNS} sequences of what can happen end as the model says (FORUMD_SEED=${SEED})`, () => {
  const step = fc.record({
    step: fc.constantFrom<Step['step']>(...STEPS, ...OFTEN),
    id: fc.constantFrom(...IDS),
    answer: fc.constantFrom(...ANSWERS),
    wait_s: fc.constantFrom(0, 5, 30, 120, 300, 780, 780, 780),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 30, maxLength: 60 }), (steps) => {
      using db = opened()
      play(db, steps)
    }),
    { numRuns: RUNS, seed: SEED },
  )
}, 3_600_000)
