import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import type { Config } from '../../src/config/schema.ts'
import { openArchive } from '../../src/store/archive/file.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const keep = (of: Config['archive']['keep']) => (config: Config) => {
  config.archive.keep = of
}

/** Names of the archived items, once there are `count`. */
async function archivedOnce(dir: string, count: number): Promise<string[]> {
  for (let tries = 0; tries < 200; tries++) {
    const names = archived(dir)
    if (names.length >= count) return names
    await Bun.sleep(25)
  }
  return archived(dir)
}

function archived(dir: string): string[] {
  const path = join(dir, 'archive.sqlite')
  if (!existsSync(path)) return []
  using db = openArchive(path)
  return db
    .query<{ item: string }, []>('SELECT item FROM items ORDER BY key')
    .all()
    .map(({ item }) => String(JSON.parse(item).title))
}

async function watchCats(house: Awaited<ReturnType<typeof startTestDaemon>>) {
  house.sandbox.post({ subforum: 'cats', title: 'an old cat' })
  await house.clock.advance(60_000)
  const { status } = await house.send('/forum/monitor/add', {
    filter_spec: { subforum: 'cats', q: 'whiskers' },
  })
  expect(status).toBe(200)
  await house.clock.advance(120_000)
  for (const title of ['whiskers are long', 'paws are soft'])
    house.sandbox.post({ subforum: 'cats', title })
  await house.clock.advance(180_000)
}

test('matches are archived, and other items are not', async () => {
  await using house = await startTestDaemon({ change: keep('matches') })
  await watchCats(house)

  expect(await archivedOnce(house.dir, 1)).toEqual(['whiskers are long'])
})

test('with feeds every item that a watched feed shows is archived', async () => {
  await using house = await startTestDaemon({ change: keep('feeds') })
  await watchCats(house)

  const titles = await archivedOnce(house.dir, 2)
  expect(titles).toContain('whiskers are long')
  expect(titles).toContain('paws are soft')
})

test('with nothing there is no archive', async () => {
  await using house = await startTestDaemon({ change: keep('nothing') })
  await watchCats(house)
  await Bun.sleep(200)

  expect(existsSync(join(house.dir, 'archive.sqlite'))).toBe(false)
})
