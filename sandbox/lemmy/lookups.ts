import type { SandboxResponse } from '../server/response.ts'
import { fieldText, truthOf, wholeOf } from '../sources/source.ts'
import { type LemmyComment, type LemmyPost, qualifiedName, splitName } from './model.ts'
import {
  badLimit,
  isListed,
  LARGEST_LIMIT,
  lemmyError,
  lemmyJson,
  lemmyMissing,
  rowLimit,
} from './reads.ts'
import {
  commentView,
  communityView,
  type LemmyCall,
  personFields,
  personView,
  postView,
  stampOf,
} from './shapes.ts'

/** Words in order, with anything between: as `ILIKE '%a%b%'`. */
function isLike(text: string, words: string): boolean {
  let at = 0
  for (const word of words.toLowerCase().split(/\s+/)) {
    const found = text.toLowerCase().indexOf(word, at)
    if (found < 0) return false
    at = found + word.length
  }
  return true
}

const newest = <T extends LemmyPost | LemmyComment>(rows: readonly T[]): T[] =>
  rows.toSorted((one, other) => other.created_at - one.created_at || other.id - one.id)

/** `GET /search` */
export function searchAll(call: LemmyCall): SandboxResponse {
  const limit = rowLimit(call)
  if (limit === null) return badLimit()
  const words = fieldText(call, call.api === 'v3' ? 'q' : 'search_term')
  const type = fieldText(call, 'type_') || 'All'
  const wants = (kind: string) => ['all', kind].includes(type.toLowerCase())
  const page = Math.max(1, wholeOf(call, 'page') ?? 1)
  const cut = <T>(kind: string, rows: readonly T[]) =>
    wants(kind) ? rows.slice((page - 1) * limit, page * limit) : []
  const { world, as_of } = call
  const posts = [...world.posts.values()].filter(
    (post) => isListed(call, post) && isLike(`${post.name} ${post.body ?? ''}`, words),
  )
  const comments = [...world.comments.values()].filter(
    (it) =>
      !it.removed &&
      !it.deleted &&
      it.arrived_at <= as_of &&
      isListed(call, it.post) &&
      isLike(it.content, words),
  )
  const persons = world.persons.filter(
    (person) => !person.deleted && isLike(qualifiedName(person), words),
  )
  const found = {
    comments: cut('comments', newest(comments)).map((it) => commentView(call, it)),
    posts: cut('posts', newest(posts)).map((it) => postView(call, it)),
    communities: cut(
      'communities',
      world.communities.filter((it) => !it.removed && isLike(`${it.name} ${it.title}`, words)),
    ).map((it) => communityView(call, it)),
  }
  const users = cut('users', persons).map((it) => personView(call, it))
  return lemmyJson(
    call.api === 'v3'
      ? { type_: type, ...found, users }
      : { ...found, persons: users, multi_communities: [] },
  )
}

/** `GET /resolve_object?q=`: an object by its global address; 0.19 asks for a login. */
export function resolveObject(call: LemmyCall): SandboxResponse {
  const { world, viewer } = call
  if (viewer === null && world.settings.version === '0.19') return lemmyError('not_logged_in', 401)
  const q = fieldText(call, 'q')
  const post = [...world.posts.values()]
    .map((it) => postView(call, it))
    .find((it) => it.post.ap_id === q)
  const comment = [...world.comments.values()]
    .map((it) => commentView(call, it))
    .find((it) => it.comment.ap_id === q)
  const address = (host: string | null) => (host === null ? call.origin : `https://${host}`)
  const short = splitName(q.replace(/^[!@]/, ''))
  const isNamed = (kind: string) => (it: { name: string; host: string | null }) =>
    q === `${address(it.host)}/${kind}/${it.name}` ||
    (it.name === short.name && it.host === short.host)
  const community = q.startsWith('@') ? undefined : world.communities.find(isNamed('c'))
  const person = q.startsWith('!') ? undefined : world.persons.find(isNamed('u'))
  const found = {
    ...(post && { post }),
    ...(comment && { comment }),
    ...(community && { community: communityView(call, community) }),
    ...(person && !community && { person: personView(call, person) }),
  }
  const [first] = Object.entries(found)
  if (first === undefined) return lemmyMissing(call, 'object')
  return lemmyJson(call.api === 'v3' ? found : { type_: first[0], ...first[1] })
}

const MODLOG_LISTS = [
  'removed_posts',
  'locked_posts',
  'featured_posts',
  'removed_comments',
  'removed_communities',
  'banned_from_community',
  'banned',
  'added_to_community',
  'transferred_to_community',
  'added',
  'admin_purged_persons',
  'admin_purged_communities',
  'admin_purged_posts',
  'admin_purged_comments',
  'hidden_communities',
]

/** `GET /modlog`: removals and restorations, newest first. */
export function modlog(call: LemmyCall): SandboxResponse {
  if (call.api === 'v4') return modlogItems(call)
  const most = rowLimit(call) ?? LARGEST_LIMIT
  const logged = call.world.modlog.filter(({ bulk }) => !bulk)
  const entries = logged.toReversed().slice(0, most)
  const rows = (kind: 'post' | 'comment') =>
    entries.flatMap(({ id, at, target, removed }) => {
      if (target.kind !== kind) return []
      const removal = {
        id,
        mod_person_id: 1,
        [`${kind}_id`]: target.id,
        removed,
        when_: stampOf(at),
      }
      const view = target.kind === 'post' ? postView(call, target) : commentView(call, target)
      const { post, community } = view
      return [
        {
          [`mod_remove_${kind}`]: removal,
          post,
          community,
          ...('comment' in view && { comment: view.comment }),
        },
      ]
    })
  return lemmyJson({
    ...Object.fromEntries(MODLOG_LISTS.map((name) => [name, []])),
    removed_posts: rows('post'),
    removed_comments: rows('comment'),
    banned: call.world.bans
      .toReversed()
      .slice(0, most)
      .map(({ id, at, person, banned }) => ({
        mod_ban: {
          id,
          mod_person_id: 1,
          other_person_id: person.id,
          banned,
          when_: stampOf(at),
        },
        banned_person: personFields(call, person),
      })),
  })
}

/** Modlog of v4: one list, in which a restoration is a reverted removal. */
function modlogItems(call: LemmyCall): SandboxResponse {
  const limit = rowLimit(call)
  if (limit === null) return badLimit()
  const type = fieldText(call, 'type_')
  const is_bulk = truthOf(call, 'show_bulk')
  const rows = call.world.modlog
    .toReversed()
    .filter(({ bulk }) => !bulk || is_bulk)
    .filter(({ target }) => ['', 'all', `mod_remove_${target.kind}`].includes(type))
  const start = wholeOf(call, 'page_cursor') ?? 0
  return lemmyJson({
    items: rows.slice(start, start + limit).map(({ id, at, target, removed }) => {
      const view = target.kind === 'post' ? postView(call, target) : commentView(call, target)
      return {
        modlog: {
          id,
          kind: `mod_remove_${target.kind}`,
          is_revert: !removed,
          published_at: stampOf(at),
          child_count: 0,
        },
        target_person: view.creator,
        target_community: view.community,
        target_post: view.post,
        ...('comment' in view && { target_comment: view.comment }),
      }
    }),
    ...(rows.length > start + limit && { next_page: String(start + limit) }),
  })
}
