// Goal: the automation for Home Assistant reads real deliveries. Method: its fields are looked up in a delivery over the
// loopback.
import { beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { type Delivered, realDelivery } from '../support/loopback-daemon.ts'
import { root } from './documentation.ts'

let real: Delivered
beforeAll(async () => {
  real = await realDelivery('A quiet grinder')
}, 60_000)

describe('the snippet for Home Assistant', () => {
  const path = join(root, 'examples/home-assistant/forumd.yaml')

  test('is an automation with a webhook that takes POST from the local network only', async () => {
    const { automation } = Object(Bun.YAML.parse(await Bun.file(path).text()))

    expect(automation).toMatchObject([
      {
        mode: 'queued',
        triggers: [{ trigger: 'webhook', allowed_methods: ['POST'], local_only: true }],
        actions: [{ repeat: { sequence: [{ action: 'notify.notify' }] } }],
      },
    ])
  })

  test('reads only fields that a delivery has', async () => {
    const text = await Bun.file(path).text()
    const delivery = JSON.parse(real.text)
    const of_items = [...text.matchAll(/repeat\.item\.([\w.]+)/g)].map(([, it = '']) => it)
    const of_body = [...text.matchAll(/trigger\.json\['(\w+)'\]/g)].map(([, it = '']) => it)

    expect(of_body).toEqual(['items'])
    for (const field of of_body) expect(delivery).toHaveProperty(field)
    expect(of_items.length).toBeGreaterThan(4)
    for (const field of of_items)
      if (field !== 'link_title') expect(delivery.items[0]).toHaveProperty(field)
  })
})
