import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { startHouse } from '../support/house.ts'
import { startMailServer } from './email-stage.ts'

const MINUTE = 60_000

test('a monitor lives without any webhook: what it matches is fetched, streamed and fed', async () => {
  await using house = await startHouse()
  house.sandbox.post({ subforum: 'cats', title: 'an old cat' })
  await house.clock.advance(MINUTE)
  const { body: monitor } = await house.send('/forum/monitor/add', {
    filter_spec: { subforum: 'cats', include_any: ['cat'] },
  })
  await house.clock.advance(2 * MINUTE)
  const stream = await fetch(`${house.url()}/forum/monitor/stream?id=${monitor.id}`, {
    headers: { authorization: `Bearer ${house.key}` },
  })
  const reader = stream.body?.getReader()
  for (const title of ['a new cat', 'a new dog', 'another cat'])
    house.sandbox.post({ subforum: 'cats', title })
  await house.clock.advance(2 * MINUTE)

  const { body: fetched } = await house.call(`/api/forum/monitor/items?id=${monitor.id}`)
  const titles = fetched.items.map(({ title }: { title: string }) => title)
  expect(titles.toSorted()).toEqual(['a new cat', 'another cat'])
  expect(fetched.items[0].enrichment.relevance.matched_terms).toEqual(['cat'])
  expect((await house.call('/forum/monitor/deliveries')).body.deliveries).toEqual([])

  const { body: list } = await house.call('/forum/monitor/list')
  expect(list.monitors[0].feed_url).toBe(monitor.feed_url)
  const atom = await (await fetch(monitor.feed_url)).text()
  expect(atom.match(/<entry>/g)).toHaveLength(2)

  let text = ''
  while (!text.includes('another cat') || !text.includes('a new cat'))
    text += new TextDecoder().decode((await reader?.read())?.value)
  expect(text.match(/^event: match$/gm)).toHaveLength(2)

  // The daemon stops although somebody listens, and the same address answers afterwards.
  await house.restart()
  while ((await reader?.read())?.done === false);
  const moved = new URL(new URL(monitor.feed_url).pathname, house.url())
  expect(await (await fetch(moved)).text()).toContain('another cat')
})

test('mail leaves through the server that is configured, and its links lead back', async () => {
  await using server = await startMailServer()
  await using house = await startHouse({
    change(config) {
      config.smtp = { url: server.url, from: 'forumd <alerts@forum.example>' }
      config.delivery.ca_file = join(config.storage.dir, 'ca.pem')
      writeFileSync(config.delivery.ca_file, server.ca)
    },
  })
  const { body: webhook } = await house.send('/forum/monitor/webhook/create', {
    kind: 'email',
    url: 'mailto:reader@example.com',
  })
  expect(webhook).toMatchObject({ active: false, confirmation: 'sent' })

  const [link = ''] = /https?:\S+/.exec(server.arrived[0]?.mail.text ?? '') ?? []
  expect(link).toStartWith(`${house.url()}/confirm/`)
  expect((await fetch(link)).status).toBe(200)
  const { body: list } = await house.call('/forum/monitor/webhook/list')
  expect(list.webhooks).toMatchObject([{ active: true }])

  const { body: report } = await house.send('/forum/monitor/webhook/test', { id: webhook.id })
  expect(report).toMatchObject({ ok: true, status_code: 250 })
  expect(server.arrived[1]?.mail.subject).toStartWith('Test delivery: ')
})
