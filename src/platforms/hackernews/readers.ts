import type { Comment, ItemLiveness, Post, User } from '../../core/forum/items.ts'
import { plainText, toMarkdown } from '../html.ts'
import { DELETED_AUTHOR, makeComment, makePost } from '../items.ts'
import { fieldsOf, idAt, isoOf, numberAt, rowsOf, textAt } from '../values.ts'

/** Address of the site; the API has another. */
export const SITE = 'https://news.ycombinator.com'

export const PLACES = ['story', 'ask', 'show', 'job'] as const
export type Place = (typeof PLACES)[number]

/** An item of the API with a type; every other field may be missing. */
export type NativeItem = {
  id: number
  type: string
  row: Record<string, unknown>
}

/** An answered item; null for the answer `null` or one without id and type. */
export function toItem(value: unknown): NativeItem | null {
  const row = fieldsOf(value)
  const id = idAt(row, 'id')
  const type = textAt(row, 'type')
  return id === null || type === null ? null : { id, type, row }
}

/** True for a text that its author has delayed: it is not out yet. */
export const isDelayed = ({ row }: NativeItem): boolean => row['text'] === '[delayed]'

export const isComment = ({ type }: NativeItem): boolean => type === 'comment'
/** True for an item that has a title of its own. */
export const isPost = ({ type }: NativeItem): boolean =>
  type === 'story' || type === 'job' || type === 'poll'

export const livenessOf = (item: NativeItem | null): ItemLiveness => {
  if (item === null) return 'not_found'
  if (item.row['deleted'] === true) return 'deleted'
  return item.row['dead'] === true ? 'removed' : 'live'
}

const itemUrl = (id: number | string): string => `${SITE}/item?id=${id}`

/** The place of a post, by its type and the prefix of its title. */
function placeOf(type: string, title: string): Place {
  if (type === 'job') return 'job'
  if (/^ask hn\b/i.test(title)) return 'ask'
  return /^show hn\b/i.test(title) ? 'show' : 'story'
}

export function toPost({ id, type, row }: NativeItem): Post {
  const title = plainText(textAt(row, 'title') ?? '')
  return makePost({
    id: String(id),
    title,
    author: textAt(row, 'by') ?? DELETED_AUTHOR,
    subforum: placeOf(type, title),
    url: itemUrl(id),
    text: toMarkdown(textAt(row, 'text') ?? '', SITE),
    link_url: textAt(row, 'url') || null,
    upvotes: numberAt(row, 'score') ?? 0,
    comments: numberAt(row, 'descendants') ?? 0,
    created_ms: (numberAt(row, 'time') ?? Number.NaN) * 1000,
  })
}

/** The story that a comment belongs to, as far as it is known. */
export type Story = { id: string; title: string; url: string | null; author: string; place: Place }

export const storyOf = ({ id, title, link_url, author, subforum }: Post): Story => ({
  id,
  title,
  url: link_url,
  author,
  place: PLACES.find((it) => it === subforum) ?? 'story',
})

/** Stands for a story that cannot be read. */
export const unknownStory = (id: string): Story => ({
  id,
  title: '',
  url: null,
  author: DELETED_AUTHOR,
  place: 'story',
})

/** A comment under `story`. The API keeps the score of comments secret. */
export function toComment({ id, row }: NativeItem, story: Story): Comment {
  const parent = idAt(row, 'parent')
  const author = textAt(row, 'by') ?? DELETED_AUTHOR
  return makeComment({
    id: String(id),
    author,
    body: toMarkdown(textAt(row, 'text') ?? '', SITE),
    subforum: story.place,
    url: itemUrl(id),
    post_id: story.id,
    parent_id:
      parent === null ? null : String(parent) === story.id ? `t3_${story.id}` : `t1_${parent}`,
    link_title: story.title || null,
    link_url: story.url,
    is_submitter: author !== DELETED_AUTHOR && author === story.author,
    score_hidden: true,
    created_ms: (numberAt(row, 'time') ?? Number.NaN) * 1000,
  })
}

/** A user of either API; null for an answer without a name. */
export const toUser = (row: Record<string, unknown>): User | null => {
  const name = textAt(row, 'id') ?? textAt(row, 'username')
  if (name === null) return null
  const created = numberAt(row, 'created') ?? numberAt(row, 'created_at_i')
  const karma = numberAt(row, 'karma')
  return {
    id: name,
    name,
    url: `${SITE}/user?id=${name}`,
    created: created === null ? null : isoOf(created * 1000),
    created_utc: created,
    link_karma: null,
    comment_karma: null,
    total_karma: karma,
    verified: null,
    is_employee: null,
    is_mod: null,
    is_suspended: false,
    over_18: null,
    display_name: null,
    description: toMarkdown(textAt(row, 'about') ?? '', SITE) || null,
    avatar_url: null,
    banner_url: null,
  }
}

