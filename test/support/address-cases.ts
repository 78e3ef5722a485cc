import * as z from 'zod'

import { WEBHOOK_KINDS } from '../../src/delivery/kinds.ts'

/** Where the shared cases of the address guard lie; undefined: nowhere, and what needs them is skipped. */
export const folder = process.env['FORUMD_SSRF']

async function lines<T>(name: string, schema: z.ZodType<T>): Promise<T[]> {
  if (folder === undefined) return []
  const text = await Bun.file(`${folder}/${name}`).text()
  const rows = text.split('\n').filter((line) => line.trim() !== '')
  return rows.map((line) => schema.parse(JSON.parse(line)))
}

const addressCase = z.object({
  url: z.string(),
  /** What DNS would answer; null: it is not needed. */
  resolves_to: z.array(z.string()).nullable(),
  expect: z.enum(['accept', 'reject']),
  why: z.string(),
})
export type AddressCase = z.infer<typeof addressCase>

const step = z.object({
  status: z.number(),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().optional(),
  repeat: z.literal('forever').optional(),
})
/** Answers of a receiver, once or always. */
export type Step = z.infer<typeof step>

const sequence = z.object({
  id: z.string(),
  name: z.string(),
  via: z.string().optional(),
  url: z.string().optional(),
  kind: z.enum(WEBHOOK_KINDS).optional(),
  env: z.record(z.string(), z.string()).default({}),
  register_dns: z.array(z.string()).default([]),
  dns: z.array(z.array(z.string())),
  steps: z.array(step),
  tls: z.string().optional(),
  never: z.array(z.string()),
  connects: z.union([z.string(), z.array(z.string())]),
  outcome: z.string(),
})
export type Sequence = z.infer<typeof sequence>

/** Addresses from users, with the expected permission to connect. */
export const addressCases = () => lines('cases.jsonl', addressCase)
/** Behaviour of receivers, names and proxies over time. */
export const addressSequences = () => lines('sequences.jsonl', sequence)
