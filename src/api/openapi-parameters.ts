import * as z from 'zod'

import { once } from '../core/once.ts'
import type { Words } from '../core/wire.ts'
import { madeOf } from './late.ts'
import { jsonSchema } from './openapi.ts'

type Json = Record<string, unknown>
/** One sentence wherever it stands; or by how the routes begin that take it, `''` all others. */
type Told = string | Readonly<Record<string, string>>

const POST_ID = 'The id of a post, with t3_ before it or without.'
const ONLY = (what: string) => `true: of the page that was read only ${what}; false: none of them.`
const AT_ONCE = 'left out, as many as the platform gives at once.'

/** What a parameter means whose schema does not say it. */
const TOLD: Readonly<Record<string, Told>> = {
  after: {
    '/items': 'The after of the last answer; left out, the oldest that are kept come first.',
    '/stream': 'The after of items, to begin behind it; the header Last-Event-ID wins.',
    '': 'The after of the last answer, passed back as it is; left out, it is the first page.',
  },
  before:
    'Only deliveries created before this; the created_at of the last one leads to the next page.',
  bucket: 'Whether calls are added up by the hour or by the day, in UTC.',
  contest_mode: ONLY('posts whose comments stand in random order'),
  cursor: 'The next_cursor of the last answer; left out, the newest come first.',
  delivery_id: 'A delivery to explain. It stands alone, without id and item_id.',
  depth: {
    '/comments/': `How many levels of replies at most; ${AT_ONCE}`,
    '/comments': 'How many levels of replies at most; left out as limit is, the whole tree.',
    '': `How many levels of replies at most; ${AT_ONCE}`,
  },
  from: 'The beginning of the time to tell of; left out, 30 days before its end.',
  fullnames: 'Ids of 1 to 100 posts, such as t3_1abcde, with commas between them.',
  group_by: 'With author, the answer tells who said it how often, and holds no comments.',
  id: {
    '/post/': POST_ID,
    '/comment/': 'The id of a comment, with t1_ before it or without.',
    '/drafts/': 'The id of a draft.',
    '/feedback/': 'The id of a piece of feedback.',
    '/deliveries': 'The id of a monitor, a removed one too; left out, the deliveries of all.',
    '/why': 'The id of a monitor, beside item_id.',
    '': 'The id of a monitor.',
  },
  is_self: ONLY('posts that are texts'),
  is_video: ONLY('posts that are videos'),
  item_id: 'A post or a comment, such as t3_1abcde, to explain for the monitor that id names.',
  kind: 'What the posts show.',
  limit: {
    '/search/comments/deep': 'How many posts are expanded.',
    '/search/media': 'How many posts are looked through.',
    '/comments/': `How many comments at most; ${AT_ONCE}`,
    '/comments': 'How many comments at most; left out as depth is, the whole tree.',
    '/post/': `How many comments at most; ${AT_ONCE}`,
    '': 'How many rows at most.',
  },
  locked: ONLY('posts that take no more comments'),
  max_authors: 'With group_by: how many authors at most.',
  max_comments: {
    '/search/comments/deep': 'Without group_by: how many comments at most.',
    '': 'Of the page that was read, only posts with at most so many comments.',
  },
  max_score: 'Of the page that was read, only posts with at most this score.',
  min_comments: 'Of the page that was read, only posts with at least so many comments.',
  min_score: 'Of the page that was read, only posts with at least this score.',
  name: {
    '/sub/': 'The name of a subforum, without prefix.',
    '': 'The name of a user, without prefix.',
  },
  nsfw: 'Whether to look among what is for adults too.',
  over_18: ONLY('posts for adults'),
  page: 'The name of a wiki page, such as index, with / between a page and one below it.',
  permalink: 'The path of a post or comment, such as /r/coffee/comments/1abcde/, or its address.',
  postId: POST_ID,
  q: {
    '/search/users': 'A part of the name.',
    '/search/comments/deep': 'What to look for; a comment is shown when the words occur in it.',
    '': 'What to look for.',
  },
  replies: 'Whether to fill data.replies from the tree.',
  sort: {
    '/comments': 'The order of the comments.',
    '/post/': 'The order of the comments.',
    '': 'The order of the rows.',
  },
  sort_type: 'Puts the page that was read into this order, highest first.',
  spoiler: ONLY('posts that are marked as spoilers'),
  status: {
    '/drafts': 'Only drafts that wait for somebody to decide.',
    '/feedback': 'Only feedback of this status.',
    '': 'Only deliveries of this status.',
  },
  stickied: ONLY('posts that are pinned'),
  subforum: {
    '/search': 'Looks in this subforum alone; its name is without prefix.',
    '': 'The name of a subforum, without prefix.',
  },
  t: {
    '/search': 'How far back to look.',
    '/sub/': 'How far back to look.',
    '': 'How far back to look; with the sorts top and controversial alone.',
  },
  to: 'The end of the time to tell of; left out, now.',
  token: 'What the feed_url of a monitor ends in.',
  type: 'Only feedback of this type.',
}

// Made when the document is, for which a start should not wait.
const objectShape = once(() =>
  z.looseObject({
    properties: z
      .record(z.string(), z.looseObject({ description: z.string().optional() }))
      .default({}),
    required: z.array(z.string()).default([]),
  }),
)
function fieldsOf(schema: unknown) {
  const made = madeOf(schema)
  return objectShape().parse(made ? jsonSchema(made, 'input') : {})
}

/** The parameters of a route's path and query, for the document. `schemas` are those that check its calls. */
export function toParameters(
  words: Words,
  path: string,
  schemas: { params?: unknown; query?: unknown },
): Json[] {
  const named = fieldsOf(schemas.params)
  const asked = fieldsOf(schemas.query)
  const tell = (name: string, said: string | undefined) => ({
    description: said ?? sentenceOf(words, path, name),
  })
  return [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
      const { description, ...schema } = named.properties[name] ?? { type: 'string' }
      return { name, in: 'path', required: true, ...tell(name, description), schema }
    }),
    ...Object.entries(asked.properties).map(([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: asked.required.includes(name),
      ...tell(name, description),
      schema,
    })),
  ]
}

function sentenceOf(words: Words, path: string, name: string): string | undefined {
  const told = TOLD[name === words.community ? 'subforum' : name]
  if (told === undefined || typeof told === 'string') return told
  const place = [words.api, words.monitor].find((it) => path.startsWith(it)) ?? ''
  const route = path.slice(place.length)
  return Object.entries(told).find(([begins]) => route.startsWith(begins))?.[1]
}
