import { type Automaton, createAutomaton } from './automaton.ts'
import { type Listener, plainProbe, type Probe } from './filter-match.ts'
import type { Needs } from './filter-needs.ts'
import {
  foldsAccents,
  keepsCase,
  SEARCH_FIELDS,
  type SearchField,
  textOf,
  type View,
  type Word,
} from './filter-text.ts'
import type { Item } from './items.ts'

/** Which words are listened for, and who waits for them. Waiters are small whole numbers. */
export type Index = {
  add(needs: Needs, waiter: number): void
  remove(needs: Needs, waiter: number): void
  /** Looks for all words in an item, and tells who waited for one of them, some more than once. */
  listen(item: Item, found: (waiter: number) => void): void
  /** The probe of a word that is listened for: after {@link listen} it knows whether it need be looked for at all. */
  probeOf(word: Word): Probe
  /** How many words are listened for. */
  words(): number
}

/** A word that is listened for. `users`: how many needs name it; who of them waits for it (-1: nobody), and who else. */
type Ear = Probe & { users: number; waiter: number; others: number[] | null }

/**
 * The words of the views that treat case alike, and how many needs want each of the fields looked at, and how many of
 * those without accents. A word is heard in either view: where it was heard in the wrong one, looking for it tells.
 */
type Book = {
  case_view: 0 | 2
  words: Automaton
  anywhere: Automaton
  wanted: Map<SearchField, number>
  folding: number
}

const ITEMS_MAX = 0xffff_fffe

/** An index that nobody waits in yet. */
export function createIndex(): Index {
  // From 1: 0 is nobody.
  const ears: (Ear | undefined)[] = [undefined]
  const free: number[] = []
  const books = new Map<Book['case_view'], Book>()
  const listener: Listener = { item: 0, heard_in: new Uint32Array(64) }

  function bookOf(view: View): Book {
    const case_view = keepsCase(view) ? 2 : 0
    let book = books.get(case_view)
    if (book === undefined) {
      const [words, anywhere] = [createAutomaton('word'), createAutomaton('anywhere')]
      books.set(case_view, (book = { case_view, words, anywhere, wanted: new Map(), folding: 0 }))
    }
    return book
  }

  const automatonOf = ({ left, view }: Word): Automaton =>
    left ? bookOf(view).words : bookOf(view).anywhere

  const earOf = (word: Word): Ear | undefined =>
    ears[automatonOf(word).find(word.text, !word.right)]

  function want({ fields, words }: Needs, by: 1 | -1): void {
    const [word] = words
    if (word === undefined) return
    const book = bookOf(word.view)
    const { wanted } = book
    if (foldsAccents(word.view)) book.folding += by
    for (const field of fields) {
      const count = (wanted.get(field) ?? 0) + by
      if (count > 0) wanted.set(field, count)
      else wanted.delete(field)
    }
  }

  function enter(word: Word): Ear {
    const known = earOf(word)
    if (known !== undefined) return known
    const at = free.pop() ?? ears.length
    const ear = { ...word, number: at, listener, users: 0, waiter: -1, others: null }
    ears[at] = ear
    if (at >= listener.heard_in.length) {
      const longer = new Uint32Array(at * 2)
      longer.set(listener.heard_in)
      listener.heard_in = longer
    }
    listener.heard_in[at] = 0
    automatonOf(word).add(word.text, !word.right, at)
    return ear
  }

  function leave(word: Word): void {
    const automaton = automatonOf(word)
    const at = automaton.find(word.text, !word.right)
    const ear = ears[at]
    if (ear === undefined || --ear.users > 0) return
    ears[at] = undefined
    free.push(at)
    automaton.remove(word.text, !word.right)
  }

  return {
    add(needs, waiter) {
      want(needs, 1)
      for (const word of needs.words) enter(word).users++
      for (const word of needs.one_of ?? []) wait(enter(word), waiter)
    },

    remove(needs, waiter) {
      want(needs, -1)
      for (const word of needs.one_of ?? []) stopWaiting(enter(word), waiter)
      for (const word of needs.words) leave(word)
    },

    listen(item, found) {
      const { heard_in } = listener
      // After four thousand million items the marks of the first ones would be taken for new.
      if (++listener.item > ITEMS_MAX) {
        heard_in.fill(0)
        listener.item = 1
      }
      const now = listener.item
      heard_in[0] = now
      const hear = (at: number): void => {
        if (heard_in[at] === now) return
        heard_in[at] = now
        const ear = ears[at]
        if (ear === undefined || ear.waiter === -1) return
        found(ear.waiter)
        if (ear.others !== null) for (const it of ear.others) found(it)
      }
      for (const { case_view, words, anywhere, wanted, folding } of books.values())
        for (const field of SEARCH_FIELDS) {
          if (!wanted.has(field)) continue
          const text = textOf(item, field, case_view)
          words.scan(text, hear)
          anywhere.scan(text, hear)
          if (folding === 0) continue
          const folded = textOf(item, field, case_view === 0 ? 1 : 3)
          if (folded === text) continue
          words.scan(folded, hear)
          anywhere.scan(folded, hear)
        }
    },

    probeOf(word) {
      const ear = earOf(word)
      if (ear === undefined) return plainProbe(word)
      return ear.view === word.view ? ear : { ...word, number: ear.number, listener }
    },
    words: () => ears.length - 1 - free.length,
  }
}

// Most words have one monitor that waits for them, and need no list.
function wait(ear: Ear, waiter: number): void {
  if (ear.waiter === -1) ear.waiter = waiter
  else if (ear.others === null) ear.others = [waiter]
  else ear.others.push(waiter)
}

function stopWaiting(ear: Ear, waiter: number): void {
  if (ear.waiter === waiter) ear.waiter = ear.others?.pop() ?? -1
  else if (ear.others !== null) ear.others = ear.others.filter((it) => it !== waiter)
  if (ear.others?.length === 0) ear.others = null
}
