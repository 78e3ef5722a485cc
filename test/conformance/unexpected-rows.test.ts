import { describe, expect, test } from 'bun:test'

import * as z from 'zod'

import { CODES } from '../../src/core/base/errors.ts'
import { cases } from '../support/long-form.ts'
import {
  readQuotations,
  readRecordings,
  type Recording,
  recordingsFolder,
} from '../support/replay.ts'
import { differences } from './differences.ts'
import { type MappedRecording, startConformanceFixture } from './fixture.ts'

// Goal: no recorded or documented answer of the platform crashes a read or makes it return wrong rows.
// Method: every recording replaces each kind of answer. If the second mapper accepts it as that kind, the rows must match;
// otherwise a documented error must be returned.

const folder = recordingsFolder()

type Place = {
  name: string
  path: string
  body?: object
  /** The kind of recording that the route expects. */
  like: string
  /** The expected body for a recording of that kind; null or omitted: an error. */
  due?: (expected: MappedRecording, recording: Recording) => object | null
  /** The expected body for `{}`, the platform's empty listing. */
  nothing?: object
}

/** One in this many recordings is replayed. */
const EVERY = cases({ short: 8, long: 1 })

// No recording contains a comment with this id.
const UNKNOWN_ID = 'zzzzz0'
const NOT_FOUND = { comments: [{ id: UNKNOWN_ID, name: `t1_${UNKNOWN_ID}`, status: 'not_found' }] }

const PLACES: Place[] = [
  {
    name: 'posts',
    path: '/posts?subforum=cats&limit=100',
    like: 'listing-posts',
    due: ({ skip, posts }) =>
      // Rows beyond the limit are additional pinned ones.
      skip === undefined ? { posts: Array.isArray(posts) ? posts.slice(0, 100) : posts } : null,
    nothing: { posts: [], after: null },
  },
  {
    name: 'a comment tree',
    path: '/post/ab12/comments',
    like: 'comment-tree',
    due: ({ skip, post, nodes }) => (skip === undefined ? { post, comments: nodes } : null),
  },
  {
    name: 'a user',
    path: '/user/ann',
    like: 'user-about',
    due: ({ skip, user }) => (skip === undefined ? z.looseObject({}).parse(user) : null),
  },
  { name: 'a comment', path: `/comment/${UNKNOWN_ID}`, like: 'info-batch' },
  {
    name: 'the liveness of comments',
    path: '/comments/verify',
    body: { ids: [UNKNOWN_ID] },
    like: 'info-batch',
    // Inbox entries are comments too, although the mapper has no row for them.
    due: (_, { body }) => (OfComments.safeParse(body).success ? NOT_FOUND : null),
    nothing: NOT_FOUND,
  },
]

const CommentNode = z.object({ kind: z.literal('t1'), data: z.object({ body: z.string() }) })
const MoreNode = z.object({ kind: z.literal('more') })
const CommentRow = z.union([CommentNode, MoreNode])
const CommentListing = z.object({
  kind: z.literal('Listing'),
  // A row of another kind is left out; a list of nothing else is not one of comments.
  data: z.object({
    children: z
      .array(z.unknown())
      .refine((rows) => rows.length === 0 || rows.some((it) => CommentRow.safeParse(it).success)),
  }),
})
const OfComments = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue('not JSON')
      return z.NEVER
    }
  })
  .pipe(CommentListing)
const Refusal = z.object({ error: z.string(), code: z.string() })

const UNREADABLE = ['upstream_unavailable', 'UPSTREAM_ERROR']
/** The expected error for a platform fault, by its table. Never a 500, which is reserved for bugs. */
const MEANING: Readonly<Record<number, string[]>> = {
  301: UNREADABLE,
  302: ['NOT_FOUND', 'PERMISSION_DENIED', ...UNREADABLE],
  400: ['UPSTREAM_ERROR'],
  401: ['PERMISSION_DENIED'],
  403: ['PERMISSION_DENIED', ...UNREADABLE],
  404: ['NOT_FOUND'],
  413: ['UPSTREAM_ERROR'],
  414: ['UPSTREAM_ERROR'],
  415: ['UPSTREAM_ERROR'],
  429: ['HTTP_429'],
  451: ['NOT_FOUND'],
}
/** The expected error for all other statuses, and for invalid successful answers. */
const ANYTHING_BUT_A_BUG = ['HTTP_429', 'NOT_FOUND', 'PERMISSION_DENIED', ...UNREADABLE]

describe.skipIf(folder === null)('an answer of another kind', () => {
  const recorded = folder === null ? [] : readRecordings(folder)
  const quoted = folder === null ? [] : readQuotations(folder)

  test.each(PLACES)(
    'instead of $name returns a documented error, or rows if it is of that kind',
    async (place) => {
      await using fixture = await startConformanceFixture(folder ?? '')
      const mapped_rows = await fixture.mapRecordings(place.like, recorded)
      const counts = new Map<string, number>()

      const odd: string[] = []
      for (const [index, recording] of [...recorded, ...quoted].entries()) {
        if (index % EVERY !== 0) continue
        const answer = await fixture.read(recording, `/api/forum${place.path}`, place.body)
        const due = dueAt(place, recording, mapped_rows[index])
        const wrong = due
          ? differences({ status: 200, body: due }, answer)
          : misfits(recording, answer)
        odd.push(...wrong.map((line) => `${recording.file} (${recording.status}) ${line}`))
        const code = answer.status === 200 ? 'rows' : Refusal.parse(answer.body).code
        counts.set(code, (counts.get(code) ?? 0) + 1)
      }

      const summary = [...counts].toSorted(([, a], [, b]) => b - a)
      console.log(`${place.name}: ${summary.map(([code, many]) => `${many} ${code}`).join(', ')}`)
      expect(odd).toEqual([])
      expect(fixture.events.filter(isBug)).toEqual([])
    },
    60_000,
  )
})

/** The expected body for a recording on this route; null: an error. A non-JSON success is an error. */
function dueAt(
  place: Place,
  recording: Recording,
  expected: MappedRecording | undefined,
): object | null {
  const { status, headers, body } = recording
  const json = headers.every(([name, value]) => name !== 'content-type' || value.includes('json'))
  if (status >= 300 || !json || body.trim() === '') return null
  if (['{}', '"{}"'].includes(body.trim())) return place.nothing ?? null
  return (expected && place.due?.(expected, recording)) ?? null
}

/** Faults of a response that must be a documented error. */
function misfits({ status, body }: Recording, answer: { status: number; body: unknown }): string[] {
  const refusal = Refusal.safeParse(answer.body)
  if (!refusal.success) return [`answered ${answer.status} without an error`]
  const { code } = refusal.data
  const documented = Object.entries(CODES).find(([name]) => name === code)?.[1].status
  const means = status >= 500 ? UNREADABLE : (MEANING[status] ?? ANYTHING_BUT_A_BUG)
  const allowed = status === 200 && body.trim() === '' ? MEANING[429] : means
  return documented === answer.status && allowed?.includes(code)
    ? []
    : [`answered ${answer.status} ${code}`]
}

/** The log event of an intended error; a bug is logged with another event. */
const isBug = ({ level, fields }: { level: string; fields: Record<string, unknown> }): boolean =>
  level === 'error' && fields['error'] !== 'ApiError'
