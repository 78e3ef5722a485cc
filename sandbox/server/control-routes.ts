import * as z from 'zod'

import { FAULTS } from '../faults/rules.ts'
import { ACCESS, CHATS, MAIL, USER_STATUSES, type World } from '../world/model.ts'
import { SUBFORUM_NAME_PATTERN } from '../world/subforum-access.ts'
import type { LoggedRequest } from './request-log.ts'

/** Invalid control call; the message names the field and what is allowed. */
export class BadControl extends Error {
  override name = 'BadControl'
}

const userName = z.string().regex(/^[A-Za-z0-9_-]{3,20}$/, 'expected 3 to 20 of A-Z a-z 0-9 _ -')
const subforumName = z.string().regex(SUBFORUM_NAME_PATTERN, 'expected 2 to 21 of A-Z a-z 0-9 _')
/** Epoch ms, or ISO 8601. */
const instant = z.union([
  z.number().min(0),
  z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
])
const score = z.int().min(-100_000).max(10_000_000)

/** Post to add. */
export const postSchema = z.strictObject({
  subforum: subforumName,
  author: userName.optional(),
  title: z.string().min(1).max(300),
  text: z.string().max(40_000).optional(),
  /** Target of a link post. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  flair: z.string().min(1).max(64).optional(),
  created_at: instant.optional(),
  score: score.optional(),
  over_18: z.boolean().optional(),
  spoiler: z.boolean().optional(),
  locked: z.boolean().optional(),
  stickied: z.boolean().optional(),
})
/** Comment to add. */
export const commentSchema = z.strictObject({
  /** Fullname, `t3_…` or `t1_…`. */
  parent: z.string().regex(/^t[13]_[a-z0-9]+$/, 'expected a fullname, t3_… or t1_…'),
  author: userName.optional(),
  text: z.string().min(1).max(10_000),
  created_at: instant.optional(),
  score: score.optional(),
})
/** Item to remove, and its remover. */
export const removeSchema = z.strictObject({
  name: z.string(),
  by: z.enum(['author', 'moderator', 'platform']),
})
/** Changes to an item. */
export const editSchema = z.strictObject({
  name: z.string(),
  text: z.string().max(40_000).optional(),
  score: score.optional(),
  locked: z.boolean().optional(),
  stickied: z.boolean().optional(),
  /** Too old for answers and votes; posts only. */
  archived: z.boolean().optional(),
})
/** Query of the log: entries after this `seq`. */
const sinceSchema = z.object({ since: z.coerce.number().min(0).default(0) })
/** Seconds to advance the clock by. */
const clockSchema = z.strictObject({ advance_s: z.number().min(0).max(3_153_600_000) })
/** Subforum to create or change. */
export const subforumSchema = z.strictObject({
  name: subforumName,
  title: z.string().max(100).optional(),
  description: z.string().max(500).optional(),
  access: z.enum(ACCESS).optional(),
  over_18: z.boolean().optional(),
  subscribers: z.int().min(0).optional(),
  members: z.array(userName).optional(),
  moderators: z.array(userName).optional(),
  /** Users who may not write there. */
  bans: z.array(userName).optional(),
  /** Pages by name. */
  wiki: z.record(z.string().regex(/^[a-z0-9_/-]{1,128}$/), z.string().max(500_000)).optional(),
})
/** User to create or change. */
export const userSchema = z.strictObject({
  name: userName,
  standing: z.enum(USER_STATUSES).optional(),
  curated: z.boolean().optional(),
  post_karma: z.int().optional(),
  comment_karma: z.int().optional(),
  premium: z.boolean().optional(),
  password: z.string().min(1).max(200).nullable().optional(),
  totp_secret: z
    .string()
    .regex(/^[A-Za-z2-7 =]{8,128}$/, 'expected base32')
    .nullable()
    .optional(),
  email: z.email().nullable().optional(),
  sso: z.boolean().optional(),
  locked: z.boolean().optional(),
  mail: z.enum(MAIL).optional(),
  chats: z.enum(CHATS).optional(),
  blocks: z.array(userName).optional(),
  subscribed: z.array(subforumName).optional(),
})
/** Session to open for a user. */
export const sessionSchema = z.strictObject({
  username: userName,
  /** Lifetime (about 181 days). */
  lasts_s: z.number().positive().max(3_153_600_000).optional(),
})
/** User whose sessions to end. */
export const revokeSchema = z.strictObject({ username: userName })

export type PostInput = z.input<typeof postSchema>
export type CommentInput = z.input<typeof commentSchema>
export type RemoveInput = z.input<typeof removeSchema>
export type EditInput = z.input<typeof editSchema>
export type SubforumInput = z.input<typeof subforumSchema>
export type UserInput = z.input<typeof userSchema>
export type SessionInput = z.input<typeof sessionSchema>
export type RevokeInput = z.input<typeof revokeSchema>

/** Opened session, as a browser holds it. */
export type OpenedSession = {
  username: string
  cookies: Record<string, string>
  /** For an application that acts on behalf of this user. */
  refresh_token: string
  expires_at: string
}

/** Added item: id, fullname, path on the platform. */
export type CreatedThing = { id: string; name: string; permalink: string }

/**
 * Validates input.
 * @throws {BadControl} naming the first invalid field
 */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const field = issue?.path.join('.') ?? ''
  throw new BadControl(`${field === '' ? 'body' : field}: ${issue?.message ?? 'invalid value'}`)
}

/** Control calls of every kind of sandbox. */
export type CommonControls = {
  world: { now(): number }
  /** Accounts and counts. */
  overview(): object
  addFault(input: unknown): number
  clearFaults(): void
  readonly requests: readonly LoggedRequest[]
  advance(seconds: number): void
}

/**
 * Control calls of a sandbox. Each validates its input and throws {@link BadControl} if it is
 * invalid.
 */
export type Controls = CommonControls & {
  world: World
  post(input: unknown): CreatedThing
  comment(input: unknown): CreatedThing
  remove(input: unknown): void
  edit(input: unknown): void
  subforum(input: unknown): void
  user(input: unknown): void
  session(input: unknown): OpenedSession
  revoke(input: unknown): void
}

const answer = (value: unknown, status = 200) => Response.json(value, { status })

const PREFIX = '/__sandbox'
const LARGEST_BODY = 4 * 1024 * 1024

/** Control call: its parameters in words, and its effect. */
export type ControlCall<C> = { parameters: string; run(controls: C, input: unknown): unknown }
/** Control calls by method and path. A POST takes its input from the body, a GET from the query. */
export type ControlCalls<C> = Record<string, ControlCall<C>>

/** Control call without a result. */
const done = <C>(
  parameters: string,
  run: (controls: C, input: unknown) => void,
): ControlCall<C> => ({
  parameters,
  run(controls, input) {
    run(controls, input)
    return { ok: true }
  },
})

/** The list of calls itself, and the calls of every sandbox. */
export const commonCalls = <C extends CommonControls>(
  faults: readonly string[],
  own_calls: ControlCalls<C>,
): ControlCalls<C> => {
  const calls: ControlCalls<C> = {
    'GET /': {
      parameters: '',
      run: (controls) => ({
        ...controls.overview(),
        calls: Object.entries(calls).map(([call, { parameters }]) =>
          `${call.replace(' ', ` ${PREFIX}`)} ${parameters}`.trimEnd(),
        ),
        faults,
      }),
    },
    ...own_calls,
    'POST /weather': {
      parameters:
        '{path, fault, times?, skip?, seconds?, status?, retry_after_s?, delay_s?, count?, age_s?, verdict?, code?, wait_s?, worded?, body?, body_base64?, headers?}',
      run: (controls, input) => ({ id: controls.addFault(input) }),
    },
    'DELETE /weather': done('', (controls) => controls.clearFaults()),
    'GET /requests': {
      parameters: '?since=',
      run({ requests }, input) {
        const { since } = parseInput(sinceSchema, input)
        return { requests: requests.filter(({ seq }) => seq > since) }
      },
    },
    'POST /clock': {
      parameters: '{advance_s}',
      run(controls, input) {
        controls.advance(parseInput(clockSchema, input).advance_s)
        return { now: new Date(controls.world.now()).toISOString() }
      },
    },
  }
  return calls
}

/** Control calls of the default kind. */
export const CALLS = commonCalls<Controls>(FAULTS, {
  'POST /post': {
    parameters:
      '{subforum, author?, title, text?, url?, flair?, created_at?, score?, over_18?, spoiler?, locked?, stickied?}',
    run: (controls, input) => controls.post(input),
  },
  'POST /comment': {
    parameters: '{parent, author?, text, created_at?, score?}',
    run: (controls, input) => controls.comment(input),
  },
  'POST /remove': done('{name, by: author|moderator|platform}', (controls, input) =>
    controls.remove(input),
  ),
  'POST /edit': done('{name, text?, score?, locked?, stickied?}', (controls, input) =>
    controls.edit(input),
  ),
  'POST /subforum': done(
    '{name, title?, description?, access?, over_18?, subscribers?, members?, moderators?, bans?, wiki?}',
    (controls, input) => controls.subforum(input),
  ),
  'POST /user': done(
    '{name, standing?, curated?, post_karma?, comment_karma?, premium?, password?, totp_secret?, email?, sso?, locked?, mail?, blocks?, subscribed?}',
    (controls, input) => controls.user(input),
  ),
  'POST /session': {
    parameters: '{username, lasts_s?}',
    run: (controls, input) => controls.session(input),
  },
  'POST /revoke': done('{username}', (controls, input) => controls.revoke(input)),
})

/** True for a path of the sandbox itself, outside the platform's. */
export const isControl = (path: string): boolean => path === PREFIX || path.startsWith(`${PREFIX}/`)

/** HTTP routes of the control calls. */
export async function control<C>(
  calls: ControlCalls<C>,
  controls: C,
  request: Request,
): Promise<Response> {
  const url = new URL(request.url)
  const name = `${request.method} ${url.pathname.slice(PREFIX.length).replace(/\/$/, '') || '/'}`
  const call = Object.hasOwn(calls, name) ? calls[name] : undefined
  if (call === undefined) return answer({ error: `${name}: unknown control call` }, 404)
  try {
    const input =
      request.method === 'POST' ? await body(request) : Object.fromEntries(url.searchParams)
    return answer(call.run(controls, input))
  } catch (error) {
    if (error instanceof BadControl) return answer({ error: error.message }, 400)
    throw error
  }
}

async function body(request: Request): Promise<unknown> {
  const text = await request.text()
  if (text.length > LARGEST_BODY) throw new BadControl('body: at most 4 MiB')
  try {
    return JSON.parse(text)
  } catch {
    throw new BadControl('body: expected JSON')
  }
}
