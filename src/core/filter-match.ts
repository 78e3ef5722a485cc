import type { Query } from './filter-query.ts'
import { compileTerm, normalise, type SearchField, textOf } from './filter-text.ts'
import type { Item } from './items.ts'

/** Compiles a query into its question of one item; terms without a field are looked for in `search_in`. */
export function compileQuery(query: Query, search_in: SearchField[]): (item: Item) => boolean {
  switch (query.kind) {
    case 'term': {
      const occurs = compileTerm(normalise(query.written), query.prefix)
      const fields = query.field === null ? search_in : [query.field]
      return (item) => fields.some((field) => occurs(textOf(item, field)))
    }
    case 'not': {
      const test = compileQuery(query.part, search_in)
      return (item) => !test(item)
    }
    case 'and': {
      const tests = query.parts.map((it) => compileQuery(it, search_in))
      return (item) => tests.every((test) => test(item))
    }
    case 'or': {
      const tests = query.parts.map((it) => compileQuery(it, search_in))
      return (item) => tests.some((test) => test(item))
    }
  }
}
