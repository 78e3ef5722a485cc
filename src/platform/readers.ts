import type { Comment, Community, Item, Media, Post, User } from '../core/items.ts'
import { COMMENT_NEEDS, POST_NEEDS, toComment, toPost } from './items.ts'
import type { Reader } from './listing.ts'
import { mediaOf } from './media.ts'
import { COMMUNITY_NEEDS, toCommunity, toUser, USER_NEEDS } from './people.ts'
import { textAt } from './read.ts'

/** How each kind of native row becomes ours. */
export type RowReaders = {
  post: Reader<Post>
  postWithMedia: Reader<Post & { media: Media | null }>
  comment: Reader<Comment>
  postItem: Reader<Item>
  commentItem: Reader<Item>
  community: Reader<Community>
  user: Reader<User>
  /** As in search results, where suspended people stand without an id and are left out. */
  foundUser: Reader<User>
}

/** The readers of a platform at `base`, an address without a slash at its end. */
export function createReaders(base: string): RowReaders {
  const user: Reader<User> = { needs: USER_NEEDS, map: (row) => toUser(base, row) }
  return {
    post: { needs: POST_NEEDS, map: (row) => toPost(base, row) },
    postWithMedia: {
      needs: POST_NEEDS,
      map: (row) => ({ ...toPost(base, row), media: mediaOf(row) }),
    },
    comment: { needs: COMMENT_NEEDS, map: (row) => toComment(base, row) },
    postItem: { needs: POST_NEEDS, map: (row) => ({ ...toPost(base, row), kind: 'post' }) },
    commentItem: {
      needs: COMMENT_NEEDS,
      map: (row) => ({ ...toComment(base, row), kind: 'comment' }),
    },
    community: { needs: COMMUNITY_NEEDS, map: (row) => toCommunity(base, row) },
    user,
    foundUser: { ...user, skip: (row) => textAt(row, 'id') === null },
  }
}
