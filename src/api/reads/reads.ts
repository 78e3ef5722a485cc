import type { AnyElysia } from 'elysia'

import type { Reads } from '../../gateway/reads.ts'
import type { Infra } from '../infra.ts'
import { comments } from './comments.ts'
import { communities, directories } from './communities.ts'
import { createDesk, type ReadsOptions } from './desk.ts'
import { own } from './own.ts'
import { posts } from './posts.ts'
import { search } from './search.ts'
import { users } from './users.ts'

/** The routes of the reads. */
export function reads(infra: Infra, gateway: Reads, options: ReadsOptions): AnyElysia[] {
  const desk = createDesk(infra, options)
  return [posts, search, comments, users, communities, directories, own].map((group) =>
    group(desk, gateway),
  )
}
