// A webhook sender's work per job: sign the body in forumd's format, post it, and accept a 2xx.
import { randomBytes } from 'node:crypto'

import { Pool } from 'undici'

import { CONCURRENCY, signedHeaders, TARGETS } from './plan.mjs'

export const now_ms = () => Number(process.hrtime.bigint()) / 1e6

export function createPost(receiver) {
  const pool = new Pool(receiver, { connections: CONCURRENCY })
  const secrets = Array.from({ length: TARGETS }, () => randomBytes(32))
  /** The record of the attempt, which each peer keeps with its job. */
  return async (id, target, item) => {
    const began = now_ms()
    const text = JSON.stringify({
      delivery_id: id,
      monitor_id: `mon_${target}`,
      count: 1,
      items: [item],
    })
    const { statusCode, body } = await pool.request({
      path: `/wh_${target}`,
      method: 'POST',
      headers: signedHeaders(secrets[target], id, text),
      body: text,
    })
    await body.dump()
    if (statusCode >= 300) throw new Error(`answered ${statusCode}`)
    return { status: statusCode, took_ms: now_ms() - began }
  }
}
