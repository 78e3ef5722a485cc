import { peerUrl } from '../../core/base/url.ts'
import { outsideCode } from '../../core/enrichment/markdown.ts'
import {
  type Comment,
  type Community,
  type Item,
  type ItemLiveness,
  type Moderator,
  MORE_PLACES,
  type Post,
  type User,
} from '../../core/forum/items.ts'
import { plainText, toMarkdown } from '../html.ts'
import { DELETED_AUTHOR, makeComment, makePost } from '../items.ts'
import { fieldsOf, idAt, isoOf, numberAt, ROWS_MAX, rowsOf, textAt } from '../values.ts'
import { placesIn } from './tags.ts'

type Row = Record<string, unknown>

export type Category = { id: number; path: string; parent: number | null; row: Row }

/** Categories by id, and the ids of each category with those below it. */
export type Categories = {
  by_id: ReadonlyMap<number, Category>
  /** Null: no category has this path. */
  find(path: string): Category | null
  /** Ids of the category and of all below it. */
  within(id: number): ReadonlySet<number>
}

const SLUG_MAX = 255

/** The slug of a category; its id for one without. */
export const slugOf = (row: Row, id: number): string =>
  textAt(row, 'slug')?.slice(0, SLUG_MAX).toWellFormed() || `${id}-category`

/** Deepest category: a site has two levels, or three where its operator switched them on. */
const LEVELS_MAX = 4

/** Categories of an answer of `/site.json`, or of `/categories.json` with its sub-categories. */
export function toCategories(rows: readonly Row[]): Categories {
  const found = new Map<number, Row>()
  const waiting = [...rows]
  for (let at = 0; at < waiting.length; at++) {
    const row = waiting[at] ?? {}
    const id = idAt(row, 'id')
    if (id !== null) found.set(id, row)
    if (waiting.length < ROWS_MAX) waiting.push(...rowsOf(row['subcategory_list']))
  }
  const pathOf = (id: number, level = 0): string => {
    const row = found.get(id) ?? {}
    const slug = slugOf(row, id)
    const parent = idAt(row, 'parent_category_id')
    return parent === null || !found.has(parent) || level >= LEVELS_MAX
      ? slug
      : `${pathOf(parent, level + 1)}/${slug}`
  }
  const by_id = new Map<number, Category>()
  for (const [id, row] of found)
    by_id.set(id, { id, path: pathOf(id), parent: idAt(row, 'parent_category_id'), row })
  const by_path = new Map([...by_id.values()].map((it) => [it.path.toLowerCase(), it]))
  return {
    by_id,
    find: (path) => by_path.get(path.toLowerCase()) ?? null,
    within(id) {
      const ids = new Set([id])
      for (let level = 0; level < LEVELS_MAX; level++)
        for (const it of by_id.values())
          if (it.parent !== null && ids.has(it.parent)) ids.add(it.id)
      return ids
    },
  }
}

/** Site of the rows: its address without a slash at the end, and names that rows state by id. */
export type SiteFacts = {
  base_url: string
  /** Path of a category; null: a row without one. */
  placeOf(category_id: number | null): string
  /** Id of a post by its number in a topic, as far as it was seen; null if unknown. */
  idOf(topic_id: number, post_number: number): number | null
  /** Topic of a post, as far as it was seen. */
  topicOf(topic_id: number): TopicFacts | null
}

/** Facts of a topic that the rows of its posts do not state. */
export type TopicFacts = {
  title: string
  link_url: string | null
  category_id: number | null
  author_id: number | null
  /** No list shows it. */
  is_unlisted: boolean
}

/** Kinds of posts: a regular one, and one that the staff has coloured. The others are notes of the software and whispers. */
const REGULAR = 1
const COLOURED = 2
const LIKE = 2

/** A row of a post with everything that its place in lists depends on. */
export type NativePost = { id: number; topic_id: number; number: number; row: Row }

/** A regular post; null for a row of another kind, or one without ids. */
export function toNative(row: Row): NativePost | null {
  const id = idAt(row, 'id')
  const topic_id = idAt(row, 'topic_id')
  const number = idAt(row, 'post_number')
  if (id === null || topic_id === null || number === null) return null
  const type = numberAt(row, 'post_type') ?? REGULAR
  // With an action code it is a note, as of a closed topic.
  const is_post = type === REGULAR || (type === COLOURED && textAt(row, 'action_code') === null)
  return is_post ? { id, topic_id, number, row } : null
}

/** Topic starters are posts, with the id of their topic; every other post is a comment. */
export const itemNameOf = ({ id, topic_id, number }: NativePost): string =>
  number === 1 ? `t3_${topic_id}` : `t1_${id}`

