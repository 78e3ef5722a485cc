import { expect, setDefaultTimeout, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'
import { sendRawTo } from './dashboard-fixture.ts'
import { pageOf } from './operator-fixture.ts'

// The page is built at its first request.
setDefaultTimeout(60_000)

const OWN = { 'sec-fetch-site': 'same-origin' }

test('the daemon serves its page and every linked file', async () => {
  await using daemon = await startTestDaemon()
  const shell = await (await fetch(`${daemon.url()}/dashboard/monitors`, { headers: OWN })).text()
  const linked = [...shell.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to = '']) => to)
  const answers = await Promise.all(linked.map((to) => fetch(daemon.url() + to)))

  expect(linked.length).toBeGreaterThan(1)
  expect(linked.filter((to) => !to.startsWith('/dashboard/assets/'))).toEqual([])
  for (const { status, headers } of answers) {
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toContain('immutable')
  }
})

test('it answers to its configured host names, and to no other', async () => {
  await using daemon = await startTestDaemon({
    change(config) {
      config.server.hosts = ['forumd.lan']
      config.server.public_url = 'https://forum.example'
    },
  })
  const status = async (Host: string) =>
    (await sendRawTo(daemon.url(), { path: '/dashboard/assets/none.js', headers: { Host } })).status

  expect(await status('forumd.lan')).toBe(404)
  expect(await status('forum.example')).toBe(404)
  expect(await status('other.example')).toBe(421)
})

test('a session outlives the daemon', async () => {
  await using daemon = await startTestDaemon()
  const headers = await pageOf(daemon, daemon.key)
  await daemon.restart()

  expect((await fetch(`${daemon.url()}/dashboard/session`, { headers })).status).toBe(200)
})

test("a sign-in answers in the wire's words", async () => {
  await using daemon = await startTestDaemon({
    change(config) {
      config.wire = { platform: 'reddit', community: 'subreddit' }
    },
  })
  const headers = await pageOf(daemon, daemon.key)
  const who = await (await fetch(`${daemon.url()}/dashboard/session`, { headers })).json()

  expect(who).toMatchObject({
    words: { platform: 'reddit', community: 'subreddit', communities: 'subreddits' },
    base_path: '/api/reddit',
    monitor_path: '/reddit/monitor',
  })
})
