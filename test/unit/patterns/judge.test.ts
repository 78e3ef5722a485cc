import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { evaluateDirectly, patternSetOf } from '../../../src/core/pattern/evaluate.ts'
import type { PatternNeed } from '../../../src/core/pattern/verdicts.ts'
import { createPatternJudge, type PatternJudge } from '../../../src/patterns/judge.ts'
import { createPatternThread } from '../../../src/patterns/thread.ts'
import { realClock } from '../../../src/runtime/runtime.ts'
import { postOf } from '../../support/items.ts'

setDefaultTimeout(30_000)

// 100 ms of 10,000 characters of a and b: registration refuses it, and an older database may hold it.
const SLOW = 'a[ab]{240}c'
const chance = createSeededRandom(1)
const hostile = (count: number, length = 9900) =>
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

const judges: PatternJudge[] = []
afterEach(() => {
  for (const it of judges.splice(0)) it.stop()
})
function start(options = {}, budgets = {}): PatternJudge {
  const judge = createPatternJudge(realClock, createPatternThread(realClock, options), budgets)
  judges.push(judge)
  return judge
}
const check = { owner: (subject: string) => `customer of ${subject}`, kind: 'check' as const }

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
  const { judge, verdicts } = start()
  const items = hostile(20)
  const slow = setOf(SLOW)
  const quick = setOf('b{12}')
  const needs = [...needsOf('mon_slow', slow, items), ...needsOf('mon_quick', quick, items)]

  const [stopped, ...rest] = await judge(needs, check)

  expect(rest).toEqual([])
  expect(stopped?.subjects).toEqual(['mon_slow'])
  // 20 posts would take two seconds.
  expect(stopped?.spent_ms).toBeLessThan(700)
  verdicts.takeNeeds()
  expect(items.map((it) => verdicts.evaluate(quick, it))).not.toContain(null)
  expect(verdicts.lacking()).toBe(false)
})

test('the budget of a monitor spans its checks', async () => {
  const { judge } = start()
  const slow = setOf(SLOW)
  expect(await judge(needsOf('mon_1', slow, hostile(1)), check)).toEqual([])
  expect(await judge(needsOf('mon_1', slow, hostile(1)), check)).toEqual([])

  const [stopped] = await judge(needsOf('mon_1', slow, hostile(3)), check)

  expect(stopped?.subjects).toEqual(['mon_1'])
  expect(stopped?.spent_ms).toBeLessThan(300)
})

test('a thread that hangs is replaced, its batch evaluated again, and the pattern at fault named', async () => {
  const { judge, verdicts } = start({ hang_ms: 60 })
  const items = hostile(3)
  const slow = setOf(SLOW)
  const quick = setOf('b{12}')
  const needs = [...needsOf('mon_hangs', slow, items), ...needsOf('mon_quick', quick, items)]

  expect(await judge(needs, check)).toMatchObject([{ subjects: ['mon_hangs'] }])

  verdicts.takeNeeds()
  expect(items.map((it) => verdicts.evaluate(quick, it))).not.toContain(null)
})

test("one customer's expensive patterns do not delay another's cheap ones", async () => {
  const { judge, verdicts } = start()
  await judge(needsOf('mon_warm', setOf('x'), hostile(1, 10)), check)
  const attacks = Array.from({ length: 4 }, (_, n) =>
    judge(needsOf(`mon_${n}`, setOf(`a[ab]{${230 + n}}c`), hostile(20)), {
      owner: () => 'mallory',
      kind: 'check',
    }),
  )
  await Bun.sleep(50)
  const cheap = setOf('b{12}')
  const items = hostile(20)
  const began = performance.now()

  await judge(needsOf('mon_ann', cheap, items), { owner: () => 'ann', kind: 'check' })

  // One unit of another's work, some 100 ms, may be under way; all of it takes over a second.
  expect(performance.now() - began).toBeLessThan(1000)
  expect(items.map((it) => verdicts.evaluate(cheap, it))).not.toContain(null)
  expect((await Promise.all(attacks)).flat()).toHaveLength(4)
})

test('a pattern is measured on worst-case text', async () => {
  const { tooExpensive, waitOf } = start()

  expect(await tooExpensive(['\\bgrinder\\b', SLOW], false, 'ann')).toBe(SLOW)
  expect(await tooExpensive(['e.{200}§'], true, 'ann')).toBe('e.{200}§')
  expect(await tooExpensive(['grinder.{0,40}broken', '\\$\\d{3,}'], false, 'bob')).toBeNull()
  expect(waitOf('ann')).toBe(0)
})

test('repeated expensive patterns are rate-limited by customer', async () => {
  const { tooExpensive, waitOf } = start(
    {},
    { customer_budget: { burst_ms: 300, refill_ms_per_s: 1 } },
  )
  for (let n = 0; n < 20 && waitOf('ann') === 0; n++)
    await tooExpensive([`(a|b)*a(a|b){${150 + n}}c`], false, 'ann')

  expect(waitOf('ann')).toBeGreaterThan(0)
  expect(waitOf('bob')).toBe(0)
})

test('the judge stops during an evaluation', async () => {
  const judge = start()
  const under_way = judge.judge(needsOf('mon_1', setOf(SLOW), hostile(20)), check)
  await Bun.sleep(20)

  judge.stop()

  expect(await under_way).toEqual([])
})
