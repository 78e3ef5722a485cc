import * as z from 'zod'

import { once } from '../base/lazy.ts'
import { visible } from './request.ts'

/** A model's verdict on an item. `score` is from 0 to 1, two decimals. */
export type ModelVerdict = { score: number; reason: string }

export const REASON_MAX = 300
/** Bytes of an answer; the longest that is valid has a few thousand. */
const ANSWER_BYTES_MAX = 64 * 1024

const verdict_shape = once(() =>
  z.strictObject({ score: z.number().min(0).max(1), reason: z.string() }),
)

const completion_shape = once(() =>
  z.looseObject({
    choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string() }) })).length(1),
  }),
)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Thoughts that some models write before their answer, and the fence around it. */
const THOUGHTS = /^\s*<think>[\s\S]*?<\/think>/
const FENCE = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/

/**
 * The verdict in the body of a chat completion; null unless it is one answer that consists of one JSON object with
 * exactly the two fields, within their bounds.
 */
export function parseVerdict(body: string): ModelVerdict | null {
  if (body.length > ANSWER_BYTES_MAX) return null
  const completion = completion_shape().safeParse(parsed(body))
  const content = completion.data?.choices[0]?.message.content
  if (content === undefined) return null
  const bare = content.replace(THOUGHTS, '')
  const found = verdict_shape().safeParse(parsed(FENCE.exec(bare)?.[1] ?? bare))
  if (!found.success) return null
  const { score, reason } = found.data
  return {
    score: Math.round(score * 100) / 100,
    reason: visible(reason, REASON_MAX).replace(/\s+/g, ' ').trim(),
  }
}
