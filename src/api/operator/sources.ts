import { Elysia } from 'elysia'

import { iso } from '../../core/base/time.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'
import { listSourceFeeds } from '../../store/monitoring/streams.ts'
import type { SourceInfo } from '../reads/sources.ts'

/** A source as its operator sees it. */
export type OperatedSource = SourceInfo & {
  /** Bound of all requests to it; null: the accounts of the pool have budgets of their own. */
  requests_per_minute: number | null
  /** The last fault that a caller's read met, as `blocked` or `unavailable:503`; `at`: epoch ms. */
  read_fault: { fault: string; at: number } | null
}

/** Operator route of the sources: what each can do, how far its monitors are, and its last fault. */
export function operatorSources({
  db,
  clock,
  sources,
}: {
  db: Db
  clock: Clock
  sources: () => OperatedSource[]
}) {
  return new Elysia({ name: 'operator sources', prefix: '/operator', detail: { hide: true } }).get(
    '/sources',
    () => {
      const feeds = new Map(listSourceFeeds(db).map((it) => [it.source, it]))
      return {
        sources: sources().map(({ read_fault, ...source }) => {
          const watched = feeds.get(source.name)
          const verified_until = watched?.verified_until ?? null
          const polled =
            watched?.fault == null ? null : { fault: watched.fault, at: watched.fault_at ?? 0 }
          const [last] = [read_fault, polled]
            .filter((it) => it !== null)
            .toSorted((a, b) => b.at - a.at)
          return {
            ...source,
            feeds: watched?.feeds ?? 0,
            last_check_at: iso(watched?.last_check_at ?? null),
            lag_s:
              verified_until === null
                ? null
                : Math.max(0, Math.round((clock.now() - verified_until) / 1000)),
            partial: watched?.partial ?? null,
            open_gaps: watched?.open_gaps ?? 0,
            last_fault: last === undefined ? null : { fault: last.fault, at: iso(last.at) },
          }
        }),
      }
    },
  )
}
