import type { AnyElysia } from 'elysia'

import type { Reads } from '../../gateway/read.ts'
import type { Infra } from '../infra.ts'
import { comments } from './comments.ts'
import { communities } from './communities.ts'
import { posts } from './posts.ts'
import { search } from './search.ts'
import { users } from './users.ts'

/** The routes of the public reads. */
export const reads = (infra: Infra, gateway: Reads): AnyElysia[] => [
  posts(infra, gateway),
  search(infra, gateway),
  comments(infra, gateway),
  users(infra, gateway),
  communities(infra, gateway),
]
