import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { isObject } from '../../../../../src/core/base/object.ts'
import type { Fault } from '../../../../../src/core/base/result.ts'
import {
  readMore,
  readNativeTree,
  toComment,
} from '../../../../../src/platforms/reddit/readers/items.ts'
import {
  createReaders,
  readListing,
  readOne,
  readPeople,
} from '../../../../../src/platforms/reddit/readers/listing.ts'
import { MODERATOR_NEEDS, toModerator } from '../../../../../src/platforms/reddit/readers/people.ts'
import { classify } from '../../../../../src/platforms/reddit/response.ts'

// Goal: every recorded answer of the platform is classified and read without a surprise. Method:
// every recording goes through the classifier, and each of a readable kind through its reader.

const folder = process.env['FORUMD_RECORDINGS']
const BASE = 'https://forum.example'
const read = createReaders(BASE)

const Entry = z.object({ kind: z.string(), file: z.string(), status: z.number().nullable() })
const Meta = z.object({
  url: z.string().nullable(),
  response_headers: z.record(z.string(), z.array(z.string())),
})

const KINDS = new Set<Fault['kind']>([
  'throttled',
  'blocked',
  'login_required',
  'forbidden',
  'not_found',
  'timeout',
  'unavailable',
  'unreadable',
  'rejected',
])

const BY_STATUS: Record<number, Fault['kind'][]> = {
  301: ['unreadable'],
  302: ['unreadable', 'not_found', 'login_required'],
  400: ['rejected'],
  401: ['login_required'],
  403: ['forbidden', 'blocked', 'not_found'],
  404: ['not_found'],
  409: ['unreadable'],
  413: ['rejected'],
  414: ['rejected'],
  415: ['rejected'],
  429: ['throttled'],
  451: ['not_found'],
  500: ['unavailable'],
  502: ['unavailable'],
  503: ['unavailable'],
  504: ['unavailable'],
  520: ['unavailable'],
  522: ['unavailable'],
}

type Recording = z.infer<typeof Entry> & { url: string; headers: Headers; body: string }

function recordings(root: string): Recording[] {
  const lines = readFileSync(join(root, 'index.jsonl'), 'utf8').trim().split('\n')
  return lines.map((line) => {
    const entry = Entry.parse(JSON.parse(line))
    const meta = Meta.parse(
      JSON.parse(readFileSync(join(root, entry.file.replace(/\.\w+$/, '.meta.json')), 'utf8')),
    )
    const headers = new Headers()
    for (const [name, values] of Object.entries(meta.response_headers))
      if (values[0] !== undefined) headers.set(name, values[0])
    const path = join(root, entry.file)
    const body = existsSync(path) ? readFileSync(path, 'utf8') : ''
    return { ...entry, url: meta.url ?? '', headers, body }
  })
}

/** Reader of each readable kind. Answers to other calls are not part of it. */
const READERS: Record<string, (value: unknown) => { ok: boolean }> = {
  'comment-tree': (value) => readNativeTree(BASE, value),
  'comments-listing': (value) => readListing(value, { t1: read.comment }),
  'info-batch': (value) =>
    readListing<object>(value, { t1: read.comment, t3: read.post, t5: read.community }),
  'listing-mixed': (value) =>
    readListing<object>(value, { t1: read.commentItem, t3: read.postItem, t5: read.community }),
  'listing-posts': (value) =>
    readListing(Array.isArray(value) ? value[1] : value, { t3: read.postWithMedia }),
  'user-listing': (value) => readListing(value, { t1: read.commentItem, t3: read.postItem }),
  'user-search': (value) => readListing<object>(value, { t2: read.foundUser, t5: read.community }),
  'subreddit-search': (value) => readListing(value, { t5: read.community }),
  'user-about': (value) => readOne(value, 't2', read.user),
  'subreddit-about': (value) => readOne(value, 't5', read.community),
  'more-children': (value) => readMore(value),
  moderators: (value) => readPeople(value, { needs: MODERATOR_NEEDS, map: toModerator }),
}

/** Recordings of calls that are not made here, and the check that detects them. */
const FOREIGN: Record<string, (value: unknown) => boolean> = {
  // A list of names, not of communities.
  'subreddit-search': (value) => isObject(value) && 'names' in value,
  // Bearers get their own account without a wrapper, and so do some saved files.
  'user-about': (value) => isObject(value) && !('kind' in value),
  'subreddit-about': (value) => isObject(value) && !('kind' in value),
  // A listing of comments, a single node, and the rendered shape of the path without a suffix.
  'more-children': (value) => !isObject(value) || !('json' in value) || isRendered(value),
}

const isRendered = (value: unknown) => JSON.stringify(value).includes('"content":"')

if (folder === undefined) console.log('FORUMD_RECORDINGS is not set: recordings are skipped')

describe.skipIf(folder === undefined)('recorded answers', () => {
  const all = folder === undefined ? [] : recordings(folder)

  test('exist', () => {
    expect(all.length).toBeGreaterThan(900)
  })

  test.each(Object.keys(READERS))('every %s maps without a fault', (kind) => {
    const readable = all.filter((it) => it.kind === kind)
    const failed = readable.flatMap(({ file, body }) => {
      const value: unknown = JSON.parse(body)
      if (FOREIGN[kind]?.(value)) return []
      const outcome = READERS[kind]?.(value)
      return outcome?.ok ? [] : [`${file} ${JSON.stringify(outcome)}`]
    })

    expect(failed).toEqual([])
    expect(readable.length).toBeGreaterThan(0)
  })

  test("have no comment node outside the port's shape in any tree", () => {
    let nodes = 0
    for (const { kind, body } of all) {
      if (kind !== 'comment-tree') continue
      const tree = readNativeTree(BASE, JSON.parse(body))
      for (const node of tree.ok ? tree.value.comments : []) {
        if (node.kind !== 't1') continue
        nodes++
        const comment = toComment(BASE, node.data)
        expect(comment.permalink).toStartWith('/r/')
        expect(comment.post_id).toMatch(/^[a-z0-9]+$/)
      }
    }
    expect(nodes).toBeGreaterThan(100)
  })

  test('with a status are parsed or refused with a documented fault', () => {
    const odd = all.flatMap(({ file, status, headers, body }) => {
      if (status === null) return []
      const outcome = classify({ status, headers, body }, { now: 0 })
      if (outcome.ok) return status < 300 ? [] : [`${file} ${status} was believed`]
      return KINDS.has(outcome.fault.kind) ? [] : [`${file} ${outcome.fault.kind}`]
    })

    expect(odd).toEqual([])
  })

  test('with a success status are accepted, except refusals with such a status', () => {
    const refused = all.flatMap(({ kind, file, status, headers, body }) => {
      if (status !== 200 || ['errors', 'other', 'login', 'edit-profile'].includes(kind)) return []
      const outcome = classify({ status, headers, body }, { now: 0 })
      return outcome.ok ? [] : [`${file} ${JSON.stringify(outcome.fault)}`]
    })

    expect(refused).toEqual([])
  })

  test('with an error status have the fault of that status', () => {
    const odd = all.flatMap(({ file, kind, status, headers, body }) => {
      if (status === null || status < 300) return []
      const outcome = classify({ status, headers, body }, { now: 0 })
      const fault = outcome.ok ? null : outcome.fault.kind
      const due = BY_STATUS[status] ?? []
      return fault && due.includes(fault) ? [] : [`${kind} ${file} ${status} ${fault}`]
    })

    expect(odd).toEqual([])
  })
})
