// Goal: after any sequence of events, from poll to receiver response, every delivery is in the state that a simple
// model predicts. Method: random sequences against the production code over real rows and against an independent
// model, compared after every step. FORUMD_RUNS sets the number of sequences.

import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { cases } from '../../support/long-form.ts'
import { createStatesFixture } from './states-fixture.ts'
import {
  createModel,
  type Filter,
  type MonitorName,
  type Reply,
  type Row,
  type Thing,
} from './states-model.ts'

const RUNS = Number(process.env['FORUMD_RUNS'] ?? cases({ short: 30, long: 100 }))
const SEED = Number(process.env['FORUMD_SEED'] ?? Math.floor(Math.random() * 1e9))
const START = 1_767_222_000_000
const MINUTE = 60_000
const DAY = 86_400_000
const WEEK = 7 * DAY
const CEILING = 3

/** Events and their frequencies. */
const WEIGHTS = {
  poll: 3,
  send: 5,
  climb: 1,
  wait: 2,
  crash: 1,
  pause: 1,
  resume: 2,
  filter: 1,
  rename: 1,
  midnight: 1,
  day: 2,
  week: 2,
  redeliver: 2,
  test: 2,
  off: 1,
  on: 2,
  delete: 1,
}
type Kind = keyof typeof WEIGHTS
const isKind = (text: string): text is Kind => text in WEIGHTS
const STEPS = Object.entries(WEIGHTS).flatMap(([step, times]) =>
  isKind(step) ? Array.from({ length: times }, (): Kind => step) : [],
)
// 429 holds the target besides, see delivery-pacing.test.ts.
const REPLIES: Reply[] = [200, 200, 204, 302, 400, 404, 404, 410, 500, 503, 'timeout', 'timeout']
const AGES_S = [0, 0, 30, 61, 62, 120, 899, 1000, 5000]

type Step = {
  step: Kind
  reply: Reply
  wait_s: number
  which: number
  monitor: MonitorName
  filter: Filter
  found: { age_s: number; cat: boolean }[]
}

const TERMINAL = new Set(['delivered', 'failed', 'dead', 'suppressed'])
/** Number of times each case was met, so that a run that never met it does not count as proof. */
const met = new Map<string, number>()
const meet = (what: string) => met.set(what, (met.get(what) ?? 0) + 1)

