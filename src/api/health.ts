import { Elysia } from 'elysia'
import * as z from 'zod'

import type { ReadsState } from '../core/reads-health.ts'
import type { Clock } from '../outside.ts'
import { answers } from './openapi.ts'
import type { ReadsHealth } from './reads-health.ts'

type Deps = {
  clock: Clock
  reads_health: ReadsHealth
  health_cache_s: number
  /** Why the daemon cannot serve; null when it can. */
  trouble: () => string | null
  /** What is wrong with what is stored, while calls are served all the same. */
  storage_trouble?: (() => string | null) | undefined
}

type Health = { ok: boolean; reads: ReadsState; storage?: string }

const health_shape = () =>
  z.object({
    ok: z.boolean().meta({ description: 'Whether the daemon serves.' }),
    reads: z
      .enum(['ok', 'degraded', 'unknown'])
      .meta({ description: 'How the platform has answered over the last 60 seconds.' }),
    storage: z
      .string()
      .optional()
      .meta({ description: 'What is wrong with what is stored; absent when nothing is.' }),
  })

const ready_shape = () => z.object({ ready: z.boolean() })

/** `/health`, always 200 and cached, and `/health/ready`, 503 while the daemon does not serve. */
export function health({ clock, reads_health, health_cache_s, trouble, storage_trouble }: Deps) {
  let cached: { at: number; health: Health } | null = null

  function look(): Health {
    const now = clock.mono()
    if (cached === null || now - cached.at >= health_cache_s * 1000)
      cached = { at: now, health: lookAnew() }
    return cached.health
  }

  function lookAnew(): Health {
    const storage = storage_trouble?.() ?? null
    return {
      ok: trouble() === null,
      reads: reads_health.state(),
      ...(storage !== null && { storage }),
    }
  }

  return new Elysia({ name: 'health' })
    .get('/health', () => look(), {
      detail: {
        summary: 'Whether the service is up',
        description: 'Needs no key. Always 200; cached for a few seconds.',
        tags: ['Health'],
        operationId: 'health',
        ...answers(health_shape, { ok: true, reads: 'ok' }),
      },
    })
    .get(
      '/health/ready',
      ({ set }) => {
        const reason = trouble()
        if (reason === null) return { ready: true }
        set.status = 503
        return { ready: false, reason }
      },
      {
        detail: {
          summary: 'Whether the service takes calls',
          description: 'Needs no key. 503 while it does not.',
          tags: ['Health'],
          operationId: 'ready',
          responses: {
            ...answers(ready_shape, { ready: true }).responses,
            503: { description: 'Not now; reason says why.' },
          },
        },
      },
    )
}
