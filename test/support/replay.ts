import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

/** A recorded answer of a platform. */
export type Recording = {
  kind: string
  /** Its path below the folder of the recordings, by which failures name it. */
  file: string
  status: number
  headers: [name: string, value: string][]
  body: string
  /** The platform was not asked for raw text, so that `&`, `<` and `>` stand escaped in every string. */
  escaped: boolean
}

const Entry = z.object({
  kind: z.string(),
  file: z.string(),
  status: z.number().nullable(),
  bytes: z.number(),
  traits: z.array(z.string()),
})
const Meta = z.object({
  url: z.string().nullable(),
  response_headers: z.record(z.string(), z.array(z.string())),
})
const Quotation = z.object({
  status: z.number(),
  method: z.string(),
  endpoint: z.string(),
  body: z.string(),
})

/** Headers of the recorded connection, or of a rate window in the past. */
const OF_THEN = /^(?:connection|content-(?:encoding|length)|transfer-encoding|x-ratelimit-.*)$/
const JSON_TYPE: [string, string] = ['content-type', 'application/json; charset=UTF-8']
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', txt: 'text/plain' }

/** The folder of the recordings; null, with a line that says so, when none is named. */
export function recordingsFolder(): string | null {
  const folder = process.env['FORUMD_RECORDINGS']
  if (folder === undefined) console.log('FORUMD_RECORDINGS is not set: recordings are skipped')
  return folder ?? null
}

/** Every recording of a folder. Throws when it cannot be read or holds none. */
export function readRecordings(folder: string): Recording[] {
  const lines = linesOf(join(folder, 'index.jsonl'))
  if (lines.length === 0) throw new Error(`${folder} holds no recordings`)
  return lines.map((line) => {
    const { kind, file, status, bytes, traits } = Entry.parse(JSON.parse(line))
    const [, stem, suffix = ''] = /^(.+)\.(\w+)$/.exec(file) ?? []
    const meta = Meta.parse(JSON.parse(readFileSync(join(folder, `${stem}.meta.json`), 'utf8')))
    const headers_replayed = Object.entries(meta.response_headers).flatMap(([name, values]) =>
      OF_THEN.test(name) ? [] : values.map((value): [string, string] => [name, value]),
    )
    const type = TYPES[suffix]
    const is_replayed = status !== null
    const headers = is_replayed
      ? headers_replayed
      : [type ? (['content-type', type] satisfies [string, string]) : JSON_TYPE]
    const raw = /[?&]raw_json=1\b/.test(meta.url ?? '') || traits.includes('html-raw')
    const body = bytes === 0 ? '' : named(readFileSync(join(folder, file), 'utf8'))
    return { kind, file, status: status ?? 200, headers, body, escaped: !raw }
  })
}

/** Recordings hide a name as `<USERNAME>`, which no platform allows in one; rows.py reads them in the same way. */
const named = (text: string): string =>
  text.replace(/(?:<|&lt;)(TEST_SUBREDDIT|(?:REDDIT_)?USERNAME)(?:>|&gt;)/g, '$1')

/** Refusals that others have quoted, of which no recording exists. */
export function readQuotations(folder: string): Recording[] {
  return linesOf(join(folder, 'quoted', 'errors.jsonl')).map((line, index) => {
    const { status, method, endpoint, body } = Quotation.parse(JSON.parse(line))
    const file = `quoted/errors.jsonl:${index + 1} ${method} ${endpoint}`
    return { kind: 'quoted', file, status, headers: [JSON_TYPE], body, escaped: false }
  })
}

const linesOf = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')

/** The text of a JSON body as the platform gives it to those who ask for raw text; untouched elsewhere. */
export function unescaped(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"/gs, (literal) => {
    if (!/(?:&|\\u0026)(?:lt|gt|amp);/i.test(literal)) return literal
    const text = z.string().parse(JSON.parse(literal))
    return JSON.stringify(
      text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
    )
  })
}

/** An answer to play, and what to put around its text where only a part of the real answer was recorded. */
export type Played = Pick<Recording, 'status' | 'headers' | 'body' | 'escaped'>

/** A platform with scripted answers: each once, the last one repeatedly. */
export function startReplay() {
  let answers: Played[] = []
  const requests: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname, search, searchParams } = new URL(request.url)
      requests.push(pathname + search)
      const next = answers.length > 1 ? answers.shift() : answers[0]
      if (next === undefined) return new Response(null, { status: 500 })
      const { status, headers, body, escaped } = next
      const text = escaped && searchParams.get('raw_json') === '1' ? unescaped(body) : body
      // A Bun response with text and without a type would be given one.
      return new Response(text === '' ? null : new TextEncoder().encode(text), { status, headers })
    },
  })
  return {
    url: server.url.origin,
    /** Requests since the last `play`: paths with their queries. */
    requests,
    play(...next: Played[]) {
      requests.length = 0
      answers = next
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** JSON as the platform would send it today. */
export const played = (body: unknown, status = 200): Played => ({
  status,
  headers: [JSON_TYPE],
  body: JSON.stringify(body),
  escaped: false,
})
