import { type Automaton, createAutomaton } from './automaton.ts'
import type { Hearing, Listener } from './filter-match.ts'
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
import { withRoom } from './room.ts'

/**
 * Which words are listened for, and who waits for them. Waiters are small whole numbers. Nothing is ever taken out: who has
 * gone is told all the same, and it is made anew once that is most of them.
 */
export type Index = {
  add(needs: Needs, waiter: number): void
  /** Looks for all words in an item, and tells who waited for one of them, some more than once. */
  listen(item: Item, found: (waiter: number) => void): void
  /** For the questions of who waits: after {@link listen} they know which of their words need be looked for at all. */
  hearing: Hearing
  /** How many words are listened for. */
  words(): number
}

/**
 * The words of the views that treat case alike, which fields are looked at for them, and whether also without accents. A
 * word is heard in either view: where it was heard in the wrong one, looking for it tells.
 */
type Book = {
  case_view: 0 | 2
  words: Automaton
  /** Few look for what may begin within a word. */
  anywhere: Automaton | null
  wanted: Set<SearchField>
  folding: boolean
}

const ITEMS_MAX = 0xffff_fffe

/** An index that nobody waits in yet. */
export function createIndex(): Index {
  // Words are numbers from 1; 0 is none. What is known of each stands in rows: a million objects would be a burden.
  let made = 0
  const listener: Listener = { item: 0, heard_in: new Uint32Array(64) }
  /** Who waits for it (-1: nobody); most words have one monitor that does, and need no list of others. */
  let waiters = new Int32Array(64)
  const others = new Map<number, number[]>()
  const books = new Map<Book['case_view'], Book>()

  function bookOf(view: View): Book {
    const case_view = keepsCase(view) ? 2 : 0
    let book = books.get(case_view)
    if (book === undefined) {
      const words = createAutomaton('word')
      book = { case_view, words, anywhere: null, wanted: new Set(), folding: false }
      books.set(case_view, book)
    }
    return book
  }

  function automatonOf({ left, view }: Word): Automaton {
    const book = bookOf(view)
    return left ? book.words : (book.anywhere ??= createAutomaton('anywhere'))
  }

  const numberOf = (word: Word): number => automatonOf(word).find(word.text, !word.right)

  function want({ fields, words }: Needs): void {
    const [word] = words
    if (word === undefined) return
    const book = bookOf(word.view)
    book.folding ||= foldsAccents(word.view)
    for (const field of fields) book.wanted.add(field)
  }

  /** Room for a word of this number. */
  function makeRoom(number: number): void {
    if (number < waiters.length) return
    const length = withRoom(number + 1)
    // What was heard before is for no question that comes after.
    listener.heard_in = new Uint32Array(length)
    const longer = new Int32Array(length)
    longer.set(waiters)
    waiters = longer
  }

  function enter(word: Word): void {
    if (numberOf(word) !== 0) return
    makeRoom(++made)
    waiters[made] = -1
    automatonOf(word).add(word.text, !word.right, made)
  }

  function wait(number: number, waiter: number): void {
    if (waiters[number] === -1) waiters[number] = waiter
    else {
      const list = others.get(number)
      if (list === undefined) others.set(number, [waiter])
      else list.push(waiter)
    }
  }

  return {
    add(needs, waiter) {
      want(needs)
      for (const word of needs.words) enter(word)
      for (const word of needs.one_of ?? []) wait(numberOf(word), waiter)
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
      const hear = (number: number): void => {
        if (heard_in[number] === now) return
        heard_in[number] = now
        const waiter = waiters[number] ?? -1
        if (waiter === -1) return
        found(waiter)
        if (others.size > 0) others.get(number)?.forEach(found)
      }
      for (const { case_view, words, anywhere, wanted, folding } of books.values())
        for (const field of SEARCH_FIELDS) {
          if (!wanted.has(field)) continue
          const text = textOf(item, field, case_view)
          words.scan(text, hear)
          anywhere?.scan(text, hear)
          if (!folding) continue
          const folded = textOf(item, field, case_view === 0 ? 1 : 3)
          if (folded === text) continue
          words.scan(folded, hear)
          anywhere?.scan(folded, hear)
        }
    },

    hearing: { listener, numberOf },
    words: () => made,
  }
}
