import { createLru } from '../core/base/lru.ts'
import { isObject } from '../core/base/object.ts'
import { fail, type Fault, type Outcome } from '../core/base/result.ts'
import { createTurns } from '../core/base/turns.ts'
import { boundedWait, WAIT_MAX_S } from '../core/base/wait.ts'
import type { ItemState, Node } from '../core/forum/items.ts'
import type { Acted } from '../core/forum/native-refusals.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import type { SourceReads } from './port.ts'
import type { SourceTrace } from './source-state.ts'
import type { IdWatch, LeftOut, Reread, Source, WatchStep } from './source.ts'
import { identityOf, wrongField } from './values.ts'

/** Counts rows that are left out. `row`: names it, so that it counts once, however often it is listed. */
export type LeftOutRows = {
  add(field: string, row: string): void
  now(): LeftOut | null
}

const LOG_EVERY_MS = 10 * 60_000
/** Rows that are remembered as counted. */
const COUNTED_MAX = 20_000

/** Counts the rows of one source that are left out, and logs them every ten minutes. `on_row`: for metrics. */
export function createLeftOut(
  source: string,
  { clock, log, on_row }: { clock: Clock; log: Log; on_row?: (source: string) => void },
): LeftOutRows {
  let rows = 0
  let logged = { rows: 0, at: -Infinity }
  let last: LeftOut | null = null
  const counted = createLru<bigint, true>(COUNTED_MAX)
  return {
    add(field, row) {
      const name = Bun.hash.wyhash(row)
      if (counted.get(name) === true) return
      counted.set(name, true)
      rows += 1
      last = { rows, field, at: clock.now() }
      on_row?.(source)
      if (clock.mono() - logged.at < LOG_EVERY_MS) return
      log('warn', 'source.rows_left_out', { source, field, count: rows - logged.rows })
      logged = { rows, at: clock.mono() }
    },
    now: () => last,
  }
}

type FenceOptions = {
  clock: Pick<Clock, 'now'>
  log: Log
  left_out: Pick<LeftOutRows, 'add'>
  commentOf: SourceReads['commentOf']
  name: string
  /** Learns the results of all reads but those with a session of a caller. */
  trace: Pick<SourceTrace, 'result'>
}

/** A wait that a source asks for, within its bound. */
const bounded = <T extends { kind: string }>(fault: T): T => {
  const stated = 'retry_after_s' in fault ? fault.retry_after_s : null
  return stated === null || stated === undefined
    ? fault
    : { ...fault, retry_after_s: boundedWait(stated) ?? WAIT_MAX_S }
}

const isNode = (value: unknown): value is Node =>
  isObject(value) && typeof value['kind'] === 'string' && isObject(value['data'])

/** Characters of the longest text of a row, by its fields. */
function lengthOf(row: unknown): number {
  if (!isObject(row)) return 0
  const { text, body, data } = row
  const long = text ?? body ?? (isObject(data) ? data['body'] : null)
  return typeof long === 'string' ? long.length : 0
}

/** True for a call with the session of a caller, which proves nothing of the source. */
const isCallers = (call: unknown): boolean =>
  isObject(call) && isObject(call['identity']) && call['identity']['whose'] === 'caller'

const isState = (value: unknown): value is ItemState => isObject(value) && 'state' in value

/**
 * The fence around every reader of every adapter. What a reader throws is an unreadable answer; a row with a value that cannot
 * be is left out and counted, and the others go on.
 */
