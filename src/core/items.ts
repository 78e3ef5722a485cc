/**
 * The shapes of what the platform holds, in our own words (interface.md "Resources", contract 5).
 * `src/platform` maps the platform's objects to them; nobody else sees those, but for {@link Node}.
 */

/** What rows tell of their author. */
export type AuthorInfo = { fullname: string | null; flair: string | null; premium: boolean | null }

/** A post as the interface shows it (contract 5); what is not known is null. */
export type Post = {
  /** Without prefix. */
  id: string
  /** `t3_` and the id. */
  name: string
  title: string
  author: string
  subforum: string
  /** A path on the platform. */
  permalink: string
  /** The absolute address of the post on the platform. */
  url: string
  upvotes: number
  comments: number
  /** ISO 8601, UTC, ending in Z. */
  created: string
  /** Epoch seconds. */
  created_utc: number
  text: string
  /** What a link post points to; null for a text post. */
  link_url: string | null
  upvote_ratio: number | null
  over_18: boolean
  spoiler: boolean
  locked: boolean
  stickied: boolean
  is_self: boolean
  is_video: boolean
  is_crosspost: boolean
  /** Comments stand in random order. Left out where the platform does not tell. */
  contest_mode?: boolean
  /** The platform keeps the score to itself for now, and `upvotes` is not it. Left out otherwise. */
  score_hidden?: true
  /** The subforum, id and permalink of the post this one was crossposted from. */
  crosspost_origin: { id: string; subforum: string; permalink: string } | null
  flair: string | null
  domain: string | null
  media_kind: MediaKind | null
  thumbnail_url: string | null
  /** ISO 8601 of the last edit; true when the platform tells only that there was one. */
  edited: string | boolean
  author_info: AuthorInfo
}

/** A comment as the interface shows it (contract 5). */
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
  /** The parent post's id, without prefix. */
  post_id: string
  /** Null where the platform's answer does not tell it. */
  link_title: string | null
  link_url: string | null
  created: string
  created_utc: number
  /** A fullname: t1_… or t3_…. */
  parent_id: string | null
  is_submitter: boolean
  depth: number | null
  edited: string | boolean
  over_18: boolean | null
  author_info: AuthorInfo
  /** As on a post. */
  score_hidden?: true
}

/** What a post may carry to look at. */
export const MEDIA_KINDS = ['image', 'video', 'gallery', 'gif'] as const
export type MediaKind = (typeof MEDIA_KINDS)[number]

/** What a post carries to look at; sizes in pixels, `duration_s` in seconds. */
export type Media = {
  kind: MediaKind
  url: string | null
  width: number | null
  height: number | null
  /** Addresses of a gallery's pictures, in order; empty for every other kind. */
  items: { url: string; width: number | null; height: number | null }[]
  duration_s: number | null
  thumbnail_url: string | null
}

/** A post that carries something to look at. */
export type MediaPost = Post & { media: Media }

/** A person as the interface shows one (contract 5). */
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

/** A community as the interface shows it (contract 5). */
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

/** Who moderates a community. */
export type Moderator = {
  id: string
  name: string
  mod_permissions: string[]
  flair_text: string | null
  added: string | null
}

/** The account that a session belongs to. */
export type Me = {
  /** Without prefix. */
  id: string
  name: string
  is_suspended: boolean
  /** It wants a new password before it lets anybody do anything. */
  is_locked?: boolean
}

/** The rules of a community, and the house rules above them. */
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

/** A page of a wiki: as it was written, and as it is shown. */
export type WikiPage = {
  content_md: string
  content_html: string | null
  may_revise: boolean
  revision_id: string | null
  revision_date: string | null
  revised_by: string | null
  reason: string | null
}

/** A distinction that a person shows. */
export type Achievement = {
  id: string | null
  name: string
  description: string | null
  icon_url: string | null
  url: string | null
  granted: string | null
}

/** Whether others see a post, as far as that can be told. */
export type Visibility = {
  verdict: 'live' | 'not_visible' | 'undecidable'
  /** removed, deleted, absent, … ; null when it is live. */
  reason: string | null
  confident: boolean
}

/** A native node of a tree, `{kind: "t1" | "more", data}`, exactly as the platform gave it. */
export type Node = { kind: string; data: Record<string, unknown> }

/** What became of a comment (interface, Comment liveness values). */
export type Liveness = 'live' | 'deleted' | 'removed' | 'not_found'

/** What a monitor looks at: a post or a comment, and which of them it is. */
export type Item = (Post & { kind: 'post' }) | (Comment & { kind: 'comment' })

/**
 * One page of a native listing. `after` is the platform's own cursor; null ends the listing. `left_out`: how many rows it
 * had beside these, which are not for whoever asked.
 */
export type Page<T> = { rows: T[]; after: string | null; left_out?: number }
