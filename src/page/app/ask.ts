import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { ask, type Failure, lastAnswer, patience } from './api.ts'
import { after, every, now } from './outside.ts'

/** What was asked for: there, on its way, or not to be had. */
export type Asked<T> = {
  /** The newest answer there was; what a failure leaves standing is the one before. */
  value: T | undefined
  failure: Failure | null
  /** Asks again now. */
  again: () => void
}

/**
 * Keeps asking one question of the API while it is looked at. Null asks nothing. `every_ms` asks again as time goes by;
 * an answer younger than `fresh_ms` is shown again without asking.
 */
export function useAsk<T>(
  path: string | null,
  { every_ms = 0, fresh_ms = 0 }: { every_ms?: number; fresh_ms?: number } = {},
): Asked<T> {
  const [state, setState] = useState<{
    path: string | null
    value: T | undefined
    failure: Failure | null
  }>({ path: null, value: undefined, failure: null })
  const turn = useRef(0)
  const later = useRef(() => {})

  const again = useCallback(async () => {
    if (path === null) return
    const mine = ++turn.current
    const answer = await ask<T>(path)
    // An answer to what is no longer asked comes too late.
    if (mine !== turn.current) return
    if (answer.ok) {
      setState({ path, value: answer.value, failure: null })
      return
    }
    setState({ path, value: undefined, failure: answer.failure })
    later.current()
    const wait_ms = patience(answer.failure)
    if (wait_ms !== null) later.current = after(wait_ms, () => void again())
  }, [path])

  useEffect(() => {
    const last = path === null ? undefined : lastAnswer(path)
    if (last === undefined || now() - last.asked_at >= fresh_ms) void again()
    const stop = every_ms > 0 ? every(every_ms, () => void again()) : () => {}
    return () => {
      turn.current += 1
      later.current()
      stop()
    }
  }, [again, every_ms, fresh_ms, path])

  const current = state.path === path
  const last = path === null ? undefined : lastAnswer(path)?.json
  const known = useMemo(
    (): T | undefined => (last === undefined ? undefined : JSON.parse(last)),
    [last],
  )
  return {
    value: (current ? state.value : undefined) ?? known,
    failure: current ? state.failure : null,
    again: () => void again(),
  }
}

/** A value that follows another once that has stood still for `ms`. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => after(ms, () => setSettled(() => value)), [value, ms])
  return settled
}

/** The newest value that there was, for as long as there is none: what is on the page stays until it is replaced. */
export function useLast<T>(value: T | undefined): T | undefined {
  const last = useRef(value)
  if (value !== undefined) last.current = value
  return last.current
}
