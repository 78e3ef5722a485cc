import type { SourceCall } from '../sources/source.ts'
import { isoOf } from '../sources/text.ts'
import type {
  LemmyComment,
  LemmyCommunity,
  LemmyMessage,
  LemmyPost,
  LemmyWorld,
  Person,
} from './model.ts'

/** Call with its API generation and its sender. */
export type LemmyCall = SourceCall<LemmyWorld> & { api: 'v3' | 'v4'; viewer: Person | null }

/** Instant with microseconds, as the database keeps it. */
export const stampOf = (at: number): string => isoOf(at).replace('Z', '000Z')

/** Global address of a thing: of this instance, or of the one it came from. */
export function apIdOf(
  { origin }: { origin: string },
  path: string,
  from: { host: string | null },
): string {
  return from.host === null ? `${origin}${path}` : `https://${from.host}${path}`
}

/** Fields of both instants: `published` and `updated` in v3, with `_at` in v4. */
const instants = ({ api }: LemmyCall, created_at: number, updated_at: number | null = null) => {
  const published = stampOf(created_at)
  const updated = updated_at === null ? undefined : stampOf(updated_at)
  return api === 'v4'
    ? { published_at: published, ...(updated && { updated_at: updated }) }
    : { published, ...(updated && { updated }) }
}

/** Absent instead of null. */
const some = <T>(name: string, value: T | null) => (value === null ? {} : { [name]: value })

const instanceId = (host: string | null) => (host === null ? 1 : 2 + (host.length % 7))

const countsOf = (call: LemmyCall, person: Person) => ({
  post_count: [...call.world.posts.values()].filter((it) => it.creator === person && !it.removed)
    .length,
  comment_count: [...call.world.comments.values()].filter(
    (it) => it.creator === person && !it.removed,
  ).length,
})

/** Counters that v4 has in the person; a view in a list has none of its own. */
export function personFields(call: LemmyCall, person: Person, counted = false) {
  const actor = apIdOf(call, `/u/${person.name}`, person)
  const common = {
    id: person.id,
    name: person.name,
    ...some('display_name', person.display_name),
    ...some('bio', person.bio),
    local: person.host === null,
    deleted: person.deleted,
    bot_account: person.bot,
    instance_id: instanceId(person.host),
    ...instants(call, person.created_at),
  }
  if (call.api === 'v3') return { ...common, banned: person.banned, actor_id: actor }
  const counts = counted ? countsOf(call, person) : { post_count: 0, comment_count: 0 }
  return { ...common, ap_id: actor, last_refreshed_at: stampOf(person.created_at), ...counts }
}

/** `person_view` */
export const personView = (call: LemmyCall, person: Person) =>
  call.api === 'v3'
    ? {
        person: personFields(call, person),
        counts: { person_id: person.id, ...countsOf(call, person) },
        is_admin: person.admin,
      }
    : { person: personFields(call, person, true), is_admin: person.admin, banned: person.banned }

const communityCounts = (call: LemmyCall, community: LemmyCommunity) => {
  const posts = [...call.world.posts.values()].filter((it) => it.community === community)
  return {
    subscribers: community.subscribers,
    posts: posts.length,
    comments: posts.reduce((total, { comments }) => total + comments.length, 0),
    users_active_day: 0,
    users_active_week: 0,
    users_active_month: 0,
    users_active_half_year: 0,
    subscribers_local: Math.ceil(community.subscribers / 10),
  }
}

/** A community as JSON. */
export function communityFields(call: LemmyCall, community: LemmyCommunity) {
  const actor = apIdOf(call, `/c/${community.name}`, community)
  const common = {
    id: community.id,
    name: community.name,
    title: community.title,
    removed: community.removed,
    deleted: community.deleted,
    nsfw: community.nsfw,
    local: community.host === null,
    posting_restricted_to_mods: false,
    instance_id: instanceId(community.host),
    ...instants(call, community.created_at),
  }
  if (call.api === 'v3')
    return {
      ...common,
      ...some('description', community.description),
      actor_id: actor,
      hidden: community.hidden,
      visibility: 'Public',
    }
  return {
    ...common,
    ...some('sidebar', community.description),
    ap_id: actor,
    visibility: community.hidden ? 'unlisted' : 'public',
    last_refreshed_at: stampOf(community.created_at),
    ...communityCounts(call, community),
    report_count: 0,
    unresolved_report_count: 0,
    local_removed: false,
  }
}

/** `community_view` */
export const communityView = (call: LemmyCall, community: LemmyCommunity) =>
  call.api === 'v3'
    ? {
        community: communityFields(call, community),
        subscribed: 'NotSubscribed',
        blocked: false,
        counts: {
          community_id: community.id,
          ...communityCounts(call, community),
          published: stampOf(community.created_at),
        },
        banned_from_community: false,
      }
    : { community: communityFields(call, community), can_mod: false, tags: [] }

const votesOf = ({ ups, downs, votes }: LemmyPost | LemmyComment) => {
  const upvotes = ups + [...votes.values()].filter((vote) => vote === 1).length
  const downvotes = downs + [...votes.values()].filter((vote) => vote === -1).length
  return { score: upvotes - downvotes, upvotes, downvotes }
}

