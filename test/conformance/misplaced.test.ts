import { describe, expect, test } from 'bun:test'

import * as z from 'zod'

import { CODES } from '../../src/core/errors.ts'
import {
  readQuotations,
  readRecordings,
  type Recording,
  recordingsFolder,
} from '../support/replay.ts'
import { differences } from './differences.ts'
import { startStage, type Told } from './stage.ts'

// Goal: nothing that the platform was ever recorded or quoted to say brings a read down or makes it lie.
// Method: every recording, whatever it is, stands in for each kind of answer that we ask for. Where the second mapper
// says that it is one the rows have to be right; everywhere else a documented error has to come.

const folder = recordingsFolder()

type Place = {
  name: string
  path: string
  body?: object
  /** The kind of recording that belongs here. */
  like: string
  /** What the caller gets for one that does; null, as well as no `due`, for an error. */
  due?: (told: Told, recording: Recording) => object | null
  /** What the caller gets for `{}`, which is how the platform says that there is nothing to list. */
  nothing?: object
}

// No recording holds a comment of this id.
const STRANGER = 'zzzzz0'
const NOT_FOUND = { comments: [{ id: STRANGER, name: `t1_${STRANGER}`, status: 'not_found' }] }

const PLACES: Place[] = [
  {
    name: 'posts',
    path: '/posts?subforum=cats',
    like: 'listing-posts',
    due: ({ skip, posts }) => (skip === undefined ? { posts } : null),
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
  { name: 'a comment', path: `/comment/${STRANGER}`, like: 'info-batch' },
  {
    name: 'the liveness of comments',
    path: '/comments/verify',
    body: { ids: [STRANGER] },
    like: 'info-batch',
    // Those in an inbox are comments too, although the mapper has no row for them.
    due: (_, { body }) => (OfComments.safeParse(body).success ? NOT_FOUND : null),
    nothing: NOT_FOUND,
  },
]

const CommentNode = z.object({ kind: z.literal('t1'), data: z.object({ body: z.string() }) })
const MoreNode = z.object({ kind: z.literal('more') })
const CommentListing = z.object({
  kind: z.literal('Listing'),
  data: z.object({ children: z.array(z.union([CommentNode, MoreNode])) }),
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
/** What a refusal by the platform becomes, as its table of refusals has it. Never a 500: nothing here is our fault alone. */
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
/** Of every other status, and of what came as a success and is none. */
const ANYTHING_BUT_A_BUG = ['HTTP_429', 'NOT_FOUND', 'PERMISSION_DENIED', ...UNREADABLE]

describe.skipIf(folder === null)('an answer of another kind', () => {
  const recorded = folder === null ? [] : readRecordings(folder)
  const quoted = folder === null ? [] : readQuotations(folder)

  test.each(PLACES)(
    'in place of $name gives a documented error, and rows only where it is no other kind after all',
    async (place) => {
      await using stage = await startStage(folder ?? '')
      const told = await stage.told(place.like, recorded)
      const counts = new Map<string, number>()

      const odd: string[] = []
      for (const [index, recording] of [...recorded, ...quoted].entries()) {
        const answer = await stage.read(recording, `/api/forum${place.path}`, place.body)
        const due = dueAt(place, recording, told[index])
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
      expect(stage.events.filter(isBug)).toEqual([])
    },
    60_000,
  )
})

/** What a caller gets for a recording in this place; null for an error. A success that is not JSON is none. */
function dueAt(place: Place, recording: Recording, told: Told | undefined): object | null {
  const { status, headers, body } = recording
  const json = headers.every(([name, value]) => name !== 'content-type' || value.includes('json'))
  if (status >= 300 || !json || body.trim() === '') return null
  if (['{}', '"{}"'].includes(body.trim())) return place.nothing ?? null
  return (told && place.due?.(told, recording)) ?? null
}

/** What is wrong with an answer that has to be one of the documented errors. */
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

/** An error that we chose to answer with stands in the log as well; a bug stands there by another name. */
const isBug = ({ level, fields }: { level: string; fields: Record<string, unknown> }): boolean =>
  level === 'error' && fields['error'] !== 'ApiError'
