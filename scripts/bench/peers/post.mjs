// A webhook sender's work per job: sign the body in forumd's format, post it, and accept a 2xx.
import { createHmac, randomBytes } from 'node:crypto'

import { Pool } from 'undici'

import { CONCURRENCY, TARGETS } from './plan.mjs'

export const now_ms = () => Number(process.hrtime.bigint()) / 1e6

export function createPost(receiver) {
  const pool = new Pool(receiver, { connections: CONCURRENCY })
  const secrets = Array.from({ length: TARGETS }, () => randomBytes(32))
  return async (id, target, item) => {
    const text = JSON.stringify({
      delivery_id: id,
      monitor_id: `mon_${target}`,
      count: 1,
      items: [item],
    })
    const at = Math.floor(Date.now() / 1000)
    const key = secrets[target]
    const ours = createHmac('sha256', key).update(`${at}.`).update(text).digest('hex')
    const standard = createHmac('sha256', key).update(`${id}.${at}.`).update(text).digest('base64')
    const { statusCode, body } = await pool.request({
      path: `/wh_${target}`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-service-signature': `t=${at},v1=${ours}`,
        'x-service-timestamp': String(at),
        'x-service-delivery-id': id,
        'webhook-id': id,
        'webhook-timestamp': String(at),
        'webhook-signature': `v1,${standard}`,
      },
      body: text,
    })
    await body.dump()
    if (statusCode >= 300) throw new Error(`answered ${statusCode}`)
  }
}
