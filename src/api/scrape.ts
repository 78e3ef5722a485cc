import { createHash, timingSafeEqual } from 'node:crypto'

import { Elysia } from 'elysia'

import { ApiError } from '../core/errors.ts'
import { bearer } from './auth.ts'
import type { Metrics } from './metrics.ts'
import type { PeerOf } from './peer.ts'

type Deps = { metrics: Metrics; token: string; peerOf: PeerOf }

const digest = (text: string) => createHash('sha256').update(text).digest()

/** `/metrics`: for the bearer of the token when one is set, otherwise for callers on this machine. */
export const scrape = ({ metrics, token, peerOf }: Deps) =>
  new Elysia({ name: 'metrics', detail: { hide: true } }).get(
    '/metrics',
    ({ request, server, set }) => {
      const given = bearer(request.headers.get('authorization'))
      if (token === '') {
        if (!peerOf(request, server?.requestIP(request)?.address).local)
          throw new ApiError('NOT_FOUND', { message: 'there is no such route' })
      } else if (given === null) throw new ApiError('missing_token')
      else if (!timingSafeEqual(digest(given), digest(token))) throw new ApiError('invalid_token')
      set.headers['content-type'] = 'text/plain; version=0.0.4; charset=utf-8'
      return metrics.render()
    },
  )
