import * as z from 'zod'

import { ACCESS, CHATS, MAIL, STANDINGS } from './model.ts'
import { SUBFORUM_NAME } from './places.ts'

/** What was asked of the sandbox cannot be done; the message names the field and what is allowed. */
export class BadControl extends Error {
  override name = 'BadControl'
}

const userName = z.string().regex(/^[A-Za-z0-9_-]{3,20}$/, 'expected 3 to 20 of A-Z a-z 0-9 _ -')
const subforumName = z.string().regex(SUBFORUM_NAME, 'expected 2 to 21 of A-Z a-z 0-9 _')
/** Epoch ms, or ISO 8601. */
const instant = z.union([
  z.number().min(0),
  z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
])
const score = z.int().min(-100_000).max(10_000_000)

/** A post to be added. */
export const postSchema = z.strictObject({
  subforum: subforumName,
  author: userName.optional(),
  title: z.string().min(1).max(300),
  text: z.string().max(40_000).optional(),
  /** What a link post points to. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  flair: z.string().min(1).max(64).optional(),
  created_at: instant.optional(),
  score: score.optional(),
  over_18: z.boolean().optional(),
  spoiler: z.boolean().optional(),
  locked: z.boolean().optional(),
  stickied: z.boolean().optional(),
})
/** A comment to be added. */
export const commentSchema = z.strictObject({
  /** A fullname, `t3_…` or `t1_…`. */
  parent: z.string().regex(/^t[13]_[a-z0-9]+$/, 'expected a fullname, t3_… or t1_…'),
  author: userName.optional(),
  text: z.string().min(1).max(10_000),
  created_at: instant.optional(),
  score: score.optional(),
})
/** What is to be removed, and by whom. */
export const removeSchema = z.strictObject({
  name: z.string(),
  by: z.enum(['author', 'moderator', 'platform']),
})
/** A text to be changed. */
export const editSchema = z.strictObject({
  name: z.string(),
  text: z.string().max(40_000).optional(),
  score: score.optional(),
  locked: z.boolean().optional(),
  stickied: z.boolean().optional(),
  /** Too old to be answered or voted on; posts only. */
  archived: z.boolean().optional(),
})
/** The query of the log: the `seq` after which. */
export const sinceSchema = z.object({ since: z.coerce.number().min(0).default(0) })
/** Seconds by which the clock is put forward. */
export const clockSchema = z.strictObject({ advance_s: z.number().min(0).max(3_153_600_000) })
/** A subforum to be made. */
export const subforumSchema = z.strictObject({
  name: subforumName,
  title: z.string().max(100).optional(),
  description: z.string().max(500).optional(),
  access: z.enum(ACCESS).optional(),
  over_18: z.boolean().optional(),
  subscribers: z.int().min(0).optional(),
  members: z.array(userName).optional(),
  moderators: z.array(userName).optional(),
  /** Who may not write there. */
  bans: z.array(userName).optional(),
  /** Pages by name. */
  wiki: z.record(z.string().regex(/^[a-z0-9_/-]{1,128}$/), z.string().max(500_000)).optional(),
})
/** A person to be made. */
export const userSchema = z.strictObject({
  name: userName,
  standing: z.enum(STANDINGS).optional(),
  curated: z.boolean().optional(),
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
/** A session to be opened for a person. */
export const sessionSchema = z.strictObject({
  username: userName,
  /** How long it lives (some 181 days). */
  lasts_s: z.number().positive().max(3_153_600_000).optional(),
})
/** Whose sessions are to end. */
export const revokeSchema = z.strictObject({ username: userName })

export type PostInput = z.input<typeof postSchema>
export type CommentInput = z.input<typeof commentSchema>
export type RemoveInput = z.input<typeof removeSchema>
export type EditInput = z.input<typeof editSchema>
export type SubforumInput = z.input<typeof subforumSchema>
export type UserInput = z.input<typeof userSchema>
export type SessionInput = z.input<typeof sessionSchema>
export type RevokeInput = z.input<typeof revokeSchema>

/** A session that was opened, as a browser would hold it. */
export type Opened = {
  username: string
  cookies: Record<string, string>
  /** For an application that acts in this name. */
  refresh_token: string
  expires_at: string
}

/** What was added: the id, the fullname, the path on the platform. */
export type Added = { id: string; name: string; permalink: string }

/** A value that has the shape asked for. Throws {@link BadControl}, naming the field. */
export function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const field = issue?.path.join('.') ?? ''
  throw new BadControl(`${field === '' ? 'body' : field}: ${issue?.message ?? 'not understood'}`)
}
