import { hash, timingSafeEqual } from 'node:crypto'

import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../core/base/errors.ts'
import type { Fault } from '../core/base/result.ts'
import type { SourceEnd } from '../core/limits/ends-at.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import { bearer, type FailedAuth } from './http/auth.ts'
import type { PeerOf } from './http/request-origin.ts'
import type { Metrics } from './metrics/registry.ts'
import { answers } from './openapi/route-docs.ts'

type HealthDeps = {
  clock: Clock
  reads_health: ReadsHealth
  health_cache_s: number
  /** Reason why the daemon cannot serve; null: it serves. */
  trouble: () => string | null
  /** Names of the loops that fail repeatedly; absent: no loops. */
  failing_loops?: (() => string[]) | undefined
  /** Description of a storage failure that does not stop the service. */
  storage_failing?: (() => string | null) | undefined
  /** Sources whose way in ends soon or has ended. */
  ends?: (() => SourceEnd[]) | undefined
  /** True: this node has the lease of a pair. */
  is_primary?: boolean | undefined
}

type Health = {
  ok: boolean
  reads: ReadsState
  storage?: string
  ends?: SourceEnd[]
  role?: 'primary'
}

const health_shape = () =>
  z.object({
    ok: z.boolean().describe('True if the daemon serves.'),
    reads: z
      .enum(['ok', 'degraded', 'unknown'])
      .describe('State of reads over the last 60 seconds.'),
    storage: z
      .string()
      .optional()
      .describe('Description of a storage failure; absent if there is none.'),
    ends: z
      .array(z.object({ source: z.string(), ends_at: z.string() }))
      .optional()
      .describe('Sources whose access ends within 30 days, or has ended; absent if none does.'),
    role: z
      .enum(['primary', 'standby'])
      .optional()
      .describe('Role of this node; absent without a standby.'),
  })

const ready_shape = () => z.object({ ready: z.boolean() })
const LOOP_FAILING = 'loop_failing'

/** `/health`, always 200 and cached, and `/health/ready`, 503 while the daemon does not serve. */
export function health({
  clock,
  reads_health,
  health_cache_s,
  trouble,
  failing_loops = () => [],
  storage_failing,
  ends = () => [],
  is_primary = false,
}: HealthDeps) {
  let cached: { at: number; health: Health } | null = null

  function cachedHealth(): Health {
    const now = clock.mono()
    if (cached === null || now - cached.at >= health_cache_s * 1000)
      cached = { at: now, health: readHealth() }
    return cached.health
  }

  function readHealth(): Health {
    const storage = storage_failing?.() ?? null
    const ending = ends()
    return {
      ok: trouble() === null && failing_loops().length === 0,
      reads: reads_health.state(),
      ...(storage !== null && { storage }),
      ...(ending.length > 0 && { ends: ending }),
      ...(is_primary && { role: 'primary' }),
    }
  }

  return new Elysia({ name: 'health' })
    .get('/health', () => cachedHealth(), {
      detail: {
        summary: 'Liveness of the service',
        description: 'Needs no key. Always 200; cached for a few seconds.',
        tags: ['Health'],
        operationId: 'health',
        ...answers(health_shape),
      },
    })
    .get(
      '/health/ready',
      ({ set }) => {
        const reason = trouble()
        const loops = failing_loops()
        if (reason === null && loops.length === 0) return { ready: true }
        set.status = 503
        return reason === null
          ? { ready: false, reason: LOOP_FAILING, loops }
          : { ready: false, reason }
      },
      {
        detail: {
          summary: 'Readiness of the service',
          description: 'Needs no key. 503 while it does not.',
          tags: ['Health'],
          operationId: 'ready',
          responses: {
            ...answers(ready_shape).responses,
            503: {
              description:
                'Not ready; see reason. With reason loop_failing, loops lists the loops that fail repeatedly.',
            },
          },
        },
      },
    )
}

type ScrapeDeps = {
  metrics: Metrics
  token: string
  peerOf: PeerOf
  failed_auth: Pick<FailedAuth, 'attempt'>
}

const digest = (text: string) => hash('sha256', text, 'buffer')