/** State of a post for its readers. A deleted or hidden text is replaced by a notice. */
export function livenessOf({ row }: NativePost): ItemLiveness {
  if (row['user_deleted'] === true) return 'deleted'
  if (textAt(row, 'deleted_at') !== null) return 'removed'
  return row['hidden'] === true || row['cooked_hidden'] === true ? 'removed' : 'live'
}

/** The text as its author wrote it, or the rendered one as Markdown. Links are absolute. */
function bodyOf(row: Row, base_url: string): string {
  const raw = textAt(row, 'raw')
  return raw === null
    ? markdownOf(textAt(row, 'cooked') ?? textAt(row, 'excerpt') ?? '', base_url)
    : withAbsoluteLinks(raw, base_url)
}

/** Paths of a site in a subfolder begin with the folder. */
const markdownOf = (html: string, base_url: string): string =>
  toMarkdown(html, new URL(base_url).origin)

/** BBCode and HTML in Markdown: their names and attributes are no text. What a reader sees stays: a summary, a quoted line. */
const SUMMARY = /\[details="?([^"\]\n]{0,300})"?[^\]\n]{0,300}\](?!\()/gi
const BBCODE =
  /\[\/?(?:quote|details|poll|spoiler|blur|hide|grid|wrap|date|date-range|chat|event|b|i|u|s|size|color|img|url|email|code|center)\b(?:[= ][^\]\n]{0,500})?\](?!\()/gi
const TAG = /<\/?[a-z][a-z0-9-]{0,30}(?:\s[^<>]{0,1000})?\/?>|<!--[^>]{0,1000}-->/gi
/** Sizes of a picture, and the kind of an upload, behind its name. */
const SIZE =
  /(\[[^[\]|\n]{0,300})\|(?:\d{1,5}x\d{1,5}(?:, ?\d{1,3}%)?|attachment|thumbnail|audio|video)(?=[|\]])/g

const withoutMarkup = (markdown: string): string =>
  /[[<]/.test(markdown)
    ? outsideCode(markdown, (part) =>
        part
          .replaceAll(SUMMARY, '$1')
          .replaceAll(BBCODE, '')
          .replaceAll(SIZE, '$1')
          .replaceAll(TAG, ''),
      ).trim()
    : markdown

const withAbsoluteLinks = (markdown: string, base_url: string): string =>
  withoutMarkup(markdown)
    .replaceAll(/\]\(upload:\/\//g, `](${base_url}/uploads/short-url/`)
    .replaceAll(/\]\((?=\/(?!\/))/g, `](${new URL(base_url).origin}`)

/** Likes of a post. A list of actions without an entry states that there are none. */
function likesOf(row: Row): number {
  const like = rowsOf(row['actions_summary']).find(({ id }) => id === LIKE)
  return (like && numberAt(like, 'count')) ?? numberAt(row, 'like_count') ?? 0
}

/** NaN: the row states no time. */
const msAt = (row: Row, field: string): number => Date.parse(textAt(row, field) ?? '')

const editedOf = (row: Row): string | false => {
  const at = msAt(row, 'updated_at')
  return (numberAt(row, 'version') ?? 1) > 1 && !Number.isNaN(at) ? isoOf(at) : false
}

const urlOf = (site: SiteFacts, slug: string | null, topic_id: number, number?: number): string =>
  `${site.base_url}/t/${slug || '-'}/${topic_id}${number === undefined ? '' : `/${number}`}`

const infoOf = (row: Row) => ({
  fullname: null,
  flair:
    textAt(row, 'user_title') || textAt(row, 'flair_name') || textAt(row, 'primary_group_name'),
  premium: null,
})

const authorOf = (row: Row): string => textAt(row, 'username') || DELETED_AUTHOR

/** A topic's starter as a post. `topic` is the topic's row where the post's does not suffice. */
export function toPost(
  { topic_id, row }: NativePost,
  site: SiteFacts,
  topic: Row | null = null,
): Post {
  const known = site.topicOf(topic_id)
  const facts = topic ?? {}
  const slug = textAt(row, 'topic_slug') ?? textAt(facts, 'slug')
  const posts = numberAt(facts, 'posts_count') ?? numberAt(row, 'posts_count')
  const category_id =
    idAt(facts, 'category_id') ?? idAt(row, 'category_id') ?? known?.category_id ?? null
  return makePost({
    id: String(topic_id),
    title:
      textAt(row, 'topic_title') ?? textAt(facts, 'title') ?? known?.title ?? wordsOf(slug ?? ''),
    author: authorOf(row),
    subforum: site.placeOf(category_id),
    url: urlOf(site, slug, topic_id),
    text: bodyOf(row, site.base_url),
    link_url: textAt(facts, 'featured_link') ?? known?.link_url ?? null,
    upvotes: likesOf(row),
    comments: Math.max(0, (posts ?? 1) - 1),
    ...stateOf(facts),
    edited: editedOf(row),
    author_info: infoOf(row),
    created_ms: msAt(row, 'created_at'),
  })
}

const stateOf = (topic: Row) => ({
  locked: topic['closed'] === true || topic['archived'] === true,
  stickied: topic['pinned'] === true || topic['pinned_globally'] === true,
})

const wordsOf = (slug: string): string => slug.replaceAll('-', ' ')

/** A reply. Its parent is null where the site names it by a number whose id was not seen. */
export function toComment({ id, topic_id, number, row }: NativePost, site: SiteFacts): Comment {
  const topic = site.topicOf(topic_id)
  const parent_number = idAt(row, 'reply_to_post_number')
  const parent_id =
    parent_number === null || parent_number <= 1 ? null : site.idOf(topic_id, parent_number)
  const author_id = numberAt(row, 'user_id')
  return makeComment({
    id: String(id),
    author: authorOf(row),
    body: bodyOf(row, site.base_url),
    subforum: site.placeOf(idAt(row, 'category_id') ?? topic?.category_id ?? null),
    url: urlOf(site, textAt(row, 'topic_slug'), topic_id, number),
    post_id: String(topic_id),
    parent_id:
      parent_number === null || parent_number <= 1
        ? `t3_${topic_id}`
        : parent_id === null
          ? null
          : `t1_${parent_id}`,
    link_title: textAt(row, 'topic_title') ?? topic?.title ?? null,
    link_url: topic?.link_url ?? null,
    is_submitter: author_id !== null && author_id === (topic?.author_id ?? null),
    upvotes: likesOf(row),
    edited: editedOf(row),
    author_info: infoOf(row),
    created_ms: msAt(row, 'created_at'),
  })
}

export const itemOf = (native: NativePost, site: SiteFacts): Item =>
  native.number === 1
    ? { kind: 'post', ...toPost(native, site) }
    : { kind: 'comment', ...toComment(native, site) }

const namesOf = (users: unknown): ReadonlyMap<number, string> =>
  new Map(
    rowsOf(users).flatMap((row): [number, string][] => {
      const id = numberAt(row, 'id')
      const name = textAt(row, 'username')
      return id === null || name === null ? [] : [[id, name]]
    }),
  )

/** True for private messages, which the site shows to the holder of its key: they are not for the readers of the source. */
export const isPrivate = (topic: Row): boolean => topic['archetype'] === 'private_message'

/** Topics of a list, as posts. Their text is the excerpt that a list has, mostly none. */
export function topicsOf(body: Row, site: SiteFacts): Post[] {
  const list = fieldsOf(body['topic_list'])
  const names = namesOf(body['users'])
  return rowsOf(list['topics']).flatMap((row): Post[] => {
    const id = idAt(row, 'id')
    if (id === null || isPrivate(row)) return []
    const posters = rowsOf(row['posters'])
    const starter =
      posters.find((it) => /original poster/i.test(textAt(it, 'description') ?? '')) ?? posters[0]
    const user = starter && numberAt(starter, 'user_id')
    const author = user == null ? undefined : names.get(user)
    return [topicToPost(id, row, site, { author, text: textAt(row, 'excerpt') ?? '' })]
  })
}

/** Found topics. The search is limited to starters, whose rows name the author and the text. */
export function foundTopics(body: Row, site: SiteFacts): Post[] {
  const starters = new Map(rowsOf(body['posts']).map((row) => [idAt(row, 'topic_id'), row]))
  const topics = new Map(rowsOf(body['topics']).map((row) => [idAt(row, 'id'), row]))
  return [...starters].flatMap(([id, starter]): Post[] => {
    const row = topics.get(id)
    if (id === null || row === undefined || isPrivate(row)) return []
    const author = textAt(starter, 'username') ?? undefined
    const text = textAt(starter, 'blurb') ?? ''
    return [topicToPost(id, row, site, { author, text, likes: numberAt(starter, 'like_count') })]
  })
}

function topicToPost(
  id: number,
  row: Row,
  site: SiteFacts,
  { author, text, likes }: { author?: string | undefined; text: string; likes?: number | null },
): Post {
  const post = makePost({
    id: String(id),
    title: textAt(row, 'title') ?? plainText(textAt(row, 'fancy_title') ?? ''),
    author: author ?? DELETED_AUTHOR,
    subforum: site.placeOf(idAt(row, 'category_id')),
    url: urlOf(site, textAt(row, 'slug'), id),
    text: markdownOf(text, site.base_url),
    link_url: textAt(row, 'featured_link'),
    upvotes: likes ?? numberAt(row, 'op_like_count') ?? numberAt(row, 'like_count') ?? 0,
    comments: Math.max(0, (numberAt(row, 'posts_count') ?? 1) - 1),
    thumbnail_url: absolute(textAt(row, 'image_url'), site.base_url),
    ...stateOf(row),
    created_ms: msAt(row, 'created_at'),
  })
  return Object.assign(post, { [MORE_PLACES]: placesIn(row) })
}

/** Actions of the lists of a user that are items. */
const NEW_TOPIC = 4
const REPLY = 5

/**
 * A row of a user's actions; null for another action. Its text is an excerpt. Rows of replies
 * without the id of their post, as old servers send them, are left out.
 */
export function actionToItem(row: Row, site: SiteFacts): Item | null {
  const topic_id = idAt(row, 'topic_id')
  const type = numberAt(row, 'action_type')
  if (topic_id === null || row['deleted'] === true || row['hidden'] === true) return null
  const fields = { ...row, topic_title: row['title'], topic_slug: row['slug'] }
  const number = idAt(row, 'post_number') ?? 1
  const post_id = idAt(row, 'post_id')
  if (type === NEW_TOPIC && number === 1)
    return {
      kind: 'post',
      ...toPost({ id: post_id ?? 0, topic_id, number, row: fields }, site),
    }
  return type === REPLY && number > 1 && post_id !== null
    ? { kind: 'comment', ...toComment({ id: post_id, topic_id, number, row: fields }, site) }
    : null
}

const AVATAR_PX = '240'

function absolute(path: string | null, base_url: string): string | null {
  if (!path) return null
  return peerUrl(path.replace('{size}', AVATAR_PX), `${base_url}/`)?.href ?? null
}

/** A user, of a profile or a row of the directory; null without a name. */
export function toUser(row: Row, base_url: string): User | null {
  const name = textAt(row, 'username')
  if (name === null) return null
  const id = numberAt(row, 'id')
  const created = msAt(row, 'created_at')
  const bio = textAt(row, 'bio_raw') ?? markdownOf(textAt(row, 'bio_cooked') ?? '', base_url)
  const header = textAt(row, 'profile_background_upload_url') ?? textAt(row, 'profile_background')
  return {
    id: id === null ? null : String(id),
    name,
    url: `${base_url}/u/${encodeURIComponent(name)}`,
    created: Number.isNaN(created) ? null : isoOf(created),
    created_utc: Number.isNaN(created) ? null : Math.floor(created / 1000),
    link_karma: null,
    comment_karma: null,
    total_karma: null,
    verified: null,
    is_employee: null,
    is_mod: typeof row['moderator'] === 'boolean' ? row['moderator'] : null,
    is_suspended: textAt(row, 'suspended_till') !== null,
    over_18: null,
    display_name: textAt(row, 'name') || null,
    description: bio || null,
    avatar_url: absolute(textAt(row, 'avatar_template'), base_url),
    banner_url: absolute(header, base_url),
  }
}

/** A category as a community. Sites count no subscribers. */
export function toCommunity({ id, path, row }: Category, base_url: string): Community {
  const logo = textAt(fieldsOf(row['uploaded_logo']), 'url')
  const description =
    textAt(row, 'description_text') ?? markdownOf(textAt(row, 'description') ?? '', base_url)
  return {
    ...COMMUNITY,
    id: String(id),
    name: path,
    display_name_prefixed: path,
    title: textAt(row, 'name'),
    description: description || null,
    type: row['read_restricted'] === true ? 'private' : 'public',
    url: `${base_url}/c/${path}/${id}`,
    icon_url: absolute(logo, base_url),
  }
}

/** A tag as a community; `row` is the tag of its list. */
export const tagToCommunity = (tag: string, row: Row, base_url: string): Community => ({
  ...COMMUNITY,
  id: `tag:${tag}`,
  name: `tag:${tag}`,
  display_name_prefixed: `tag:${tag}`,
  title: tag,
  description: textAt(row, 'description') || null,
  type: 'public',
  url: `${base_url}/tag/${encodeURIComponent(tag)}`,
})

const COMMUNITY: Omit<Community, 'name'> = {
  id: null,
  display_name_prefixed: null,
  title: null,
  description: null,
  subscribers: null,
  active_users: null,
  created: null,
  created_utc: null,
  type: null,
  over_18: false,
  quarantined: false,
  url: null,
  icon_url: null,
  banner_url: null,
  language: null,
}

/** Administrators and moderators of the whole site; those of a category are not public. */
export function toModerators(about: Row): Moderator[] {
  const staff = new Map<string, Moderator>()
  for (const group of ['admins', 'moderators'] as const)
    for (const row of rowsOf(about[group])) {
      const id = numberAt(row, 'id')
      const name = textAt(row, 'username')
      if (id === null || name === null) continue
      const known = staff.get(name)?.mod_permissions ?? []
      staff.set(name, {
        id: String(id),
        name,
        mod_permissions: [...known, group === 'admins' ? 'admin' : 'moderator'],
        flair_text: textAt(row, 'title') || null,
        added: null,
      })
    }
  return [...staff.values()]
}
