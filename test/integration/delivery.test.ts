import { expect, test } from 'bun:test'

import { startDelivering } from '../support/delivering.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

test('a match reaches its receiver at once, signed, with the bytes that were committed', async () => {
  await using it = await startDelivering()
  await it.deliver('dlv_1')

  const [request] = it.receiver.received
  expect(it.receiver.received).toHaveLength(1)
  expect(request?.text).toBe(
    '{"delivery_id":"dlv_1","monitor_id":"mon_1","count":1,"grouped":false,"items":[{"id":"a","kind":"post"}]}',
  )
  expect(request?.headers.get('x-service-delivery-id')).toBe('dlv_1')
  expect(request?.headers.get('host')).toBe(`receiver.test:${it.receiver.port}`)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})
