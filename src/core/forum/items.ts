import { normalise } from '../base/form.ts'

/**
 * The platform's resources in forumd's own terms. Adapters under `src/platforms` map the platform's
 * objects to them; apart from {@link Node}, those objects stay inside the adapters.
 */

/**
 * Key of the places of an item beside its subforum, such as its tags; answers leave it out. Null: they are not known yet.
 */
export const MORE_PLACES = Symbol('places')

export type AuthorInfo = { fullname: string | null; flair: string | null; premium: boolean | null }

/** Post as the API returns it; null: not known. */
export type Post = {
  /** Without prefix. */
  id: string
  /** `t3_` and the id. */
  name: string
  title: string
  author: string
  subforum: string
  /** Path on the platform. */
  permalink: string
  url: string
  upvotes: number
  comments: number
  /** ISO 8601, UTC, ending in Z. */
  created: string
  /** Epoch seconds. */
  created_utc: number
  text: string
  /** Target of a link post; null for a text post. */
  link_url: string | null
  upvote_ratio: number | null
  over_18: boolean
  spoiler: boolean
  locked: boolean
  stickied: boolean
  is_self: boolean
  is_video: boolean
  is_crosspost: boolean
  /** True: comments are in random order. Omitted if the platform does not report it. */
  contest_mode?: boolean
  /** The platform hides the score for now, and `upvotes` does not reflect it. Omitted otherwise. */
  score_hidden?: true
  crosspost_origin: { id: string; subforum: string; permalink: string } | null
  flair: string | null
  domain: string | null
  media_kind: MediaKind | null
  thumbnail_url: string | null
  /** ISO 8601 of the last edit; true if the platform reports an edit without its time. */
  edited: string | boolean
  author_info: AuthorInfo
}

export type Comment = {
  /** Without prefix. */
  id: string
  /** `t1_` and the id. */
  name: string
  author: string
  body: string
  subforum: string
  upvotes: number
  permalink: string
  url: string
  /** Id of the post, without prefix. */
  post_id: string
  /** Null if the platform's response does not contain it. */
  link_title: string | null
  link_url: string | null
  created: string
  created_utc: number
  /** Fullname: t1_… or t3_…. */
  parent_id: string | null
  is_submitter: boolean
  depth: number | null
  edited: string | boolean
  over_18: boolean | null
  author_info: AuthorInfo
  /** As on a post. */
  score_hidden?: true
}

export const MEDIA_KINDS = ['image', 'video', 'gallery', 'gif'] as const
export type MediaKind = (typeof MEDIA_KINDS)[number]

/** Media of a post; sizes in pixels, `duration_s` in seconds. */
export type Media = {
  kind: MediaKind
  url: string | null
  width: number | null
  height: number | null
  /** Pictures of a gallery, in order; empty for every other kind. */
  items: { url: string; width: number | null; height: number | null }[]
  duration_s: number | null
  thumbnail_url: string | null
}

export type MediaPost = Post & { media: Media }

export type User = {
  id: string | null
  name: string
  url: string
  created: string | null
  created_utc: number | null
  link_karma: number | null
  comment_karma: number | null
  total_karma: number | null
  verified: boolean | null
  is_employee: boolean | null
  is_mod: boolean | null
  is_suspended: boolean
  over_18: boolean | null
  display_name: string | null
  description: string | null
  avatar_url: string | null
  banner_url: string | null
}

export type Community = {
  id: string | null
  name: string
  display_name_prefixed: string | null
  title: string | null
  description: string | null
  subscribers: number | null
  active_users: number | null
  created: string | null
  created_utc: number | null
  type: string | null
  over_18: boolean | null
  quarantined: boolean | null
  url: string | null
  icon_url: string | null
  banner_url: string | null
  language: string | null
}

export type Moderator = {
  id: string
  name: string
  mod_permissions: string[]
  flair_text: string | null
  added: string | null
}

export type Me = {
  /** Without prefix. */
  id: string
  name: string
  is_suspended: boolean
  /** The account must set a new password before it can do anything. */
  is_locked?: boolean
}

export type Rules = {
  rules: {
    name: string
    description: string
    applies_to: 'post' | 'comment' | 'all'
    violation_reason: string | null
    priority: number
    created: string | null
  }[]
  site_rules: string[]
}

export type WikiPage = {
  content_md: string
  content_html: string | null
  revision_id: string | null
  revision_date: string | null
  revised_by: string | null
  reason: string | null
}

export type Achievement = {
  id: string | null
  name: string
  description: string | null
  icon_url: string | null
  url: string | null
  granted: string | null
}

/** Reason why a post is not visible to others, or why its visibility cannot be decided. */
export type VisibilityReason = 'absent' | 'deleted' | 'removed' | 'seen_by_moderator'

/** Visibility of a post to others, as far as it can be determined. */
export type Visibility = {
  verdict: 'live' | 'not_visible' | 'undecidable'
  /** Null if it is live. */
  reason: VisibilityReason | null
  confident: boolean
}

/** Native node of a tree, `{kind: "t1" | "more", data}`, exactly as the platform returned it. */
export type Node = { kind: string; data: Record<string, unknown> }

export type ItemLiveness = 'live' | 'deleted' | 'removed' | 'not_found'

/**
 * Post or comment, discriminated by `kind`, as monitors match it. `source`: name of the source that
 * it is from; absent: {@link HOME}.
 */
export type Item = ((Post & { kind: 'post' }) | (Comment & { kind: 'comment' })) & {
  source?: string
  [MORE_PLACES]?: readonly string[] | null
}

/**
 * Present state of an item, by a clear statement of its source. `absent`: the source answers that it has no such item for
 * this reader. `author_gone`: its author's account was deleted, its text stays.
 */
export type ItemState =
  { state: 'live'; item: Item; author_gone: boolean } | { state: 'deleted' | 'removed' | 'absent' }

/**
 * Stands inside for the first source of a Reddit-style platform, whose name the configuration may change: the ids of its
 * items have no prefix. Not a name that a source can have.
 */
export const HOME = '~'

/** Key of an item among those of all sources: its fullname, after the name of another source than {@link HOME}. */
export const itemKey = ({ name, source }: { name: string; source?: string | undefined }): string =>
  source === undefined || source === HOME ? name : `${source}/${name}`

/**
 * Digest of what an item shows: text, link, flags, place. It is known by this, not by its id and its edit time alone, and
 * votes do not change it.
 */
export function shownDigest(item: Item): string {
  const shown =
    item.kind === 'post' ? [item.title, item.text, item.link_url, item.flair] : [item.body]
  const places = [...(item[MORE_PLACES] ?? [])].toSorted()
  const { subforum, author, over_18 } = item
  return Bun.hash(JSON.stringify([subforum, places, author, over_18, ...shown])).toString(36)
}

export function ofItemKey(key: string): { source: string; name: string } {
  const at = key.indexOf('/')
  return at === -1
    ? { source: HOME, name: key }
    : { source: key.slice(0, at), name: key.slice(at + 1) }
}

/**
 * One page of a native listing. `after` is the platform's own cursor; null ends the listing.
 * `left_out` counts further rows that the requester may not see. `lacks_some`: the listing has rows that no page shows.
 */
export type Page<T> = {
  rows: T[]
  after: string | null
  left_out?: number
  lacks_some?: boolean
}

/** All places of an item in the form in which names are compared, its subforum first. */
export const placesOfItem = ({ subforum, [MORE_PLACES]: more }: Item): string[] =>
  [subforum, ...(more ?? [])].map((it) => normalise(it))