/** Plays the steps on the production code and on the model, and compares them after each. */
async function play(steps: readonly Step[]) {
  using fixture = createStatesFixture({ start: START, ceiling: CEILING })
  const model = createModel(START, CEILING)
  const things: Thing[] = [{ name: 't3_1', cat: true, created: START - DAY }]
  let before = fixture.rows()

  async function turn(reply: Reply) {
    const at = fixture.now()
    model.checkPauses(at)
    const due = model.dueAt(at)
    const id = await fixture.turn(reply)
    expect(id !== null).toBe(due)
    const row = id === null ? undefined : model.rows.get(id)
    if (!row) return
    expect(row).toMatchObject({ status: 'pending' })
    expect(row.due ?? Infinity).toBeLessThanOrEqual(at)
    model.attempted(row, reply, at)
  }

  async function poll({ found }: Step) {
    for (const { age_s, cat } of found)
      things.push({
        name: `t3_${(things.length + 100).toString(36)}`,
        cat,
        created: fixture.now() + 61_000 - age_s * 1000,
      })
    const listing = things.toSorted((a, b) => a.created - b.created)
    const known_ids = new Set(model.rows.keys())
    const verified = fixture.verified()
    const at = await fixture.poll(listing)
    model.poll(listing, at, { id: fixture.idOf, verified })
    for (const [id, row] of model.rows) if (!known_ids.has(id)) meet(row.reason ?? row.status)
    // Asserted separately from the model: nothing created before its monitor's start is delivered.
    for (const name of ['listed', 'open'] as const)
      for (const thing of listing) {
        const id = fixture.idOf(name, thing.name)
        if (fixture.rows().has(id) && !known_ids.has(id))
          expect(thing.created).toBeGreaterThanOrEqual(model.monitors[name].since)
      }
  }

  async function week(reply: Reply) {
    const { since } = model.failing
    if (since === null || fixture.now() > since + WEEK - MINUTE) return
    fixture.wait(since + WEEK - MINUTE - fixture.now())
    const was_paused = model.target.paused
    await turn(reply)
    if (model.failing.since === since)
      expect(fixture.target()).toBe(was_paused ?? model.target.paused)
    fixture.wait(2 * MINUTE)
    const still = model.failing.since === since
    await turn(reply)
    if (!still || was_paused !== null || model.target.paused !== 'failing') return
    meet('paused after a week')
  }

  for (const it of steps) {
    const { step, reply, wait_s, which, monitor, filter } = it
    const again: string[] = []
    switch (step) {
      case 'poll':
        await poll(it)
        break
      case 'send':
        await turn(reply)
        break
      case 'climb':
        // Enough attempts to exhaust the retry schedule.
        for (let n = 0; n < 6; n++) {
          await turn(n % 2 === 0 ? 500 : 'timeout')
          fixture.wait(780_000)
        }
        break
      case 'wait':
        fixture.wait(wait_s * 1000)
        break
      case 'midnight':
        fixture.wait(DAY - (fixture.now() % DAY))
        break
      case 'day':
        // A day on which a delivery fails for good.
        fixture.wait(DAY)
        await turn(404)
        break
      case 'week':
        await week(reply)
        break
      case 'crash': {
        const at = fixture.now()
        model.checkPauses(at)
        const id = await fixture.crash()
        model.crash(id === null ? undefined : model.rows.get(id), at)
        break
      }
      case 'pause':
      case 'resume':
        await fixture[step](monitor)
        model.setActive(monitor, step === 'resume', fixture.now())
        break
      case 'filter':
        await fixture.filter(monitor, filter)
        model.monitors[monitor].filter = filter
        break
      case 'rename':
        await fixture.rename(monitor)
        break
      case 'redeliver': {
        const id = [...model.rows.keys()][which % Math.max(1, model.rows.size)] ?? 'dlv_none'
        if (model.rows.get(id)?.status === 'suppressed') meet('redelivered though suppressed')
        fixture.redeliver(id)
        model.redeliver(id, fixture.now())
        again.push(id)
        break
      }
      case 'test':
        if (model.target.there && model.target.paused !== null && reply === 200)
          meet(`un-paused: ${model.target.paused}`)
        await fixture.test(reply)
        model.tested(reply)
        break
      case 'off':
        fixture.deactivate()
        model.turnOff()
        break
      case 'on':
        fixture.activate()
        model.turnOn()
        break
      case 'delete':
        // Rarely, because little happens after it.
        if (which % 8 !== 0) break
        fixture.remove()
        model.remove()
    }
    const now = fixture.rows()
    expect(plain(now)).toEqual(plain(model.rows))
    expect(fixture.target()).toBe(model.target.paused)
    for (const [id, { status }] of before)
      if (TERMINAL.has(status) && !again.includes(id)) expect(now.get(id)?.status).toBe(status)
    for (const [id, { status, error }] of now)
      if (before.get(id)?.status === 'pending' && status !== 'pending')
        meet(`${status} ${error ?? ''}`)
    before = now
  }
}

/** Rows by id. Rows of one instant are due a millisecond apart, which is irrelevant here. */
const plain = (rows: ReadonlyMap<string, Row>) =>
  new Map(
    [...rows].map(([id, { status, attempts, retry_index, round, due, error, reason }]) => [
      id,
      {
        status,
        attempts,
        retry_index,
        round,
        error,
        reason,
        due: due && Math.floor(due / 1000),
      },
    ]),
  )

/** Cases that a full run must have met. */
const TO_MEET = [
  'pending',
  'delivery_ceiling',
  'stale_item',
  'dead http_500',
  'dead timeout',
  'failed http_404',
  'failed http_410',
  'failed webhook_paused',
  'failed webhook_deleted',
  'redelivered though suppressed',
  'paused after a week',
  'un-paused: gone',
  'un-paused: failing',
]

test(`${RUNS} event sequences match the model (FORUMD_SEED=${SEED})`, async () => {
  const step = fc.record({
    step: fc.constantFrom(...STEPS),
    reply: fc.constantFrom(...REPLIES),
    wait_s: fc.constantFrom(0, 5, 30, 120, 300, 780, 780, 3600),
    which: fc.nat({ max: 1000 }),
    monitor: fc.constantFrom<MonitorName>('listed', 'open'),
    filter: fc.constantFrom<Filter>('anything', 'cats'),
    found: fc.array(fc.record({ age_s: fc.constantFrom(...AGES_S), cat: fc.boolean() }), {
      maxLength: 3,
    }),
  })
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), play), {
    numRuns: RUNS,
    seed: SEED,
  })
  if (RUNS < 2000) return
  console.log(Object.fromEntries(met))
  expect(TO_MEET.filter((it) => !met.has(it))).toEqual([])
}, 7_200_000)
