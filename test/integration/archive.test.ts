import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
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

test('an item that its author deletes leaves the archive, and every file of the folder', async () => {
  await using house = await startTestDaemon({ change: keep('matches') })
  await watchCats(house)
  await archivedOnce(house.dir, 1)
  const { body } = await house.call('/forum/archive/search?q=whiskers')
  const [{ name }] = body.items
  house.sandbox.remove({ name, by: 'author' })
  const bytes = () =>
    readdirSync(house.dir)
      .filter((file) => file.endsWith('.sqlite') || file.endsWith('-wal'))
      .filter((file) => readFileSync(join(house.dir, file)).includes('whiskers are long'))
  expect(bytes()).toContain('archive.sqlite-wal')

  // The checks after an hour and a day, and the scrub after each erasure.
  for (let hour = 0; hour < 30 && bytes().length > 0; hour++) {
    await house.clock.advance(3_600_000)
    await Bun.sleep(100)
  }

  expect(bytes()).toEqual([])
  expect((await house.call('/forum/archive/search?q=whiskers')).body.items).toEqual([])
  expect((await house.call('/forum/archive')).body.items).toBe(0)
}, 60_000)

test('an edited item keeps its former text, and is found by the new one', async () => {
  await using house = await startTestDaemon({ change: keep('matches') })
  await watchCats(house)
  await archivedOnce(house.dir, 1)
  const { body } = await house.call('/forum/archive/search?q=whiskers')
  const [{ name }] = body.items
  house.sandbox.edit({ name, text: 'edited remarkably' })
  let found: { archived?: unknown }[] = []
  for (let hour = 0; hour < 30 && found.length === 0; hour++) {
    await house.clock.advance(3_600_000)
    await Bun.sleep(50)
    found = (await house.call('/forum/archive/search?q=remarkably')).body.items
  }

  expect(found).toMatchObject([{ name, archived: { versions: 1 } }])
}, 60_000)
