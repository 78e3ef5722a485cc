/** Rows and pages as the platform renders them. */
import { threadOf, wordsAt } from './plan.ts'
import type { Item } from './plan.ts'
import { createdS, isHeld } from './view.ts'
import type { World } from './view.ts'

/** A modhash as every answer to a live cookie session carries it. */
export const MODHASH = 'f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3b4a5968778'

/** The edge's answer to a blocked request. */
export const BLOCK_PAGE = `<!doctype html><html><head><title>Blocked</title></head><body><h1>You've been blocked by network security.</h1><p>To continue, log in to your account or use your developer token.</p>${'<!-- padding -->'.repeat(2000)}</body></html>`

/** The answer of /api/me.json for a live session. */
export const renderMe = (name: string, id: string) => ({
  kind: 't2',
  data: {
    name,
    id,
    created_utc: 1_600_000_000,
    link_karma: 10,
    comment_karma: 25,
    has_verified_email: true,
    is_suspended: false,
    over_18: true,
    inbox_count: 0,
    has_mail: false,
    modhash: MODHASH,
    features: {},
  },
})

/** The answer of about.json for an open place. */
export const renderPlace = (name: string) => ({
  kind: 't5',
  data: {
    id: name,
    name: `t5_${name}`,
    display_name: name,
    display_name_prefixed: `r/${name}`,
    title: name,
    subscribers: 1000,
    created_utc: 1_500_000_000,
    over18: false,
    subreddit_type: 'public',
    quarantine: false,
    url: `/r/${name}/`,
    lang: 'en',
  },
})

/** The listing of the one post on top of a tree. */
export const threadPost = (world: World, name: string, comments: number) => {
  const id = name.slice(3)
  const place = world.content.places.find((one) =>
    [0, 1].some((which) => threadOf(one.name, which) === id),
  )
  const post = {
    ...shared(place?.name ?? 'unknown', id, 'op', Math.floor(world.startMs / 1000) - 86_400),
    name,
    title: 'an old thread',
    selftext: '',
    num_comments: comments,
  }
  const children = [{ kind: 't3', data: { ...POST_FIELDS, ...post } }]
  return {
    kind: 'Listing',
    data: { after: null, dist: 1, modhash: MODHASH, geo_filter: '', before: null, children },
  }
}

const shared = (place: string, id: string, author: string, created: number) => ({
  id,
  subreddit: place,
  subreddit_id: `t5_${place}`,
  subreddit_name_prefixed: `r/${place}`,
  author,
  author_fullname: `t2_${author}`,
  created_utc: created,
  created,
  permalink: `/r/${place}/comments/${id}/x/`,
  url: `https://www.platform.example/r/${place}/comments/${id}/x/`,
  score: 1,
  ups: 1,
  downs: 0,
  likes: null,
  saved: false,
  archived: false,
  locked: false,
  stickied: false,
  distinguished: null,
  over_18: false,
  author_flair_text: null,
})

const POST_FIELDS = {
  domain: 'self.x',
  is_self: true,
  selftext_html: null,
  upvote_ratio: 1,
  num_crossposts: 0,
  clicked: false,
  hidden: false,
  spoiler: false,
  quarantine: false,
  pinned: false,
  edited: false,
  link_flair_text: null,
  link_flair_css_class: null,
  removed_by_category: null,
  removed_by: null,
  banned_by: null,
  thumbnail: 'self',
  is_video: false,
  media: null,
  secure_media: null,
}

/** Marks that a row has for a moderator, or that a lookup by id has for anyone. */
export type Marks = { readonly moderates: boolean; readonly masked: boolean }

const marksOf = (item: Item, atMs: number, { moderates, masked }: Marks) => {
  const held = isHeld(item, atMs)
  return {
    ...(moderates
      ? {
          can_mod_post: true,
          banned_by: held ? true : null,
          spam: held,
          removed: held,
          removed_by_category: held ? 'automod_filtered' : null,
        }
      : {}),
    ...(masked && held ? { removed_by_category: 'moderator' } : {}),
  }
}

/** A row of a listing as the platform renders it at `atMs`. */
export const renderItem = (
  world: World,
  item: Item,
  atMs: number,
  marks: Marks = { moderates: false, masked: false },
) => {
  const isMasked = marks.masked && isHeld(item, atMs)
  const words = isMasked ? ['[removed]'] : wordsAt(item, atMs)
  const edited =
    item.edit !== null && item.edit.atMs <= atMs
      ? Math.floor((world.startMs + item.edit.atMs) / 1000)
      : false
  const base = {
    ...shared(item.place, item.id, item.author, createdS(world, item)),
    edited,
    ...marksOf(item, atMs, marks),
  }
  if (item.kind === 'post') {
    const data = { ...POST_FIELDS, ...base, name: item.name, title: words.join(' '), selftext: '' }
    return { kind: 't3', data: { ...data, num_comments: 0 } }
  }
  const threadId = item.thread?.slice(3) ?? ''
  const link = `/r/${item.place}/comments/${threadId}/x/`
  return {
    kind: 't1',
    data: {
      ...base,
      name: item.name,
      permalink: `${link}${item.id}/`,
      body: words.join(' '),
      body_html: `<div class="md"><p>${words.join(' ')}</p></div>`,
      link_id: item.thread,
      parent_id: item.thread,
      link_title: 'an old thread',
      link_author: 'op',
      link_url: `https://www.platform.example${link}`,
      link_permalink: `https://www.platform.example${link}`,
      replies: '',
      depth: 0,
      score_hidden: true,
      controversiality: 0,
      is_submitter: false,
      collapsed: false,
      collapsed_reason: null,
      collapsed_reason_code: null,
    },
  }
}