/** `/metrics`: for the bearer of the token if one is set, otherwise for callers on this machine. */
export const scrape = ({ metrics, token, peerOf, failed_auth }: ScrapeDeps) =>
  new Elysia({ name: 'metrics', detail: { hide: true } }).get(
    '/metrics',
    ({ request, server, set }) => {
      const given = bearer(request.headers.get('authorization'))
      const { network, local } = peerOf(request, server?.requestIP(request)?.address)
      const opens = (it: string) => timingSafeEqual(digest(it), digest(token)) || null
      if (token === '') {
        if (!local) throw new ApiError('NOT_FOUND', { message: 'there is no such route' })
      } else if (failed_auth.attempt(() => network, given, opens) === null)
        throw new ApiError(given === null ? 'missing_token' : 'invalid_token')
      set.headers['content-type'] = 'text/plain; version=0.0.4; charset=utf-8'
      return metrics.render()
    },
  )

export type ReadsHealth = {
  /** Records a finished request of the pool and its fault, null: none. */
  record(fault: Fault['kind'] | null): void
  state(): ReadsState
}

/** Faults of the platform, its connection or the way in; other faults are answers. */
const COUNTED_FAULTS: readonly Fault['kind'][] = [
  'throttled',
  'blocked',
  'login_required',
  'unavailable',
  'timeout',
]

type Second = { at: number; requests: number; faults: number }

/**
 * Creates the health: judges the last 60 s of pool requests, and logs when reads become degraded
 * and when they recover. `usable`: true while the pool has an identity to read with.
 */
export function createReadsHealth(
  clock: Clock,
  usable: () => boolean = () => true,
  log: Log = () => {},
): ReadsHealth {
  const seconds: Second[] = []
  let judgement: Judgement = { state: 'unknown', calm_since: null }
  let degraded_since: number | null = null

  function judge(now: number) {
    while (seconds[0] && seconds[0].at <= now - WINDOW_S * 1000) seconds.shift()
    const requests = seconds.reduce((sum, second) => sum + second.requests, 0)
    const faults = seconds.reduce((sum, second) => sum + second.faults, 0)
    judgement = judgeReads(judgement, { requests, faults }, now)
    const { state } = judgement
    if (state === 'degraded' && degraded_since === null) {
      degraded_since = now
      log('warn', 'reads.degraded', { count: faults, calls: requests })
    } else if (state === 'ok' && degraded_since !== null) {
      log('info', 'reads.recovered', { duration_ms: Math.round(now - degraded_since) })
      degraded_since = null
    }
  }

  return {
    record: (fault) => {
      const now = clock.mono()
      const at = Math.floor(now / 1000) * 1000
      const last = seconds.at(-1)
      const second = last?.at === at ? last : { at, requests: 0, faults: 0 }
      if (second !== last) {
        seconds.push(second)
        // Judged every second, so that recovery is observed without requests.
        judge(now)
      }
      second.requests += 1
      if (fault !== null && COUNTED_FAULTS.includes(fault)) second.faults += 1
    },
    state: () => {
      judge(clock.mono())
      return usable() ? judgement.state : 'degraded'
    },
  }
}

/** Health of the pool's reads: `unknown` while there are too few requests. */
type ReadsState = 'ok' | 'degraded' | 'unknown'

/** Window of `/health`, in seconds. */
const WINDOW_S = 60
const JUDGED_FROM = 5
const DEGRADED_FROM = 20
const DEGRADED_SHARE = 0.25
const OK_SHARE = 0.1

type Judgement = {
  state: ReadsState
  /** Start (ms) of the present period with a low share of faults; null: none. */
  calm_since: number | null
}

/** The state turns degraded at once, and back only after a calm window. */
function judgeReads(
  { state, calm_since }: Judgement,
  { requests, faults }: { requests: number; faults: number },
  now: number,
): Judgement {
  if (requests < JUDGED_FROM) return { state: 'unknown', calm_since: null }
  const share = faults / requests
  if (requests >= DEGRADED_FROM && share >= DEGRADED_SHARE)
    return { state: 'degraded', calm_since: null }
  if (state !== 'degraded') return { state: 'ok', calm_since: null }
  if (share >= OK_SHARE) return { state: 'degraded', calm_since: null }
  const since = calm_since ?? now
  return now - since >= WINDOW_S * 1000
    ? { state: 'ok', calm_since: null }
    : { state: 'degraded', calm_since: since }
}
