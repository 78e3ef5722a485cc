// Goal: after any sequence of arrivals, changes, undoings, erasures and retention, the inbox equals a plain model of it.
// Method: random commands on a database and on maps; after each, lists, counts and states are compared.
import { expect, setDefaultTimeout, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  INBOX_STATES,
  type InboxChange,
  type InboxFilter,
  type InboxPosition,
  type InboxState,
  NO_FILTER,
  spanOf,
} from '../../../../src/core/inbox/filter.ts'
import { eraseItems } from '../../../../src/store/erasure/erase.ts'
import { changeInbox, UNDO_MS, undoInbox } from '../../../../src/store/inbox/actions.ts'
import { countFiltered, countInbox, listLabels } from '../../../../src/store/inbox/counts.ts'
import { pruneInbox } from '../../../../src/store/inbox/items.ts'
import { listInbox, listInboxMatches } from '../../../../src/store/inbox/list.ts'
import { createInboxStore } from '../../../support/inbox-fixture.ts'
import { postOf } from '../../../support/items.ts'
import { isLongForm } from '../../../support/long-form.ts'

setDefaultTimeout(120_000)

const MONITORS = ['mon_cats', 'mon_all', 'mon_bob'] as const
const AUTHORS = ['jane', 'bob', 'spam']
const PLACES = ['cats', 'dogs']
const LABELS = ['ann', 'ben']
const CUSTOMERS = { mon_cats: 'ann', mon_all: 'ann', mon_bob: 'bob' } as const
const ITEMS = 8

type ModelItem = {
  id: string
  matched_at: number
  arrival: number
  monitors: { id: string; found_at: number }[]
  author: string | null
  place: string
  state: InboxState
  starred: boolean
  label: string | null
  action: string | null
}
type Values = Pick<ModelItem, 'state' | 'starred' | 'label'>
type ModelAction = { at: number; before: Map<string, Values>; undone: boolean }

/** The inbox of one customer, as its documentation describes it. */
class Model {
  items = new Map<string, ModelItem>()
  actions = new Map<string, ModelAction>()

  list(filter: InboxFilter): ModelItem[] {
    return [...this.items.values()]
      .filter(
        (it) =>
          (filter.monitor === null || it.monitors.some(({ id }) => id === filter.monitor)) &&
          (filter.state.length === 0 || filter.state.includes(it.state)) &&
          (filter.starred === null || it.starred === filter.starred) &&
          (filter.label === null || it.label === filter.label) &&
          (filter.place === null || it.place === filter.place) &&
          (filter.author === null || it.author === filter.author) &&
          (filter.from === null || it.matched_at >= filter.from) &&
          (filter.to === null || it.matched_at < filter.to),
      )
      .toSorted((a, b) => b.matched_at - a.matched_at || b.arrival - a.arrival)
  }

  change(id: string, at: number, items: readonly ModelItem[], set: InboxChange): ModelItem[] {
    const changed = items.filter(
      (it) =>
        (set.state !== undefined && it.state !== set.state) ||
        (set.starred !== undefined && it.starred !== set.starred) ||
        (set.label !== undefined && it.label !== set.label),
    )
    if (changed.length === 0) return []
    this.note(id, at, changed)
    for (const it of changed) {
      it.state = set.state ?? it.state
      it.starred = set.starred ?? it.starred
      if (set.label !== undefined) it.label = set.label
    }
    return changed
  }

  note(id: string, at: number, items: readonly ModelItem[]) {
    const before = new Map(
      items.map(({ id: item, state, starred, label }) => [item, { state, starred, label }]),
    )
    this.actions.set(id, { at, before, undone: false })
    for (const it of items) it.action = id
  }

  undo(id: string, by: string, now: number): { restored: number; skipped: number } | string {
    const action = this.actions.get(id)
    if (action === undefined) return 'unknown'
    if (action.undone) return 'undone'
    if (now - action.at > UNDO_MS) return 'too_old'
    const mine = [...action.before.keys()].flatMap((it) => this.items.get(it) ?? [])
    const own = mine.filter((it) => it.action === id)
    action.undone = true
    this.note(by, now, own)
    for (const it of own) Object.assign(it, action.before.get(it.id))
    return { restored: own.length, skipped: action.before.size - own.length }
  }
}

const nth = fc.integer({ min: 0, max: ITEMS - 1 })
const setOf = fc
  .record(
    {
      state: fc.constantFrom(...INBOX_STATES),
      starred: fc.boolean(),
      label: fc.constantFrom(null, ...LABELS),
    },
    { requiredKeys: [] },
  )
  .filter((it) => Object.keys(it).length > 0)
