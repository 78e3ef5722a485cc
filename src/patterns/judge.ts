import { createLru } from '../core/base/lru.ts'
import type { Item } from '../core/forum/items.ts'
import { PATTERN_COST_MAX_MS } from '../core/pattern/cost.ts'
import { type PatternSet, patternTextsOf } from '../core/pattern/evaluate.ts'
import { createVerdicts, type PatternNeed, type Verdicts } from '../core/pattern/verdicts.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { PatternThread } from './thread.ts'

// Customers' patterns run in one thread, a slice of some 20 ms at a time. The next slice belongs to the customer who has
// had the least of it lately, so that expensive patterns delay other customers' cheap ones by a slice at most.

/** Processor time that a monitor may use at once, and what it gets back a second: 2 % of a processor. */
const MONITOR_BUDGET: CpuBudget = { burst_ms: 300, refill_ms_per_s: 20 }
/** Processor time for the patterns of one check, however many monitors it has, and the share of each pattern set. */
const CHECK_MIN_MS = 400
const CHECK_MS_PER_TASK = 20
/** Processor time of one preview, or one item of `why`. */
const TRIAL_MS = 500
/** Processor time of a customer for previews, `why` and registrations together. */
const CUSTOMER_BUDGET: CpuBudget = { burst_ms: 5000, refill_ms_per_s: 100 }
const SLICE_CHARACTERS_MAX = 128 * 1024
/** Used processor time of a customer counts half after this long. */
const HALF_LIFE_MS = 1000
const REMEMBERED_MAX = 10_000
const MEASURED_MAX = 2000

type CpuBudget = { burst_ms: number; refill_ms_per_s: number }

/** Monitors whose patterns took too long, with the processor time that they had. */
type TooSlow = { subjects: string[]; spent_ms: number }

/** `owner`: the customer of a subject. A check is charged to its monitors, a trial to the customer. */
type JudgeOptions = { owner: (subject: string) => string; kind: 'check' | 'trial' }

export type PatternJudge = {
  verdicts: Verdicts
  /** Evaluates the needs; returns those over their budget, of which some verdicts are still unknown. */
  judge(needs: readonly PatternNeed[], options: JudgeOptions): Promise<TooSlow[]>
  /** Milliseconds until a customer may try patterns again; 0: now. */
  waitOf(owner: string): number
  /** The first of these patterns that is too expensive on text made against it; null when all can be afforded. */
  tooExpensive(
    patterns: readonly string[],
    case_sensitive: boolean,
    owner: string,
  ): Promise<string | null>
  stop(): void
}

type Task = {
  owner: string
  /** Runs one slice, or a measurement; the processor time it took. Null: the thread hung, or could not say. */
  step: (careful: boolean) => Promise<number | null>
  done: () => boolean
  spent_ms: number
  allowance_ms: number
  /** Number of times the thread hung in it. The second time it ran alone with one item, and it is at fault. */
  hung: number
  stopped: boolean
  group: { spent_ms: number; tasks: Task[] }
  settle: () => void
}

