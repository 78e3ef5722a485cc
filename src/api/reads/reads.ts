import type { AnyElysia } from 'elysia'

import type { Reads } from '../../gateway/read.ts'
import type { Infra } from '../infra.ts'
import { comments } from './comments.ts'
import { communities } from './communities.ts'
import { posts } from './posts.ts'
import { search } from './search.ts'
import { users } from './users.ts'

/** `[limits].deep_search_concurrency`, unless it says otherwise. */
const DEEP_SEARCHES = 2

/** The routes of the public reads. */
export const reads = (
  infra: Infra,
  gateway: Reads,
  { deep_search_concurrency = DEEP_SEARCHES } = {},
): AnyElysia[] => [
  posts(infra, gateway),
  search(infra, gateway, deep_search_concurrency),
  comments(infra, gateway),
  users(infra, gateway),
  communities(infra, gateway),
]
