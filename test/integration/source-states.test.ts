// Goal: an adapter says that an item is deleted only where its source says so, and a refusal says nothing.
// Method: the adapters read the simulated platforms, whose items are deleted by their authors and by moderators.
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { startKind } from '../../sandbox/sources/kinds.ts'
import type { Item, ItemState } from '../../src/core/forum/items.ts'
import { createDiscourse } from '../../src/platforms/discourse/adapter.ts'
import { createHackerNews } from '../../src/platforms/hackernews/adapter.ts'
import { createLemmy } from '../../src/platforms/lemmy/adapter.ts'
import { ANONYMOUS } from '../../src/platforms/port.ts'
import { connect } from '../../src/store/db/connection.ts'
import { createLoopbackEgress } from '../support/loopback-egress.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const MINUTE = 60_000
const CREATE = { discourse: createDiscourse, hackernews: createHackerNews, lemmy: createLemmy }

/** A simulated platform and the adapter of its kind. */
async function start(kind: keyof typeof CREATE) {
  const platform = await startKind(kind, { port: 0, seed: 7, speed: 0, now: Date.now })
  const control = async (name: string, input: object) => {
    const answer = await fetch(`${platform.url}/__sandbox/${name}`, {
      method: 'POST',
      body: JSON.stringify(input),
    })
    expect([name, answer.status]).toEqual([name, 200])
  }
  const began_at = Date.now()
  // Time passes by waits alone.
  let skipped = 0
  const clock = {
    now: () => began_at + skipped,
    mono: () => skipped,
    sleep: async (ms: number) => void (skipped += ms),
  }
  const source = CREATE[kind]({
    egress: createLoopbackEgress(),
    clock,
    log: () => {},
    random: { fraction: () => 0.5 },
    base_url: platform.url,
    ...(kind === 'hackernews' && { search_url: platform.url }),
    user_agent: 'forumd-test/1.0',
    requests_per_minute: 6_000_000,
    is_pace_set: true,
    timeout_ms: 5000,
    credential: null,
  })
  const call = () => ({ identity: ANONYMOUS, deadline_at: clock.now() + 10 * MINUTE })
  return {
    platform,
    control,
    source,
    call,
    /** The newest posts, or comments. */
    async newest(of: 'posts' | 'comments'): Promise<Item[]> {
      const query = { subforums: [], limit: 8, after: null }
      const found =
        of === 'posts'
          ? await source.reads.posts({ ...query, sort: 'new', t: null }, call())
          : await source.reads.comments(query, call())
      if (!found.ok) throw new Error(found.fault.kind)
      const kind_of = of === 'posts' ? 'post' : 'comment'
      return found.value.rows.map((row) => ({ ...row, kind: kind_of }) as Item)
    },
    async states(names: string[]): Promise<Record<string, ItemState['state']>> {
      const read = await source.states?.(names, call())
      if (read?.ok !== true) throw new Error(read?.fault.kind ?? 'no states')
      return Object.fromEntries([...read.value].map(([name, { state }]) => [name, state]))
    },
  }
}

/** An item as the controls of a simulated platform name it. */
const targetOf = (kind: keyof typeof CREATE, { name, kind: of }: Item) => ({
  ...(kind === 'lemmy' && { kind: of }),
  id: Number(name.slice(3)),
})

describe.each(['discourse', 'hackernews', 'lemmy'] as const)('%s', (kind) => {
  test('deletion by its author or a moderator is stated, and all else is live with its text', async () => {
    const it = await start(kind)
    await using _ = it.platform
    const comments = await it.newest('comments')
    const [by_author, by_moderator, alive] = comments
    if (by_author === undefined || by_moderator === undefined || alive === undefined)
      throw new Error('the simulated platform has too few comments')
    const names = [by_author, by_moderator, alive].map(({ name }) => name)
    expect(Object.values(await it.states(names))).toEqual(['live', 'live', 'live'])

    await it.control('remove', { ...targetOf(kind, by_author), by: 'author' })
    await it.control('remove', { ...targetOf(kind, by_moderator), by: 'moderator' })

    const after = await it.states(names)
    expect(after[by_author.name]).toBe('deleted')
    // A site that hides what its staff has deleted answers as for an unknown id.
    expect(after[by_moderator.name]).toBe(kind === 'discourse' ? 'absent' : 'removed')
    expect(after[alive.name]).toBe('live')
    const unknown = await it.states(['t1_999999999'])
    expect(unknown).toEqual(kind === 'hackernews' ? {} : { t1_999999999: 'absent' })
    const [post] = await it.newest('posts')
    const read = await it.source.states?.([post?.name ?? ''], it.call())
    const state = read?.ok ? read.value.get(post?.name ?? '') : undefined
    expect(state).toMatchObject({ state: 'live', item: { kind: 'post', name: post?.name } })
  })

  test.each([
    { fault: 'block_403_html' },
    { fault: 'html' },
    { fault: 'empty_200' },
    { fault: '5xx' },
    { fault: 'answer', status: 403, body: '{"errors":["no"],"error_type":"invalid_access"}' },
  ])('%j says nothing of any item', async (fault) => {
    const it = await start(kind)
    await using _ = it.platform
    const [comment] = await it.newest('comments')
    await it.control('weather', { path: '/', ...fault })

    const read = await it.source.states?.([comment?.name ?? ''], it.call())

    expect(read?.ok === true ? [...read.value] : []).toEqual([])
  })
})

test('the whole daemon erases what is deleted at the platform, and its receivers learn of it once', async () => {
  await using daemon = await startTestDaemon()
  const { sandbox, clock, receiver } = daemon
  sandbox.post({ subforum: 'cats', title: 'an old cat' })
  await daemon.send('/forum/monitor/webhook/create', {
    url: receiver.url,
    events: ['match', 'item.deleted'],
  })
  await daemon.send('/forum/monitor/add', { filter_spec: { subforum: 'cats', kind: 'both' } })
  await clock.advance(2 * MINUTE)
  const gone = sandbox.post({ subforum: 'cats', title: 'unmistakable walrus', text: 'its words' })
  const stays = sandbox.post({ subforum: 'cats', title: 'a cat that stays' })
  await clock.advance(2 * MINUTE)
  sandbox.remove({ name: gone.name, by: 'author' })

  // Its first check is an hour after it was stored.
  const db = connect(join(daemon.dir, 'forumd.sqlite'))
  db.run('UPDATE kept_items SET next_check_at = 0')
  db.close()
  await clock.advance(3 * MINUTE)

  const bodies = receiver.received.map(({ text }) => JSON.parse(text))
  expect(bodies.filter(({ type }) => type !== undefined)).toMatchObject([
    { type: 'item.deleted', item: { id: gone.name, source: 'forum' }, reason: 'author', items: [] },
  ])
  const { body } = await daemon.call('/forum/monitor/deliveries?limit=50')
  const text = JSON.stringify(body)
  expect(text).not.toContain('walrus')
  expect(text).toContain('a cat that stays')
  expect(text).toContain(stays.name)
})
