import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { schemaOf } from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import { jsonSchema } from './route-docs.ts'

type Json = Record<string, unknown>
/** One text for all routes, or texts by path prefix with `''` for all others. */
type Description = string | Readonly<Record<string, string>>

const POST_ID = 'The id of a post, with or without t3_.'
const ONLY = (what: string) =>
  `true: only ${what}; false: none of them. Filters the page that was read.`
const AT_ONCE = "absent: the platform's default."

/** Descriptions of parameters whose schema has none. */
const PARAMETER_DESCRIPTIONS: Readonly<Record<string, Description>> = {
  after: {
    '/items': 'The after of the last answer; absent: from the oldest stored match.',
    '/stream': 'The after of items, to start after it; the header Last-Event-ID takes precedence.',
    '': 'The after of the last answer, unchanged; absent: the first page.',
  },
  before:
    'Only deliveries created before this; next_before of the last answer leads to the next page.',
  bucket: 'Sums of calls by hour or by day, in UTC.',
  contest_mode: ONLY('posts whose comments are in random order'),
  cursor: 'The next_cursor of the last answer; absent: from the newest.',
  delivery_id: {
    '/deliveries/request': 'A delivery to a webhook of kind webhook.',
    '': 'A delivery to explain; excludes id and item_id.',
  },
  depth: {
    '/comments/': `Maximum depth of replies; ${AT_ONCE}`,
    '/comments': 'Maximum depth of replies; without depth and limit, the whole tree.',
    '': `Maximum depth of replies; ${AT_ONCE}`,
  },
  from: 'Start of the period; absent: 30 days before its end.',
  fullnames: 'Ids of 1 to 100 posts, such as t3_1abcde, separated by commas.',
  group_by: 'author: the answer counts comments by author, and holds no comments.',
  id: {
    '/post/': POST_ID,
    '/comment/': 'The id of a comment, with or without t1_.',
    '/drafts/': 'The id of a draft.',
    '/feedback/': 'The id of a piece of feedback.',
    '/deliveries': 'The id of a monitor, including a removed one; absent: the deliveries of all.',
    '/why': 'The id of a monitor, together with item_id.',
    '': 'The id of a monitor.',
  },
  is_self: ONLY('text posts'),
  is_video: ONLY('video posts'),
  item_id: 'A post or a comment, such as t3_1abcde, to explain for the monitor that id names.',
  kind: 'Kind of media.',
  limit: {
    '/search/comments/deep': 'Number of posts whose comments are searched.',
    '/search/comments': 'Maximum number of posts to search.',
    '/search/media': 'Number of posts to search.',
    '/comments/': `Maximum number of comments; ${AT_ONCE}`,
    '/comments': 'Maximum number of comments; without limit and depth, the whole tree.',
    '/post/': `Maximum number of comments; ${AT_ONCE}`,
    '': 'Maximum number of rows.',
  },
  locked: ONLY('locked posts'),
  max_authors: 'With group_by: maximum number of authors.',
  max_comments: {
    '/search/comments/deep': 'Without group_by: maximum number of comments.',
    '': 'Maximum number of comments; filters the page that was read.',
  },
  max_score: 'Maximum score; filters the page that was read.',
  min_comments: 'Minimum number of comments; filters the page that was read.',
  min_score: 'Minimum score; filters the page that was read.',
  name: {
    '/sub/': 'The name of a subforum, without prefix.',
    '': 'The name of a user, without prefix.',
  },
  nsfw: 'Includes adult content.',
  over_18: ONLY('adult posts'),
  page: 'The name of a wiki page, such as index; a subpage is separated by /.',
  period:
    'The counted period up to now: 24 hours or 7 days by hour, or 30 days by day of UTC, each with the current one.',
  permalink: 'The path of a post or comment, such as /r/coffee/comments/1abcde/, or its address.',
  postId: POST_ID,
  q: {
    '/deliveries':
      'The first 8 or more characters of a delivery id, or text in the items, in upper or lower case.',
    '/search/users': 'A part of the name.',
    '/search/comments/deep': 'Search terms; matches comments that contain the words.',
    '/search/comments': 'Search terms; matches posts whose comments contain the words.',
    '': 'Search terms.',
  },
  replies: 'Fills data.replies from the tree.',
  retrying: 'true: only pending deliveries with a failed attempt; false: only those without.',
  since: 'Only deliveries created at this time or later.',
  sort: {
    '/comments': 'The order of the comments.',
    '/post/': 'The order of the comments.',
    '': 'The order of the rows.',
  },
  sort_type: 'Sorts the page that was read, highest first.',
  spoiler: ONLY('posts marked as spoilers'),
  status: {
    '/drafts': 'Only drafts that wait for a decision.',
    '': 'Only deliveries of this status.',
  },
  stickied: ONLY('pinned posts'),
  subforum: {
    '/search': 'Searches only this subforum; the name has no prefix.',
    '': 'The name of a subforum, without prefix.',
  },
  t: {
    '/search': 'Time range.',
    '/sub/': 'Time range.',
    '': 'Time range; used by the sorts top and controversial only.',
  },
  to: 'End of the period; absent: now.',
  token: 'Last part of the feed_url of a monitor.',
  webhook_id: 'The id of a webhook, including a deleted one; absent: the deliveries to all.',
}

// Created with the document, so that the start is not delayed.
const objectShape = once(() =>
  z.looseObject({
    properties: z
      .record(z.string(), z.looseObject({ description: z.string().optional() }))
      .default({}),
    required: z.array(z.string()).default([]),
  }),
)
function fieldsOf(schema: unknown) {
  const zod_schema = schemaOf(schema)
  return objectShape().parse(zod_schema ? jsonSchema(zod_schema, 'input') : {})
}

/** `schemas` are those that check its calls. */
export function toParameters(
  words: Naming,
  path: string,
  schemas: { params?: unknown; query?: unknown },
): Json[] {
  const path_fields = fieldsOf(schemas.params)
  const query_fields = fieldsOf(schemas.query)
  const describe = (name: string, own_description: string | undefined) => ({
    description: own_description ?? sentenceOf(words, path, name),
  })
  return [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
      const { description, ...schema } = path_fields.properties[name] ?? { type: 'string' }
      return { name, in: 'path', required: true, ...describe(name, description), schema }
    }),
    ...Object.entries(query_fields.properties).map(([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: query_fields.required.includes(name),
      ...describe(name, description),
      schema,
    })),
  ]
}

function sentenceOf(words: Naming, path: string, name: string): string | undefined {
  const text = PARAMETER_DESCRIPTIONS[name === words.community ? 'subforum' : name]
  if (text === undefined || typeof text === 'string') return text
  const place =
    [words.api, words.monitor, inboxPaths(words)[0]].find((it) => path.startsWith(it)) ?? ''
  const route = path.slice(place.length)
  return Object.entries(text).find(([begins]) => route.startsWith(begins))?.[1]
}
