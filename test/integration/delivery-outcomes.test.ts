import { expect, test } from 'bun:test'

import { startDelivering } from '../support/delivery-fixture.ts'

const SECOND = 1000

test('an unstorable outcome does not affect concurrent ones and is not sent again', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  const ids = ['dlv_1', 'dlv_2', 'dlv_3']
  for (const id of ids) {
    it.receiver.answers.push({ until: release.promise })
    it.put(id)
  }
  it.nudge()
  await it.clock.advance(0)
  it.db
    .run(`CREATE TRIGGER refused BEFORE INSERT ON attempts WHEN NEW.delivery_row = (SELECT row FROM deliveries WHERE id = 'dlv_2')
             BEGIN SELECT RAISE(ABORT, 'no room for this one'); END`)
  release.resolve()
  await it.clock.advance(SECOND / 2)

  expect(ids.map((id) => it.row(id).status)).toEqual(['delivered', 'pending', 'delivered'])
  expect(it.sender.isInFlight('dlv_2')).toBe(true)

  it.db.run('DROP TRIGGER refused')
  await it.clock.advance(2 * SECOND)
  expect(it.row('dlv_2')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
  expect(it.receiver.received).toHaveLength(3)
})