export function createFence({ clock, log, left_out, commentOf, name, trace }: FenceOptions) {
  const turn = createTurns()

  function isSound(row: unknown): boolean {
    if (typeof row !== 'object' || row === null) return true
    if (isNode(row) && row.kind === 'more') return true
    const checked: object = isNode(row) ? commentOf(row) : row
    const wrong = wrongField(checked, clock.now())
    if (wrong !== null) left_out.add(wrong, identityOf(checked))
    return wrong === null
  }

  /** Leaves out rows in place. */
  async function keepSound(rows: unknown[]): Promise<void> {
    const kept: unknown[] = []
    for (const row of rows) {
      if (isSound(row)) kept.push(row)
      await turn(lengthOf(row))
    }
    if (kept.length < rows.length) rows.splice(0, rows.length, ...kept)
  }

  /** Leaves out nodes with all that is below them. Never recurses: the depth is set by others. */
  async function keepSoundNodes(nodes: unknown[]): Promise<void> {
    await keepSound(nodes)
    const waiting = nodes.filter(isNode)
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      const { replies } = node.data
      const children = isObject(replies) && isObject(replies['data']) && replies['data']['children']
      if (!Array.isArray(children)) continue
      await keepSound(children)
      for (const child of children) if (isNode(child)) waiting.push(child)
    }
  }

  /** Leaves out the rows of an answer that cannot be, in place. Null, or the fault of an answer that is one such row. */
  async function check(value: unknown): Promise<Fault | null> {
    if (typeof value !== 'object' || value === null) return null
    if (value instanceof Map) {
      for (const [key, it] of value)
        if (isState(it) && it.state === 'live' && !isSound(it.item)) value.delete(key)
      return null
    }
    if (Array.isArray(value)) {
      await (value.some(isNode) ? keepSoundNodes(value) : keepSound(value))
      return null
    }
    const list = 'rows' in value ? value.rows : 'items' in value ? value.items : null
    if (Array.isArray(list)) {
      await keepSound(list)
      return null
    }
    const is_tree = 'comments' in value && 'post' in value && Array.isArray(value.comments)
    if (is_tree && Array.isArray(value.comments)) await keepSoundNodes(value.comments)
    const wrong = wrongField(is_tree ? Object(value.post) : value, clock.now())
    return wrong === null ? null : { kind: 'unreadable', path: `$.${wrong}` }
  }

  function unreadable(error: unknown): { ok: false; fault: Fault } {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
    log('error', 'source.reader_failed', { source: name, error: text.slice(0, 200) })
    return fail({ kind: 'unreadable', path: '$' })
  }

  async function contained<T>(reading: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
    try {
      const outcome = await reading()
      if (!outcome.ok) return fail(bounded(outcome.fault))
      const fault = await check(outcome.value)
      return fault === null ? outcome : fail(fault)
    } catch (error) {
      return unreadable(error)
    }
  }

  /** A reader within the fence. `is_whole`: it reads the source as a whole. */
  const read =
    <Arguments extends unknown[], T>(
      reader: (...given: Arguments) => Promise<Outcome<T>>,
      is_whole = false,
    ) =>
    async (...given: Arguments): Promise<Outcome<T>> => {
      const outcome = await contained(() => reader(...given))
      if (!isCallers(given.at(-1))) trace.result(outcome.ok ? null : outcome.fault, is_whole)
      return outcome
    }

  /** An act within the fence: what it throws leaves open whether it was done. */
  const act =
    <Arguments extends unknown[], T>(acting: (...given: Arguments) => Promise<Acted<T>>) =>
    async (...given: Arguments): Promise<Acted<T>> => {
      try {
        const acted = await acting(...given)
        return acted.ok ? acted : { ok: false, fault: bounded(acted.fault) }
      } catch (error) {
        unreadable(error)
        return { ok: false, fault: { kind: 'unknown' } }
      }
    }

  return { read, act }
}

type Fence = ReturnType<typeof createFence>

const fencedWatch = (watch: IdWatch, { read }: Fence): IdWatch => ({
  ...watch,
  advance: read<Parameters<IdWatch['advance']>, WatchStep>(
    watch.advance,
    (watch.feeds?.length ?? 1) === 1,
  ),
  ...(watch.settle && { settle: read(watch.settle, true) }),
  reread: read<Parameters<IdWatch['reread']>, Reread>(watch.reread, true),
})

/** The reads of a port within a fence. */
export function fencedReads<Port extends object>(port: Port, { read }: Pick<Fence, 'read'>): Port {
  const within = { ...port }
  for (const [key, reader] of Object.entries(port))
    if (key !== 'commentOf') Reflect.set(within, key, read(reader))
  return within
}

/** A source whose readers and acts are within the fence. */
export function fenced(source: Source, options: Omit<FenceOptions, 'commentOf'>): Source {
  const fence = createFence({ ...options, commentOf: source.reads.commentOf })
  const { acts, watch, states, newestPosts } = source
  const { login, numbered, comment, vote, message } = acts
  return {
    ...source,
    reads: fencedReads(source.reads, fence),
    watch: watch && fencedWatch(watch, fence),
    ...(states && { states: fence.read(states) }),
    ...(newestPosts && { newestPosts: fence.read(newestPosts) }),
    acts: {
      ...(login && { login }),
      ...(numbered && { numbered: fence.read(numbered) }),
      ...(comment && { comment: fence.act(comment) }),
      ...(vote && { vote: fence.act(vote) }),
      ...(message && { message: fence.act(message) }),
    },
    probe: fence.read(source.probe, true),
  }
}