/** A hit of the search index; null for a kind that is neither post nor comment. */
export function hitOf(
  row: Record<string, unknown>,
): { kind: 'post'; post: Post } | { kind: 'comment'; comment: Comment } | null {
  const id = textAt(row, 'objectID')
  const created = numberAt(row, 'created_at_i')
  if (id === null || created === null) return null
  const tags = Array.isArray(row['_tags']) ? row['_tags'] : []
  const author = textAt(row, 'author') ?? DELETED_AUTHOR
  if (tags.includes('comment')) {
    const story = idAt(row, 'story_id')
    const parent = idAt(row, 'parent_id')
    const story_title = plainText(textAt(row, 'story_title') ?? '')
    const comment = makeComment({
      id,
      author,
      body: toMarkdown(textAt(row, 'comment_text') ?? '', SITE),
      subforum: placeOf('story', story_title),
      url: itemUrl(id),
      post_id: story === null ? '' : String(story),
      parent_id: parent === null ? null : parent === story ? `t3_${parent}` : `t1_${parent}`,
      link_title: story_title || null,
      link_url: textAt(row, 'story_url'),
      score_hidden: true,
      created_ms: created * 1000,
    })
    return { kind: 'comment', comment }
  }
  if (!['story', 'job', 'poll'].some((it) => tags.includes(it))) return null
  const title = plainText(textAt(row, 'title') ?? '')
  const post = makePost({
    id,
    title,
    author,
    subforum: placeOf(tags.includes('job') ? 'job' : 'story', title),
    url: itemUrl(id),
    text: toMarkdown(textAt(row, 'story_text') ?? '', SITE),
    link_url: textAt(row, 'url') || null,
    upvotes: numberAt(row, 'points') ?? 0,
    comments: numberAt(row, 'num_comments') ?? 0,
    created_ms: created * 1000,
  })
  return { kind: 'post', post }
}

/** Comments of one tree; the threads of the site have some thousand. */
const TREE_MAX = 10_000

/**
 * Rows of a tree of the search index, top down, and the ids of replies beyond the bound by their parent; null: the root. Never
 * recurses: the depth is set by others.
 */
export function rowsBelow(root: Record<string, unknown>): {
  rows: Record<string, unknown>[]
  beyond: { parent: number | null; ids: string[] }[]
} {
  const rows: Record<string, unknown>[] = []
  const beyond: { parent: number | null; ids: string[] }[] = []
  const take = (row: Record<string, unknown>, parent: number | null): void => {
    const children = rowsOf(row['children'])
    const room = Math.max(0, TREE_MAX - rows.length)
    rows.push(...children.slice(0, room))
    const ids = children.slice(room).flatMap((it) => idAt(it, 'id') ?? [])
    if (ids.length > 0) beyond.push({ parent, ids: ids.map(String) })
  }
  take(root, null)
  for (let at = 0; at < rows.length; at++) take(rows[at] ?? {}, idAt(rows[at] ?? {}, 'id'))
  return { rows, beyond }
}

/** Comments of rows of a tree of the search index; deleted ones are left out. */
export function commentsOfTree(rows: readonly Record<string, unknown>[], story: Story): Comment[] {
  const found: Comment[] = []
  for (const row of rows) {
    const id = idAt(row, 'id')
    const created = numberAt(row, 'created_at_i')
    const text = textAt(row, 'text')
    const parent = idAt(row, 'parent_id')
    if (id !== null && created !== null && text !== null) {
      const author = textAt(row, 'author') ?? DELETED_AUTHOR
      found.push(
        makeComment({
          id: String(id),
          author,
          body: toMarkdown(text, SITE),
          subforum: story.place,
          url: itemUrl(id),
          post_id: story.id,
          parent_id: String(parent) === story.id ? `t3_${story.id}` : `t1_${parent}`,
          link_title: story.title,
          link_url: story.url,
          is_submitter: author === story.author,
          score_hidden: true,
          created_ms: created * 1000,
        }),
      )
    }
  }
  return found
}

const TITLES: Readonly<Record<Place, string>> = {
  story: 'Stories and polls',
  ask: 'Ask HN',
  show: 'Show HN',
  job: 'Jobs',
}

const PATHS: Readonly<Record<Place, string>> = {
  story: 'newest',
  ask: 'ask',
  show: 'show',
  job: 'jobs',
}

export const toCommunity = (place: Place) => ({
  id: place,
  name: place,
  display_name_prefixed: place,
  title: TITLES[place],
  description: null,
  subscribers: null,
  active_users: null,
  created: null,
  created_utc: null,
  type: 'public',
  over_18: false,
  quarantined: false,
  url: `${SITE}/${PATHS[place]}`,
  icon_url: null,
  banner_url: null,
  language: 'en',
})
