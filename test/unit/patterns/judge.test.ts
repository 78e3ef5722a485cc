import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import {
  compilePattern,
  evaluateDirectly,
  patternSetOf,
} from '../../../src/core/pattern/evaluate.ts'
import type { PatternNeed } from '../../../src/core/pattern/verdicts.ts'
import { createPatternJudge, type PatternJudge } from '../../../src/patterns/judge.ts'
import { createPatternThread, type PatternThread } from '../../../src/patterns/thread.ts'
import { type Clock, realClock } from '../../../src/runtime/runtime.ts'
import { fakeClock } from '../../support/clock.ts'
import { postOf } from '../../support/items.ts'

setDefaultTimeout(30_000)

// Five times the processor time that registration allows.
const SLOW = '(a|b)*a(a|b){160}c'
const SLOW_MS = 100
const QUICK_MS = 1
const chance = createSeededRandom(1)
const hostile = (count: number, length = 100) =>
  Array.from({ length: count }, (_, n) =>
    postOf({ id: `h${n}`, name: `t3_h${n}`, title: 'hay', text: chance.text(length, 'ab') }),
  )
const setOf = (...regex: string[]) => {
  const set = patternSetOf({ regex, case_sensitive: false, search_in: ['title', 'body', 'url'] }, 0)
  if (set === null) throw new Error('no patterns')
  return set
}
const needsOf = (subject: string, set: ReturnType<typeof setOf>, items: PatternNeed['item'][]) =>
  items.map((item) => ({ subject, set, item }))

const threads: PatternThread[] = []
afterEach(() => {
  for (const it of threads.splice(0)) it.stop()
})
function start(): PatternJudge {
  const thread = createPatternThread(realClock)
  threads.push(thread)
  return createPatternJudge(realClock, thread)
}
const check = { owner: (subject: string) => `customer of ${subject}`, kind: 'check' as const }

/**
 * A judge whose budgets see the same processor time on every machine: each slice is one item, and takes 100 ms for a
 * pattern with a repetition above 100, 1 ms for another. `ran` has the pattern of each slice. `answers` false: the thread hangs.
 */
function startMetered({
  answers = () => true,
  ...budgets
}: {
  answers?: (pattern: string) => boolean
  customer_budget?: { burst_ms: number; refill_ms_per_s: number }
} = {}) {
  const ran: string[] = []
  const thread: PatternThread = {
    async run(request) {
      const pattern = ('cost' in request ? request.cost.pattern : request.slice.patterns[0]) ?? ''
      ran.push(pattern)
      if (!answers(pattern)) return null
      const cpu_ms = /\{[12]\d\d\}/.test(pattern) ? SLOW_MS : QUICK_MS
      if ('cost' in request) return { cost_ms: cpu_ms, cpu_ms }
      const { texts, case_sensitive } = request.slice
      const matches = texts[0]?.some(compilePattern(pattern, case_sensitive)) ?? false
      return { indexes: [matches ? 0 : -1], next_pattern: 0, cpu_ms }
    },
    stop() {},
  }
  const clock = fakeClock(async () => {})
  return { ...createPatternJudge(clock, thread, budgets), clock, ran }
}

test('the thread returns the same results as this one', async () => {
  const { judge, verdicts } = start()
  const set = setOf('\\bg\\w+der\\b', '^hay$', 'x{3}')
  const items = ['a grinder', 'hay', 'xxx', 'none', ''].map((title, n) =>
    postOf({ id: `p${n}`, name: `t3_p${n}`, title }),
  )

  expect(await judge(needsOf('mon_1', set, items), check)).toEqual([])

  expect(items.map((it) => verdicts.evaluate(set, it))).toEqual([0, 1, 2, -1, -1])
  expect(items.map((it) => evaluateDirectly(set, it))).toEqual([0, 1, 2, -1, -1])
})

test('a monitor over its budget is named, and the others of the check have their verdicts', async () => {
  const { judge, verdicts, ran } = startMetered()
  const items = hostile(20)
  const slow = setOf(SLOW)
  const quick = setOf('b{12}')
  const needs = [...needsOf('mon_slow', slow, items), ...needsOf('mon_quick', quick, items)]

  expect(await judge(needs, check)).toEqual([{ subjects: ['mon_slow'], spent_ms: 4 * SLOW_MS }])

  expect(ran.filter((it) => it === SLOW)).toHaveLength(4)
  verdicts.takeNeeds()
  expect(items.map((it) => verdicts.evaluate(quick, it))).not.toContain(null)
  expect(verdicts.lacking()).toBe(false)
})

