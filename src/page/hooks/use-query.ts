import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { autoRetryDelay, cachedResponse, callApi, type Failure } from '../lib/api.ts'
import { now, runAfter, runEvery } from '../lib/runtime.ts'

export type QueryState<T> = {
  /** The latest response; a failure keeps the previous one. */
  value: T | undefined
  failure: Failure | null
  again: () => void
}

/**
 * Queries an API path while the component is mounted. null: no query. `every_ms` repeats the query; 0: never. A cached
 * response younger than `fresh_ms` is used without a request.
 */
export function useQuery<T>(
  path: string | null,
  { every_ms = 0, fresh_ms = 0 }: { every_ms?: number; fresh_ms?: number } = {},
): QueryState<T> {
  const [state, setState] = useState<{
    path: string | null
    value: T | undefined
    failure: Failure | null
  }>({ path: null, value: undefined, failure: null })
  const sequence = useRef(0)
  const cancelRetry = useRef(() => {})

  const again = useCallback(async () => {
    if (path === null) return
    const mine = ++sequence.current
    const answer = await callApi<T>(path)
    // Discards the response of a superseded query.
    if (mine !== sequence.current) return
    if (answer.ok) {
      setState({ path, value: answer.value, failure: null })
      return
    }
    setState({ path, value: undefined, failure: answer.failure })
    cancelRetry.current()
    const wait_ms = autoRetryDelay(answer.failure)
    if (wait_ms !== null) cancelRetry.current = runAfter(wait_ms, () => void again())
  }, [path])

  useEffect(() => {
    const last = path === null ? undefined : cachedResponse(path)
    if (last === undefined || now() - last.fetched_at >= fresh_ms) void again()
    const stop = every_ms > 0 ? runEvery(every_ms, () => void again()) : () => {}
    return () => {
      sequence.current += 1
      cancelRetry.current()
      stop()
    }
  }, [again, every_ms, fresh_ms, path])

  const current = state.path === path
  const last = path === null ? undefined : cachedResponse(path)?.json
  const cachedValue = useMemo(
    (): T | undefined => (last === undefined ? undefined : JSON.parse(last)),
    [last],
  )
  return {
    value: (current ? state.value : undefined) ?? cachedValue,
    failure: current ? state.failure : null,
    again: () => void again(),
  }
}

/** The value after it has been unchanged for `ms`. */
export function useDebounced<T>(value: T, ms: number): T {
  const [current, setCurrent] = useState(value)
  useEffect(() => runAfter(ms, () => setCurrent(() => value)), [value, ms])
  return current
}

/** The latest defined value, so that the page keeps its content while the next one loads. */
export function useLast<T>(value: T | undefined): T | undefined {
  const last = useRef(value)
  if (value !== undefined) last.current = value
  return last.current
}

type Paged = { next_cursor: string | null }

type Pages<P> = {
  /** The loaded pages, newest first. */
  pages: readonly P[]
  /** The first page is loading. */
  first: boolean
  failure: Failure | null
  again: () => void
  /** More pages exist; `busy` while one loads, `older` requests it. */
  more: boolean
  busy: boolean
  older: () => void
}

/** A paginated list of the API, newest first. */
export function usePaged<P extends Paged>(
  path: string,
  { every_ms = 0 }: { every_ms?: number } = {},
): Pages<P> {
  const [older, setOlder] = useState<P[]>([])
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  // Refreshing the first page would leave a gap before the older pages.
  const newest = useQuery<P>(path, { every_ms: older.length > 0 ? 0 : every_ms })
  useEffect(() => {
    setOlder([])
    setFailure(null)
  }, [path])
  const pages = newest.value ? [newest.value, ...older] : []
  const next = pages.at(-1)?.next_cursor ?? null
  async function load() {
    if (next === null) return
    setBusy(true)
    const answer = await callApi<P>(`${path}&cursor=${encodeURIComponent(next)}`)
    setBusy(false)
    setFailure(answer.ok ? null : answer.failure)
    if (answer.ok) setOlder([...older, answer.value])
  }
  return {
    pages,
    first: newest.value === undefined && newest.failure === null,
    failure: failure ?? newest.failure,
    // The older pages may have changed too.
    again: () => {
      setOlder([])
      newest.again()
    },
    more: next !== null,
    busy,
    older: () => void load(),
  }
}
