// Goal: every recorded answer of a Lemmy or PieFed server that a read maps becomes rows, with the author, the place and the
// time of each.
// Method: reads index.jsonl of $FORUMD_SOURCES/lemmy, and maps each body by the endpoint that it is recorded for.

import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import {
  noteState,
  shownState,
  toComment,
  toItem,
  toModerators,
  toPost,
  toSite,
  toUser,
  viewsOf,
} from '../../src/platforms/lemmy/readers.ts'
import { fieldsOf, rowsOf } from '../../src/platforms/values.ts'

const sources = process.env['FORUMD_SOURCES']
const folder = sources === undefined ? null : join(sources, 'lemmy')
const Entry = z.object({ file: z.string(), endpoint: z.string(), api_version: z.string() })

const entries =
  folder === null
    ? []
    : readFileSync(join(folder, 'index.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => Entry.parse(JSON.parse(line)))

const bodyOf = (file: string): unknown => JSON.parse(readFileSync(join(folder ?? '', file), 'utf8'))

const SITE = 'https://lemmy.example'
const views = (value: unknown, kind: Parameters<typeof viewsOf>[1]) => {
  const rows = viewsOf(value, kind)
  expect(rows?.length).toBeGreaterThan(0)
  return rows ?? []
}

const expectItem = (row: ReturnType<typeof toPost> | ReturnType<typeof toComment>) => {
  expect(row).not.toBeNull()
  expect(row?.author).not.toBe('')
  expect(row?.author).not.toBe('[deleted]')
  expect(row?.subforum).toMatch(/^[\w-]+(?:@[\w.-]+)?$/)
  expect(row?.created_utc).toBeGreaterThan(1_600_000_000)
}

const expectUser = (value: unknown) => {
  const user = toUser(fieldsOf(value), SITE)
  expect(user?.name).toMatch(/^\w+(?:@[\w.-]+)?$/)
  expect(user?.created_utc).toBeGreaterThan(1_500_000_000)
}

/** Checks by endpoint; null: no read maps it yet. */
const CHECKS: Readonly<Record<string, ((value: unknown) => void) | null>> = {
  '/post/list': (value) => {
    for (const view of views(value, 'post')) {
      expectItem(toPost(view, SITE))
      expect(toPost(view, SITE)?.title).not.toBe('')
    }
  },
  '/comment/list': (value) => {
    for (const view of views(value, 'comment')) {
      expectItem(toComment(view, SITE))
      expect(toComment(view, SITE)?.body).not.toBe('')
    }
  },
  '/site': (value) =>
    expect(toSite(value)).toMatchObject({ title: expect.any(String), version: expect.any(String) }),
  '/person': (value) => {
    expectUser(fieldsOf(value)['person_view'])
    expect(Array.isArray(toModerators(value))).toBe(true)
  },
  '/user': (value) => {
    expectUser(fieldsOf(value)['person_view'])
    for (const view of viewsOf(value, 'post') ?? []) expectItem(toPost(view, SITE))
    for (const view of views(value, 'comment')) {
      expectItem(toComment(view, SITE))
      // The recorded comment is deleted: it is no item.
      const shown = { from: 'list', generation: 'piefed', is_account: false } as const
      noteState(view, shownState(view, shown))
      expect(toItem(view, SITE)).toBeNull()
    }
  },
  '/search': (value) => views(value, 'person').forEach(expectUser),
  '/account/notification/list': null,
}

const endpointOf = (endpoint: string): string =>
  endpoint.replace(/^GET \/api\/\w+/, '').replace(/\?.*$/, '')

if (folder === null)
  console.log('FORUMD_SOURCES is not set: the recorded answers of Lemmy are skipped')

describe.skipIf(folder === null)('recorded answers', () => {
  test('every recording is in the index', () => {
    const files = readdirSync(folder ?? '').filter((file) => file.endsWith('.json'))
    expect(files.toSorted()).toEqual(entries.map(({ file }) => file).toSorted())
  })

  test('all three APIs are there', () => {
    expect(new Set(entries.map(({ api_version }) => api_version.split(' ')[0]))).toEqual(
      new Set(['v3', 'v4', 'piefed-alpha']),
    )
  })

  test.each(entries)('$file', ({ file, endpoint }) => {
    const check = CHECKS[endpointOf(endpoint)]
    expect(check).not.toBeUndefined()
    expect(rowsOf([bodyOf(file)])).toHaveLength(1)
    check?.(bodyOf(file))
  })
})