test('the budget of a monitor spans its checks, and is given back over time', async () => {
  const { judge, clock } = startMetered()
  const slow = setOf(SLOW)
  const spentOn = (count: number) => judge(needsOf('mon_1', slow, hostile(count)), check)
  expect(await spentOn(1)).toEqual([])
  expect(await spentOn(1)).toEqual([])

  expect(await spentOn(3)).toEqual([{ subjects: ['mon_1'], spent_ms: 2 * SLOW_MS }])

  await clock.advance(60_000)
  expect(await spentOn(3)).toEqual([])
})

test('a pattern whose thread hangs twice is named, and the others have their verdicts', async () => {
  const { judge, verdicts, ran } = startMetered({ answers: (pattern) => pattern !== SLOW })
  const items = hostile(3)
  const slow = setOf(SLOW)
  const quick = setOf('b{12}')
  const needs = [...needsOf('mon_hangs', slow, items), ...needsOf('mon_quick', quick, items)]

  expect(await judge(needs, check)).toMatchObject([{ subjects: ['mon_hangs'] }])

  expect(ran.filter((it) => it === SLOW)).toHaveLength(2)
  verdicts.takeNeeds()
  expect(items.map((it) => verdicts.evaluate(quick, it))).not.toContain(null)
})

test('a thread that does not answer in time is replaced', async () => {
  const hang_ms = 1234
  let is_late = true
  const clock: Clock = {
    ...realClock,
    sleep(ms, signal) {
      if (ms !== hang_ms || !is_late) return realClock.sleep(ms, signal)
      is_late = false
      return Promise.resolve()
    },
  }
  const thread = createPatternThread(clock, { hang_ms })
  threads.push(thread)
  const slice = {
    patterns: ['b'],
    case_sensitive: true,
    texts: [['ab']],
    from_pattern: 0,
    keep: true,
  }

  expect(await thread.run({ slice })).toBeNull()
  expect(await thread.run({ slice })).toMatchObject({ indexes: [0] })
})

test("one customer's expensive patterns do not delay another's cheap ones", async () => {
  const { judge, verdicts, ran } = startMetered()
  const attacks = Array.from({ length: 4 }, (_, n) =>
    judge(needsOf(`mon_${n}`, setOf(`a[ab]{${230 + n}}c`), hostile(20)), {
      owner: () => 'mallory',
      kind: 'check',
    }),
  )
  const cheap = setOf('b{12}')
  const items = hostile(20)

  await judge(needsOf('mon_ann', cheap, items), { owner: () => 'ann', kind: 'check' })

  const before = ran.slice(0, ran.lastIndexOf('b{12}'))
  expect(before.filter((it) => it !== 'b{12}')).toHaveLength(1)
  expect(items.map((it) => verdicts.evaluate(cheap, it))).not.toContain(null)
  expect((await Promise.all(attacks)).flat()).toHaveLength(4)
  expect(ran.length).toBeGreaterThan(20 + 4)
})

test('a pattern is measured on worst-case text', async () => {
  const { tooExpensive, waitOf } = start()

  expect(await tooExpensive(['\\bgrinder\\b', SLOW], false, 'ann')).toBe(SLOW)
  expect(await tooExpensive(['\\$\\d{3,}'], false, 'bob')).toBeNull()
  expect(waitOf('ann')).toBe(0)
})

test('repeated expensive patterns are rate-limited by customer', async () => {
  const { tooExpensive, waitOf, clock } = startMetered({
    customer_budget: { burst_ms: 3 * SLOW_MS, refill_ms_per_s: 1 },
  })
  const measure = (n: number) => tooExpensive([`(a|b)*a(a|b){${200 + n}}c`], false, 'ann')
  for (let n = 0; n < 2; n++) expect(await measure(n)).not.toBeNull()
  expect(waitOf('ann')).toBe(0)

  await measure(2)

  expect(waitOf('ann')).toBeGreaterThan(0)
  expect(waitOf('bob')).toBe(0)
  await clock.advance(waitOf('ann'))
  expect(waitOf('ann')).toBe(0)
})

test('the judge stops during an evaluation', async () => {
  const judge = startMetered({
    answers: () => {
      judge.stop()
      return false
    },
  })

  expect(await judge.judge(needsOf('mon_1', setOf(SLOW), hostile(20)), check)).toEqual([])
})
