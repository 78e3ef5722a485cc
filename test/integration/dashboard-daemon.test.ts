import { expect, setDefaultTimeout, test } from 'bun:test'

import { startHouse } from '../support/house.ts'
import { ask } from './dashboard-stage.ts'
import { pageOf } from './operator-stage.ts'

// The page is made when it is first asked for.
setDefaultTimeout(60_000)

const OWN = { 'sec-fetch-site': 'same-origin' }

test('the daemon serves its page, and every file that the page links', async () => {
  await using house = await startHouse()
  const shell = await (await fetch(`${house.url()}/dashboard/monitors`, { headers: OWN })).text()
  const linked = [...shell.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to = '']) => to)
  const answers = await Promise.all(linked.map((to) => fetch(house.url() + to)))

  expect(linked.length).toBeGreaterThan(1)
  expect(linked.filter((to) => !to.startsWith('/dashboard/assets/'))).toEqual([])
  for (const { status, headers } of answers) {
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toContain('immutable')
  }
})

test('it answers to the names of its configuration, and to no other', async () => {
  await using house = await startHouse({
    change(config) {
      config.server.hosts = ['forumd.lan']
      config.server.public_url = 'https://forum.example'
    },
  })
  const status = async (Host: string) =>
    (await ask(house.url(), { path: '/dashboard/assets/none.js', headers: { Host } })).status

  expect(await status('forumd.lan')).toBe(404)
  expect(await status('forum.example')).toBe(404)
  expect(await status('other.example')).toBe(421)
})

test('a session outlives the daemon', async () => {
  await using house = await startHouse()
  const headers = await pageOf(house, house.key)
  await house.restart()

  expect((await fetch(`${house.url()}/dashboard/session`, { headers })).status).toBe(200)
})

test('who signs in is told the words of the wire', async () => {
  await using house = await startHouse({
    change(config) {
      config.wire = { platform: 'reddit', community: 'subreddit' }
    },
  })
  const headers = await pageOf(house, house.key)
  const who = await (await fetch(`${house.url()}/dashboard/session`, { headers })).json()

  expect(who).toMatchObject({
    words: { platform: 'reddit', community: 'subreddit', communities: 'subreddits' },
    base_path: '/api/reddit',
    monitor_path: '/reddit/monitor',
  })
})
