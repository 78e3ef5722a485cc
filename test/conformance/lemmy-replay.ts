import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { fieldsOf } from '../../src/platforms/values.ts'
import { createServer } from '../unit/platforms/lemmy/fixture.ts'

const Line = z.object({
  name: z.string(),
  method: z.string(),
  path: z.string(),
  status: z.number(),
  headers: z.record(
    z.string(),
    z.union([z.string(), z.array(z.string()).transform((all) => all.join(', '))]),
  ),
  body: z.unknown(),
})
type Recorded = z.infer<typeof Line>

export const recordings = process.env['FORUMD_SOURCES']
if (recordings === undefined)
  console.log('FORUMD_SOURCES is not set: the answers of real Lemmy and PieFed servers are skipped')

const BASES = { v3: '/api/v3', v4: '/api/v4', piefed: '/api/alpha' } as const
type Generation = keyof typeof BASES
const SITE = 'https://lemmy.example'

/** The recorded answers of an API; none without the recordings. */
export function linesOf(generation: Generation): Recorded[] {
  const file = generation === 'piefed' ? 'piefed/real.jsonl' : `lemmy/real-${generation}.jsonl`
  const path = join(recordings ?? '', file)
  if (recordings === undefined || !existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => Line.parse(JSON.parse(line)))
    .filter((line) => line.path.startsWith(`${BASES[generation]}/`))
}

/** The path of an answer below the base of its API. */
export const pathOf = ({ path }: Recorded): string =>
  new URL(path, SITE).pathname.replace(/^\/api\/\w+/, '')

const textOf = ({ body }: Recorded): string =>
  typeof body === 'string' ? body : JSON.stringify(body)
export const bodyOf = (line: Recorded) =>
  /^[{]/.test(textOf(line)) ? fieldsOf(JSON.parse(textOf(line))) : {}

/** A server that gives one recorded answer to its path. */
export function replay(generation: Generation, line: Recorded) {
  const fixture = createServer(generation)
  const path = pathOf(line)
  // The search for the API comes before it.
  let is_found = path !== '/site'
  fixture.world.answer = (asked) => {
    if (asked !== path) return null
    if (is_found) return new Response(textOf(line), { status: line.status, headers: line.headers })
    is_found = true
    return null
  }
  const params = Object.fromEntries(new URL(line.path, SITE).searchParams)
  return Object.assign(fixture, { path, params })
}
