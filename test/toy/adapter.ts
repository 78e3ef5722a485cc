import { ok, type Outcome } from '../../src/core/base/result.ts'
import type { Community, Item, Post } from '../../src/core/forum/items.ts'
import { createHttpClient, type HttpCall } from '../../src/platforms/http.ts'
import { fromNode, makePost } from '../../src/platforms/items.ts'
import { NOT_FOUND } from '../../src/platforms/lists.ts'
import type { SourceReads } from '../../src/platforms/port.ts'
import {
  pollCall,
  readCapabilities,
  type Source,
  type SourceOptions,
  type WatchStep,
  withUnsupported,
} from '../../src/platforms/source.ts'
import { fieldsOf, idAt, numberAt, rowsOf, textAt } from '../../src/platforms/values.ts'

type Row = { id: number; post: Post }

const NOTHING = { logged_in: null, after: null }

export function createToy(options: SourceOptions): Source {
  const { base_url, clock } = options
  const client = createHttpClient(options)

  async function list(call: HttpCall): Promise<Outcome<Row[]>> {
    const answer = await client.get('/list.json', call, '$[]')
    if (!answer.ok) return answer
    const rows = rowsOf(answer.value).flatMap((row): Row[] => {
      const [id, at] = [idAt(row, 'id'), numberAt(row, 'at')]
      if (id === null || at === null) return []
      const post = makePost({
        id: String(id),
        title: textAt(row, 'title') ?? '',
        text: textAt(row, 'text') ?? '',
        author: textAt(row, 'author') ?? '',
        subforum: textAt(row, 'place') ?? '',
        url: `${base_url}/p/${id}`,
        created_ms: at,
      })
      return [{ id, post }]
    })
    return ok(rows.toSorted((a, b) => b.id - a.id))
  }

  const reads: Partial<SourceReads> = {
    async posts({ subforums, limit }, call) {
      const found = await list(call)
      if (!found.ok) return found
      const rows = found.value
        .map(({ post }) => post)
        .filter(({ subforum }) => subforums.length === 0 || subforums.includes(subforum))
      return ok({ ...NOTHING, rows: rows.slice(0, limit) })
    },
    async community(name, call) {
      const found = await list(call)
      if (!found.ok) return found
      const is_place = found.value.some(({ post }) => post.subforum === name)
      return is_place ? ok(communityOf(name)) : { ok: false, fault: NOT_FOUND }
    },
  }

  return {
    kind: 'toy',
    url: base_url,
    capabilities: new Set(readCapabilities(reads)),
    reads: withUnsupported(reads, fromNode),
    acts: {},
    authorization: null,
    place_examples: ['tea', 'bread'],
    isPlace: (place) => /^[a-z]{1,20}$/.test(place),
    targetOf: () => null,
    clock_offset_ms: client.clock_offset_ms,
    isDown: client.isDown,
    async probe(call) {
      const found = await list(pollCall(call))
      return found.ok
        ? ok({ title: 'Toy board', version: null, notes: [`${found.value.length} posts`] })
        : found
    },
    watch: {
      proof: 'keyset',
      relisted_ms: 0,
      async advance(state, call): Promise<Outcome<WatchStep>> {
        const found = await list(pollCall(call))
        if (!found.ok) return found
        const top = found.value[0]?.id ?? 0
        const before = state === null ? null : fieldsOf(JSON.parse(state))
        const first = before === null ? top + 1 : (idAt(before, 'first') ?? top + 1)
        const last = before === null ? top : (numberAt(before, 'last') ?? top)
        return ok({
          items: itemsOf(found.value.filter(({ id }) => id > last)),
          gone: [],
          state: JSON.stringify({ first, last: Math.max(top, last) }),
          proven: top < first ? null : { from_id: first, to_id: top },
          behind: null,
          skipped: [],
          unanswered: [],
          answered: [],
          verified_until: clock.now() + client.clock_offset_ms(),
          partial: null,
          requests: 1,
        })
      },
      async reread({ from_id, to_id }, call) {
        const found = await list(pollCall(call))
        if (!found.ok) return found
        const rows = found.value.filter(({ id }) => id >= from_id && id <= to_id)
        return ok({ items: itemsOf(rows), unanswered: [], behind: null, requests: 1 })
      },
    },
  }
}

const itemsOf = (rows: readonly Row[]): Item[] =>
  rows.map(({ post }): Item => ({ ...post, kind: 'post' })).toReversed()

const communityOf = (name: string): Community => ({
  id: name,
  name,
  display_name_prefixed: null,
  title: null,
  description: null,
  subscribers: null,
  active_users: null,
  created: null,
  created_utc: null,
  type: 'public',
  over_18: null,
  quarantined: null,
  url: null,
  icon_url: null,
  banner_url: null,
  language: null,
})