/** Makes a judge; its thread starts with the first pattern. */
export function createPatternJudge(
  clock: Clock,
  thread: PatternThread,
  { customer_budget = CUSTOMER_BUDGET } = {},
): PatternJudge {
  const verdicts = createVerdicts()
  const queue = new Set<Task>()
  const used = createLru<string, { ms: number; at: number }>(REMEMBERED_MAX)
  const monitor_budgets = createBudgets(clock, MONITOR_BUDGET)
  const customer_budgets = createBudgets(clock, customer_budget)
  const measured = createLru<string, boolean>(MEASURED_MAX)
  let pumping = false

  const usedBy = (owner: string): number => {
    const entry = used.get(owner)
    return entry === undefined ? 0 : entry.ms * 0.5 ** ((clock.mono() - entry.at) / HALF_LIFE_MS)
  }

  function charge(owner: string, ms: number): void {
    const total = usedBy(owner) + ms
    used.set(owner, { ms: total, at: clock.mono() })
  }

  function next(): Task | null {
    let best: Task | null = null
    let least = Infinity
    for (const task of queue) {
      const ms = usedBy(task.owner)
      if (ms >= least) continue
      best = task
      least = ms
    }
    return best
  }

  function end(task: Task): void {
    queue.delete(task)
    task.settle()
  }

  async function pump(): Promise<void> {
    if (pumping) return
    pumping = true
    try {
      for (let task = next(); task !== null; task = next()) await step(task)
    } finally {
      pumping = false
    }
  }

  async function step(task: Task): Promise<void> {
    const cpu_ms = await task.step(task.hung > 0)
    if (cpu_ms === null) {
      if (++task.hung > 1) task.stopped = true
    } else {
      task.spent_ms += cpu_ms
      task.group.spent_ms += cpu_ms
      charge(task.owner, cpu_ms)
      if (!task.done() && task.spent_ms > task.allowance_ms) task.stopped = true
      stopDearest(task.group)
    }
    for (const it of task.group.tasks) if (queue.has(it) && (it.stopped || it.done())) end(it)
  }

  /** A check over its budget continues without the patterns that used more than their share. */
  function stopDearest({ spent_ms, tasks }: Task['group']): void {
    if (spent_ms <= Math.max(CHECK_MIN_MS, CHECK_MS_PER_TASK * tasks.length)) return
    for (const it of tasks)
      if (queue.has(it) && !it.done() && it.spent_ms > CHECK_MS_PER_TASK) it.stopped = true
  }

  async function runTasks(tasks: readonly Task[]): Promise<void> {
    const settled = tasks.map((task) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      task.settle = resolve
      queue.add(task)
      return promise
    })
    void pump()
    await Promise.all(settled)
  }

  function taskOf(
    owner: string,
    allowance_ms: number,
    group: Task['group'],
  ): Omit<Task, 'step' | 'done'> {
    return { owner, allowance_ms, group, spent_ms: 0, hung: 0, stopped: false, settle: nothing }
  }

  /** One set of patterns over all items that need it. */
  function evaluation(
    set: PatternSet,
    items: readonly Item[],
    keep: boolean,
    base: Omit<Task, 'step' | 'done'>,
  ): Task {
    let at = 0
    let from_pattern = 0
    const textsFrom = (careful: boolean): string[][] => {
      const texts: string[][] = []
      let characters = 0
      for (const item of items.slice(at)) {
        const fields = patternTextsOf(set, item)
        characters += fields.reduce((sum, it) => sum + it.length, 0)
        texts.push(fields)
        if (careful || characters > SLICE_CHARACTERS_MAX) break
      }
      return texts
    }
    return {
      ...base,
      done: () => at >= items.length,
      async step(careful) {
        const { patterns, case_sensitive } = set
        const texts = textsFrom(careful)
        const reply = await thread.run({
          slice: { patterns, case_sensitive, texts, from_pattern, keep },
        })
        if (reply === null || !('indexes' in reply)) return null
        for (const index of reply.indexes) {
          const item = items[at++]
          if (item !== undefined) verdicts.know(set, item, index)
        }
        from_pattern = reply.next_pattern
        return reply.cpu_ms
      },
    }
  }

  return {
    verdicts,

    async judge(needs, { owner, kind }) {
      const group: Task['group'] = { spent_ms: 0, tasks: [] }
      const by_set = [...Map.groupBy(needs, ({ set }) => set.key).values()].flatMap((some) => {
        const [first] = some
        if (first === undefined) return []
        const subjects = [...new Set(some.map(({ subject }) => subject))]
        const items = [...new Set(some.map(({ item }) => item))]
        const allowance =
          kind === 'trial' ? TRIAL_MS : Math.min(...subjects.map(monitor_budgets.left))
        const base = taskOf(owner(first.subject), allowance, group)
        return [{ subjects, task: evaluation(first.set, items, kind === 'check', base) }]
      })
      group.tasks = by_set.map(({ task }) => task)
      await runTasks(group.tasks)
      if (kind === 'check')
        for (const { subjects, task } of by_set)
          for (const it of subjects) monitor_budgets.take(it, task.spent_ms)
      else for (const { task } of by_set) customer_budgets.take(task.owner, task.spent_ms)
      return by_set
        .filter(({ task }) => task.stopped)
        .map(({ subjects, task }) => ({ subjects, spent_ms: Math.round(task.spent_ms) }))
    },

    waitOf(owner) {
      const left_ms = customer_budgets.left(owner)
      return left_ms > 0 ? 0 : Math.ceil((-left_ms / customer_budget.refill_ms_per_s) * 1000) + 1000
    },

    async tooExpensive(patterns, case_sensitive, owner) {
      for (const pattern of patterns) {
        const key = `${case_sensitive ? '=' : '~'}${pattern}`
        let affordable = measured.get(key)
        if (affordable === undefined) {
          affordable = await measure(pattern, case_sensitive, owner)
          measured.set(key, affordable)
        }
        if (!affordable) return pattern
      }
      return null
    },

    stop() {
      thread.stop()
      for (const task of queue) end(task)
    },
  }

  async function measure(
    pattern: string,
    case_sensitive: boolean,
    owner: string,
  ): Promise<boolean> {
    let cost_ms: number | null = null
    const task: Task = {
      ...taskOf(owner, Infinity, { spent_ms: 0, tasks: [] }),
      done: () => cost_ms !== null,
      async step() {
        const reply = await thread.run({ cost: { pattern, case_sensitive } })
        if (reply === null || !('cost_ms' in reply)) return null
        cost_ms = reply.cost_ms
        return reply.cpu_ms
      },
    }
    task.group.tasks.push(task)
    await runTasks([task])
    customer_budgets.take(owner, task.spent_ms)
    return (cost_ms ?? Infinity) <= PATTERN_COST_MAX_MS
  }
}

/** Processor time available to each of many subjects, refilled over time. Time used beyond it is owed. */
function createBudgets(clock: Clock, { burst_ms, refill_ms_per_s }: CpuBudget) {
  const buckets = createLru<string, { ms: number; at: number }>(REMEMBERED_MAX)
  const left = (id: string): number => {
    const bucket = buckets.get(id)
    if (bucket === undefined) return burst_ms
    const refilled = bucket.ms + ((clock.mono() - bucket.at) / 1000) * refill_ms_per_s
    return Math.min(burst_ms, refilled)
  }
  return {
    left,
    take(id: string, ms: number): void {
      buckets.set(id, { ms: left(id) - ms, at: clock.mono() })
    },
  }
}

function nothing(): void {}