const filterOf = fc.record(
  {
    monitor: fc.constantFrom(...MONITORS),
    state: fc.subarray([...INBOX_STATES], { minLength: 1 }),
    starred: fc.boolean(),
    label: fc.constantFrom(...LABELS),
    place: fc.constantFrom(...PLACES),
    author: fc.constantFrom(...AUTHORS),
    from: fc.integer({ min: 0, max: 40 }),
    to: fc.integer({ min: 0, max: 40 }),
  },
  { requiredKeys: [] },
)
const customer = fc.constantFrom('ann' as const, 'bob' as const)

const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('match' as const),
      items: fc.uniqueArray(nth, { minLength: 1, maxLength: 3 }),
      monitor: fc.constantFrom(...MONITORS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('ids' as const),
      who: customer,
      items: fc.uniqueArray(nth, { minLength: 1, maxLength: 4 }),
      set: setOf,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('filter' as const),
      who: customer,
      filter: filterOf,
      set: setOf,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('undo' as const),
      who: customer,
      back: fc.integer({ min: 0, max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('erase' as const),
      item: nth,
      reason: fc.constantFrom('author' as const, 'author_gone' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('prune' as const),
      minutes: fc.integer({ min: 0, max: 30 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      hours: fc.integer({ min: 1, max: 13 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('list' as const),
      who: customer,
      filter: filterOf,
      limit: fc.integer({ min: 1, max: 4 }),
      examined: fc.integer({ min: 1, max: 5 }),
    }),
  },
)
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never

/** An item by its number: the same author and place each time. */
const itemOf = (n: number) =>
  postOf({
    id: `k${n}`,
    name: `t3_k${n}`,
    title: `a kitten ${n}`,
    author: AUTHORS[n % AUTHORS.length] ?? '',
    subforum: PLACES[n % PLACES.length] ?? '',
  })

/** Runs commands on both, and compares them after each. */
function run(commands: readonly Command[]): void {
  using store = createInboxStore()
  const { db } = store
  const models = { ann: new Model(), bob: new Model() }
  const began = store.now()
  const ids: Record<'ann' | 'bob', string[]> = { ann: [], bob: [] }
  let made = 0
  let arrivals = 0
  const actorOf = (who: 'ann' | 'bob') => ({
    customer_id: who,
    key_id: `key_${who}1`,
    id: `act_${++made}`,
    now: store.now(),
  })
  const whole = ({ from, to, ...given }: Partial<InboxFilter>): InboxFilter => ({
    ...NO_FILTER,
    ...given,
    from: from === undefined ? null : began + (from ?? 0) * 60_000,
    to: to === undefined ? null : began + (to ?? 0) * 60_000,
  })

  const apply = (it: Command): void => {
    switch (it.kind) {
      case 'match': {
        // Once for each monitor and item, as the ledger of matches permits.
        const { items } = models[CUSTOMERS[it.monitor]]
        const fresh = it.items.filter(
          (n) => !items.get(`t3_k${n}`)?.monitors.some(({ id }) => id === it.monitor),
        )
        if (fresh.length === 0) return
        const at = store.now()
        for (const n of fresh) {
          const id = `t3_k${n}`
          const known = items.get(id)
          const found = { id: it.monitor, found_at: at }
          if (known !== undefined) known.monitors.push(found)
          else
            items.set(id, {
              id,
              matched_at: at,
              arrival: ++arrivals,
              monitors: [found],
              author: AUTHORS[n % AUTHORS.length] ?? '',
              place: PLACES[n % PLACES.length] ?? '',
              state: 'unread',
              starred: false,
              label: null,
              action: null,
            })
        }
        store.match(fresh.map(itemOf), it.monitor)
        return
      }
      case 'ids': {
        const model = models[it.who]
        const actor = actorOf(it.who)
        const names = it.items.map((n) => `t3_k${n}`)
        const known = names.flatMap((id) => model.items.get(id) ?? [])
        const expected = model.change(actor.id, actor.now, known, it.set)
        const { rows, unknown_ids } = changeInbox(db, actor, { ids: names }, it.set)
        expect(rows.map(({ item_id }) => item_id).toSorted()).toEqual(
          expected.map(({ id }) => id).toSorted(),
        )
        expect(unknown_ids.length).toBe(names.length - known.length)
        if (rows.length > 0) ids[it.who].push(actor.id)
        return
      }
      case 'filter': {
        const model = models[it.who]
        const actor = actorOf(it.who)
        const filter = whole(it.filter)
        const expected = model.change(actor.id, actor.now, model.list(filter), it.set)
        const { rows } = changeInbox(db, actor, { filter, after: null }, it.set)
        expect(rows.map(({ item_id }) => item_id)).toEqual(expected.map(({ id }) => id))
        if (rows.length > 0) ids[it.who].push(actor.id)
        return
      }
      case 'undo': {
        const actor = actorOf(it.who)
        const action = ids[it.who].at(-1 - it.back) ?? 'act_none'
        const expected = models[it.who].undo(action, actor.id, actor.now)
        expect(undoInbox(db, actor, action)).toEqual(expected as never)
        if (typeof expected !== 'string') ids[it.who].push(actor.id)
        return
      }
      case 'erase': {
        const item_id = `t3_k${it.item}`
        const deps = {
          db,
          instance_id: 'i',
          words: { community: 'subforum', home: 'forum' },
          clock_offset_ms: () => 0,
        }
        eraseItems(deps, [{ item_id, reason: it.reason }], store.now())
        for (const model of Object.values(models)) {
          const known = model.items.get(item_id)
          if (known !== undefined) known.author = null
        }
        return
      }
      case 'prune': {
        const before_at = store.now() - it.minutes * 60_000
        for (const [customer_id, { items }] of Object.entries(models)) {
          pruneInbox(db, { customer_id, before_at, limit: 100 })
          for (const [id, { monitors }] of items)
            if (monitors.every(({ found_at }) => found_at < before_at)) items.delete(id)
        }
        return
      }
      case 'wait':
        store.advance(it.hours * 3_600_000)
        return
      case 'list': {
        const filter = whole(it.filter)
        const expected = models[it.who].list(filter)
        const found: string[] = []
        let after: InboxPosition | null = null
        // Every page by a small limit and a small bound of work, to the end.
        for (let pages = 0; pages < 200; pages++) {
          const { rows, examined_to } = listInbox(db, {
            customer_id: it.who,
            filter,
            span: spanOf(filter, after),
            limit: it.limit,
            examined: it.examined,
          })
          found.push(...rows.map(({ item_id }) => item_id))
          after = rows.length === it.limit ? (rows.at(-1) ?? null) : examined_to
          if (after === null) break
        }
        expect(found).toEqual(expected.map(({ id }) => id))
        const counted = countFiltered(db, it.who, filter)
        for (const state of INBOX_STATES)
          expect(counted[state]).toBe(expected.filter((one) => one.state === state).length)
      }
    }
  }

  const compare = (who: 'ann' | 'bob'): void => {
    const expected = models[who].list(NO_FILTER)
    const span = spanOf(NO_FILTER, null)
    const { rows } = listInbox(db, {
      customer_id: who,
      filter: NO_FILTER,
      span,
      limit: 100,
      examined: 100,
    })
    const matches = Map.groupBy(
      listInboxMatches(
        db,
        rows.map(({ row }) => row),
      ),
      ({ item }) => item,
    )
    expect(
      rows.map(({ row, item_id, matched_at, state, starred, label }) => ({
        id: item_id,
        matched_at,
        state,
        starred: starred === 1,
        label,
        monitors: (matches.get(row) ?? []).map(({ monitor_id }) => monitor_id),
      })),
    ).toEqual(
      expected.map(({ id, matched_at, state, starred, label, monitors }) => ({
        id,
        matched_at,
        state,
        starred,
        label,
        monitors: monitors.map((it) => it.id),
      })),
    )
    const { complete: _, starred, ...states } = countInbox(db, who)
    for (const state of INBOX_STATES)
      expect(states[state]).toBe(expected.filter((it) => it.state === state).length)
    expect(starred).toBe(expected.filter((it) => it.starred).length)
    expect(listLabels(db, who)).toEqual(
      LABELS.flatMap((label) => {
        const items = expected.filter((it) => it.label === label).length
        return items === 0 ? [] : [{ label, items }]
      }),
    )
  }

  for (const it of commands) {
    apply(it)
    compare('ann')
    compare('bob')
  }
}

test('the inbox equals its model after any sequence of commands', () => {
  fc.assert(fc.property(fc.array(command, { minLength: 1, maxLength: 60, size: 'max' }), run), {
    numRuns: isLongForm ? 1000 : 100,
  })
})
