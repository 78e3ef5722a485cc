import { Elysia, ValidationError } from 'elysia'
import * as z from 'zod'

import { ApiError, CODES, invalid } from '../core/errors.ts'
import { once } from '../core/once.ts'
import { wireCode, type Words } from '../core/wire.ts'
import type { Log } from '../outside.ts'
import { isStorageError } from '../store/db.ts'

const STORAGE_RETRY_S = 5
const FRAMES = 6

/** The status and body of an error, and what goes with it in the head. */
export function render(error: ApiError, words: Words) {
  const { code, details } = error
  const { status, error: sentence } = CODES[code]
  const { message, field, retry_after_s, extra } = details
  const body = {
    error: sentence === null ? error.message : wireCode(words, sentence),
    code: wireCode(words, code),
    ...(message === undefined || sentence === null ? {} : { message }),
    ...(field === undefined ? {} : { field }),
    ...(retry_after_s === undefined ? {} : { retry_after: retry_after_s }),
    ...extra,
  }
  const headers: Record<string, string> =
    retry_after_s === undefined ? {} : { 'retry-after': String(retry_after_s) }
  return { status, body, headers }
}

/** Turns everything that is thrown into the one error body the API promises. `heard` is told of all of it. */
export const errors = (words: Words, log: Log, heard: (error: unknown) => void = () => {}) =>
  new Elysia({ name: 'errors' }).onError(
    { as: 'global' },
    ({ code, error, set, request, route }) => {
      heard(error)
      const known = toKnown(code, error)
      if (known === null || known.code === 'internal_error' || known.code === 'storage_unavailable')
        log('error', 'http.failed', {
          route: route || undefined,
          method: request.method,
          request_id: set.headers['x-request-id'],
          ...trace(error),
        })
      const { status, body, headers } = render(known ?? new ApiError('internal_error'), words)
      set.status = status
      Object.assign(set.headers, headers)
      return body
    },
  )

function toKnown(code: unknown, error: unknown): ApiError | null {
  if (error instanceof ApiError) return error
  // A response that breaks its own schema is our fault, not the caller's.
  if (error instanceof ValidationError) return error.type === 'response' ? null : refusal(error)
  if (code === 'NOT_FOUND') return new ApiError('NOT_FOUND', { message: 'there is no such route' })
  if (code === 'PARSE') return unreadable(error)
  if (isStorageError(error))
    return new ApiError('storage_unavailable', {
      message: 'what the call needs could not be written down; nothing was done',
      retry_after_s: STORAGE_RETRY_S,
    })
  return null
}

const issueShape = once(() =>
  z.object({
    path: z.array(z.union([z.string(), z.number()])).default([]),
    message: z.string(),
    keys: z.array(z.string()).optional(),
  }),
)

/** Elysia wraps what the reader of bodies throws. */
function unreadable(error: unknown): ApiError {
  const cause = error instanceof Error ? error.cause : null
  return cause instanceof ApiError ? cause : invalid('body', 'body could not be read')
}

/** The first thing that is wrong with what a caller sent, by the name of its field. */
function refusal({ valueError, type }: ValidationError): ApiError {
  const issue = issueShape().safeParse(valueError).data
  if (!issue) return invalid(type, `${type} is not valid`)
  const path = [...issue.path, ...(issue.keys?.slice(0, 1) ?? [])]
  const field = path.reduce<string>(
    (name, part) =>
      typeof part === 'number' ? `${name}[${part}]` : (name && `${name}.${part}`) || part,
    '',
  )
  if (field === '') return invalid(type, issue.message)
  // A schema that has no sentence of its own for a field that is not there.
  if (issue.message.endsWith('received undefined')) return invalid(field, `${field} is required`)
  const last = issue.path.findLast((part) => typeof part === 'string') ?? field
  const named = issue.message.includes(last) || issue.keys !== undefined
  return invalid(field, named ? issue.message : `${field}: ${issue.message}`)
}

/** What an operator needs of an error. The message of a stranger's error may hold an address or a secret: it stays out. */
function trace(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: typeof error }
  const ours =
    error instanceof TypeError ||
    error instanceof RangeError ||
    error instanceof ReferenceError ||
    isStorageError(error)
  const at = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    error: error.name,
    ...(ours ? { message: error.message } : {}),
    at: at.slice(0, FRAMES).map((line) => line.trim()),
  }
}
