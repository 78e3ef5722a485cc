/**
 * All monitors of a stream as one question. The automaton finds which of their terms stand in an item, and only who
 * could match is then asked in full: what a monitor means is said once, by {@link compileFilter}, and everything here
 * may only err by asking too many.
 */
import { type Ask, compileFilter } from './filter-compile.ts'
import { createIndex } from './filter-index.ts'
import { needsOf } from './filter-needs.ts'
import type { FilterSpec } from './filter-spec.ts'
import type { Item } from './items.ts'
import { withRoom } from './room.ts'

/** Tells which of many filters an item satisfies, without asking each. */
export type Matcher = {
  /** Puts a monitor in, or another version of its spec; the version it has already costs nothing. */
  set(id: string, version: number, spec: FilterSpec): void
  remove(id: string): void
  has(id: string, version: number): boolean
  /** Monitors that match an item at first sight, and the keywords they matched it with. */
  match(item: Item): { monitor_id: string; terms: string[] }[]
  /** The monitors it knows now. */
  ids(): string[]
  /** How many words it listens for. */
  words(): number
  /** Whether most of what it listens for is for nobody any more, so that another one had better be made. */
  isWorn(): boolean
}

/** A monitor's spec is not kept: for the few that something comes close to it is asked for again. */
type Entry = { id: string; version: number; has_patterns: boolean; ask: Ask | null }

/** Filters kept compiled. Those of monitors that nothing ever comes close to are not even made. */
const COMPILED_MAX = 100_000

/** Versions that are gone, beside as many as there are monitors, before a matcher is worn. */
const GONE_MIN = 100

/** The spec that was put in for a version of a monitor; null when it can no longer be had, and nothing matches. */
export type SpecOf = (monitor_id: string, version: number) => FilterSpec | null

/** Told how long it took to ask one monitor whose patterns are its customer's own. */
export type OnPatterns = (monitor_id: string, work: () => void) => void

/** A matcher that knows no monitor yet. */
export function createMatcher(specOf: SpecOf, around: OnPatterns = (_, work) => work()): Matcher {
  /** By the number under which it waits, which nobody gets again; undefined once it is gone. */
  const entries: (Entry | undefined)[] = []
  const places = new Map<string, number>()
  const index = createIndex()
  const named = new Map<string, number[]>()
  const always = new Set<number>()
  const compiled = new Set<Entry>()
  // In which question an entry was last found, so that it is asked once.
  let asked = new Uint32Array(64)
  let question = 0

  function listen(spec: FilterSpec, slot: number): void {
    const needs = needsOf(spec)
    index.add(needs, slot)
    if (needs.one_of !== null) return
    const names = namesIn(spec)
    if (names.length === 0) always.add(slot)
    for (const name of names) {
      const slots = named.get(name)
      if (slots === undefined) named.set(name, [slot])
      else slots.push(slot)
    }
  }

  function remove(id: string): void {
    const slot = places.get(id)
    const entry = slot === undefined ? undefined : entries[slot]
    if (slot === undefined || entry === undefined) return
    compiled.delete(entry)
    entries[slot] = undefined
    places.delete(id)
  }

  function compile(entry: Entry): Ask | null {
    const spec = specOf(entry.id, entry.version)
    if (spec === null) return null
    if (compiled.size >= COMPILED_MAX) {
      for (const it of compiled) it.ask = null
      compiled.clear()
    }
    compiled.add(entry)
    return (entry.ask = compileFilter(spec, index.hearing))
  }

  function candidates(item: Item): number[] {
    const found: number[] = []
    const mark = (slot: number): void => {
      if (asked[slot] === question) return
      asked[slot] = question
      found.push(slot)
    }
    // After four thousand million questions the marks of the first ones would be taken for new.
    if (++question > 0xffff_fffe) {
      asked.fill(0)
      question = 1
    }
    index.listen(item, mark)
    if (named.size > 0) for (const name of namesOf(item)) named.get(name)?.forEach(mark)
    always.forEach(mark)
    return found
  }

  return {
    set(id, version, spec) {
      const known = places.get(id)
      if (known !== undefined && entries[known]?.version === version) return
      remove(id)
      const slot = entries.length
      entries.push({ id, version, has_patterns: spec.regex.length > 0, ask: null })
      places.set(id, slot)
      // What was asked before is not asked about again.
      if (slot >= asked.length) asked = new Uint32Array(withRoom(slot + 1))
      listen(spec, slot)
    },
    remove,
    has(id, version) {
      const slot = places.get(id)
      return slot !== undefined && entries[slot]?.version === version
    },
    match(item) {
      const matches: { monitor_id: string; terms: string[] }[] = []
      for (const slot of candidates(item)) {
        const entry = entries[slot]
        if (entry === undefined) continue
        const ask = entry.ask ?? compile(entry)
        if (ask === null) continue
        let matched: ReturnType<Ask> = null
        if (entry.has_patterns) around(entry.id, () => void (matched = ask(item)))
        else matched = ask(item)
        if (matched !== null) matches.push({ monitor_id: entry.id, ...matched })
      }
      return matches
    },
    ids: () => [...places.keys()],
    words: index.words,
    isWorn: () => entries.length > 2 * places.size + GONE_MIN,
  }
}

/** Who or what an item must name, of a spec that waits for no word. */
function namesIn({ thread, author }: FilterSpec): string[] {
  if (thread.length > 0) return thread.map((it) => `thread ${it}`)
  return author.map((it) => `author ${it.toLowerCase()}`)
}

const namesOf = (item: Item): string[] => [
  `author ${item.author.toLowerCase()}`,
  ...(item.kind === 'comment' ? [`thread ${item.post_id}`] : []),
]
