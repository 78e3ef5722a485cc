import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { startTestDaemon } from '../support/test-daemon.ts'
import { startMailServer } from './email-fixture.ts'

const MINUTE = 60_000

test('a monitor works without a webhook: its matches are in the pull API, the stream and the feed', async () => {
  await using daemon = await startTestDaemon()
  daemon.sandbox.post({ subforum: 'cats', title: 'an old cat' })
  await daemon.clock.advance(MINUTE)
  const { body: monitor } = await daemon.send('/forum/monitor/add', {
    filter_spec: { subforum: 'cats', include_any: ['cat'] },
  })
  await daemon.clock.advance(2 * MINUTE)
  const stream = await fetch(`${daemon.url()}/forum/monitor/stream?id=${monitor.id}`, {
    headers: { authorization: `Bearer ${daemon.key}` },
  })
  const reader = stream.body?.getReader()
  for (const title of ['a new cat', 'a new dog', 'another cat'])
    daemon.sandbox.post({ subforum: 'cats', title })
  await daemon.clock.advance(2 * MINUTE)

  const { body: fetched } = await daemon.call(`/api/forum/monitor/items?id=${monitor.id}`)
  const titles = fetched.items.map(({ title }: { title: string }) => title)
  expect(titles.toSorted()).toEqual(['a new cat', 'another cat'])
  expect(fetched.items[0].enrichment.relevance.matched_terms).toEqual(['cat'])
  expect((await daemon.call('/forum/monitor/deliveries')).body.deliveries).toEqual([])

  const { body: list } = await daemon.call('/forum/monitor/list')
  expect(list.monitors[0].feed_url).toBe(monitor.feed_url)
  const atom = await (await fetch(monitor.feed_url)).text()
  expect(atom.match(/<entry>/g)).toHaveLength(2)

  let text = ''
  while (!text.includes('another cat') || !text.includes('a new cat'))
    text += new TextDecoder().decode((await reader?.read())?.value)
  expect(text.match(/^event: match$/gm)).toHaveLength(2)

  // The daemon stops although a reader is connected, and the same address answers afterwards.
  await daemon.restart()
  while ((await reader?.read())?.done === false);
  const moved = new URL(new URL(monitor.feed_url).pathname, daemon.url())
  expect(await (await fetch(moved)).text()).toContain('another cat')
})

test('mail is sent through the configured server, and its links lead to the daemon', async () => {
  await using server = await startMailServer()
  await using daemon = await startTestDaemon({
    change(config) {
      config.smtp = { url: server.url, from: 'forumd <alerts@forum.example>', tls: 'auto' }
      config.delivery.ca_file = join(config.storage.dir, 'ca.pem')
      writeFileSync(config.delivery.ca_file, server.ca)
    },
  })
  const { body: webhook } = await daemon.send('/forum/monitor/webhook/create', {
    kind: 'email',
    url: 'mailto:reader@example.com',
  })
  expect(webhook).toMatchObject({ active: false, confirmation: 'sent' })

  const [link = ''] = /https?:\S+/.exec(server.arrived[0]?.mail.text ?? '') ?? []
  expect(link).toStartWith(`${daemon.url()}/confirm/`)
  expect((await fetch(link, { method: 'POST' })).status).toBe(200)
  const { body: list } = await daemon.call('/forum/monitor/webhook/list')
  expect(list.webhooks).toMatchObject([{ active: true }])

  const { body: report } = await daemon.send('/forum/monitor/webhook/test', { id: webhook.id })
  expect(report).toMatchObject({ ok: true, status_code: 250 })
  expect(server.arrived[1]?.mail.subject).toStartWith('Test delivery: ')
})