const entryAp = (call: LemmyCall, entry: LemmyPost | LemmyComment) =>
  apIdOf(call, `/${entry.kind}/${entry.origin?.id ?? entry.id}`, {
    host: entry.origin?.host ?? null,
  })

const isHidden = ({ removed, deleted }: { removed: boolean; deleted: boolean }) =>
  removed || deleted

/** Flags that a remover sets; the text of a hidden entry is empty. */
function postFields(call: LemmyCall, post: LemmyPost) {
  const scheduled =
    post.scheduled_at !== null && post.scheduled_at > call.now ? stampOf(post.scheduled_at) : null
  const common = {
    id: post.id,
    name: post.name,
    ...some(call.api === 'v4' ? 'scheduled_publish_time_at' : 'scheduled_publish_time', scheduled),
    ...some('url', isHidden(post) ? null : post.url),
    ...some('body', isHidden(post) ? (post.body === null ? null : '') : post.body),
    creator_id: post.creator.id,
    community_id: post.community.id,
    removed: post.removed,
    locked: post.locked,
    ...instants(call, post.created_at, post.updated_at),
    deleted: post.deleted,
    nsfw: post.nsfw,
    ...(post.url !== null && { embed_title: post.name }),
    ap_id: entryAp(call, post),
    local: post.origin === null,
    language_id: 0,
    featured_community: post.featured_community,
    featured_local: post.featured_local,
  }
  if (call.api === 'v3')
    return { ...common, ...(post.url !== null && { url_content_type: 'text/html' }) }
  return {
    ...common,
    comments: post.comments.length,
    ...votesOf(post),
    report_count: 0,
    unresolved_report_count: 0,
    federation_pending: post.pending,
  }
}

type Flags = { creator: Person; community: LemmyCommunity }

const flagsOf = ({ creator, community }: Flags) => ({
  creator_banned_from_community: false,
  creator_is_moderator: community.moderators.has(creator),
  creator_is_admin: creator.admin,
})

/** Fields of a view that depend on its reader. */
function viewerFields({ api, viewer }: LemmyCall, entry: LemmyPost | LemmyComment, flags: Flags) {
  const vote = viewer === null ? undefined : entry.votes.get(viewer)
  if (api === 'v3')
    return {
      banned_from_community: false,
      subscribed: 'NotSubscribed',
      saved: false,
      creator_blocked: false,
      ...(vote !== undefined && { my_vote: vote }),
    }
  return {
    creator_banned: flags.creator.banned,
    can_mod: viewer !== null && (viewer.admin || flags.community.moderators.has(viewer)),
    tags: [],
    ...(vote !== undefined && {
      [entry.kind === 'post' ? 'post_actions' : 'comment_actions']: {
        voted_at: stampOf(entry.arrived_at),
        vote_is_upvote: vote === 1,
        ...(entry.kind === 'post' && { read_comments_amount: 0 }),
      },
    }),
  }
}

/** `post_view` */
export function postView(call: LemmyCall, post: LemmyPost) {
  const { creator, community } = post
  const newest = Math.max(post.created_at, ...post.comments.map(({ created_at }) => created_at))
  return {
    post: postFields(call, post),
    creator: personFields(call, creator),
    community: communityFields(call, community),
    ...flagsOf(post),
    ...viewerFields(call, post, post),
    ...(call.api === 'v3' && {
      counts: {
        post_id: post.id,
        comments: post.comments.length,
        ...votesOf(post),
        published: stampOf(post.created_at),
        newest_comment_time: stampOf(newest),
      },
      read: false,
      hidden: false,
      unread_comments: post.comments.length,
    }),
  }
}

/** `comment_view` */
export function commentView(call: LemmyCall, comment: LemmyComment) {
  const { post, creator } = comment
  const counts = { ...votesOf(comment), child_count: comment.children }
  const flags = { creator, community: post.community }
  return {
    comment: {
      id: comment.id,
      creator_id: creator.id,
      post_id: post.id,
      content: isHidden(comment) ? '' : comment.content,
      removed: comment.removed,
      ...instants(call, comment.created_at, comment.updated_at),
      deleted: comment.deleted,
      ap_id: entryAp(call, comment),
      local: comment.origin === null,
      path: comment.path,
      distinguished: comment.distinguished,
      language_id: 0,
      ...(call.api === 'v4' && {
        locked: false,
        federation_pending: false,
        report_count: 0,
        unresolved_report_count: 0,
        ...counts,
      }),
    },
    creator: personFields(call, creator),
    post: postFields(call, post),
    community: communityFields(call, post.community),
    ...(call.api === 'v3' && {
      counts: { comment_id: comment.id, ...counts, published: stampOf(comment.created_at) },
    }),
    ...flagsOf(flags),
    ...viewerFields(call, comment, flags),
  }
}

/** `private_message_view` */
export const messageView = (call: LemmyCall, message: LemmyMessage) => ({
  private_message: {
    id: message.id,
    creator_id: message.creator.id,
    recipient_id: message.recipient.id,
    content: message.content,
    deleted: false,
    ...(call.api === 'v3'
      ? { read: message.read }
      : { deleted_by_recipient: false, removed: false }),
    ...instants(call, message.created_at),
    ap_id: apIdOf(call, `/private_message/${message.id}`, { host: null }),
    local: true,
  },
  creator: personFields(call, message.creator),
  recipient: personFields(call, message.recipient),
})
