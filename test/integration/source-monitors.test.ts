import { expect, test } from 'bun:test'
import { join } from 'node:path'

import { startKind } from '../../sandbox/sources/kinds.ts'
import type { Config } from '../../src/config/schema.ts'
import { countQueued } from '../../src/store/archive/queue.ts'
import { connect } from '../../src/store/db/connection.ts'
import { countUnread } from '../../src/store/delivery/projections.ts'
import { eraseItems } from '../../src/store/erasure/erase.ts'
import { startDenseSite } from '../support/dense-site.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const S = 1000
const MINUTE = 60_000

type Sites = Record<string, ReturnType<typeof startDenseSite>>

/** A daemon with a webhook and further sources by name. */
async function startWith(
  names: string[],
  requests_per_minute = 6000,
  keep: Config['archive']['keep'] = 'matches',
) {
  await using stack = new AsyncDisposableStack()
  const time = { now: Date.now }
  const sites: Sites = {}
  for (const name of names) sites[name] = stack.use(startDenseSite(() => time.now()))
  const daemon = stack.use(
    await startTestDaemon({
      change: (config) => {
        config.archive.keep = keep
        config.plans['entry'] = { ...config.plans['entry']!, slots: 1000, cadence_s: 10 }
        for (const [name, { url }] of Object.entries(sites))
          config.source.push({
            name,
            kind: 'hackernews',
            base_url: url,
            user_agent: '',
            requests_per_minute,
            api_key: '',
            ends_at: '',
          })
      },
    }),
  )
  time.now = daemon.clock.now
  const created = await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url })
  expect(created.status).toBe(200)
  const owned = stack.move()
  return {
    ...daemon,
    site: (name: string) => sites[name]!,
    /** Adds a monitor, and waits for the first step of its sources. */
    async watch(filter_spec: object, more: object = {}) {
      const { status, body } = await daemon.send('/forum/monitor/add', { filter_spec, ...more })
      expect({ status, body }).toMatchObject({ status: 200 })
      await daemon.clock.advance(30 * S)
      return body
    },
    health: async (id: string) => (await daemon.call(`/forum/monitor/health?id=${id}`)).body,
    delivered: (): any[] => daemon.receiver.received.flatMap(({ text }) => JSON.parse(text).items),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const titles = (items: { title?: string; body?: string }[]): string[] =>
  items.map(({ title, body = '' }) => title ?? body)
const byText = (a: string, b: string) => (a < b ? -1 : 1)
const sorted = (texts: string[]) => texts.toSorted(byText)

test('new items of a source are delivered once, with its name, over restarts', async () => {
  await using daemon = await startWith(['hn'])
  const hn = daemon.site('hn')
  const old = hn.story('an old kettle')
  await daemon.clock.advance(2 * S)
  const monitor = await daemon.watch({ source: 'hn', kind: 'both', include_any: ['kettle'] })
  expect(monitor.streams).toEqual([{ id: 'all:hn', kind: 'all', subforum: null, interval_s: 10 }])

  const story = hn.story('a kettle')
  hn.story('a teapot')
  hn.comment(story, 'my kettle is better')
  hn.comment(old, 'under an old story: kettle')
  await daemon.clock.advance(30 * S)
  await daemon.restart()
  hn.story('another kettle')
  await daemon.clock.advance(30 * S)
  await daemon.restart()
  await daemon.clock.advance(30 * S)

  const items = daemon.delivered()
  expect(titles(items)).toEqual([
    'a kettle',
    'my kettle is better',
    'under an old story: kettle',
    'another kettle',
  ])
  expect(items[0]).toMatchObject({ name: `t3_${story}`, source: 'hn', subforum: 'story' })
  const health = await daemon.health(monitor.id)
  expect(health.coverage_24h).toMatchObject({
    status: 'complete',
    reason: null,
    proof: ['dense'],
    gaps: [],
  })
  expect(Date.parse(health.coverage_24h.audited_until)).toBeGreaterThan(daemon.clock.now() - 70 * S)
  expect(health.stream_liveness.status).toBe('live')
})

test('items of a whole interval are read at once, and a new story only once', async () => {
  await using daemon = await startWith(['hn'], 60)
  const hn = daemon.site('hn')
  await daemon.watch({ source: 'hn', kind: 'both', include_any: ['kettle'] }, { cadence_s: 60 })
  const stories = Array.from({ length: 15 }, (_, n) => hn.story(`kettle ${n}`))
  for (const story of stories) hn.comment(story, 'my kettle')
  await daemon.clock.advance(32 * S)

  expect(daemon.delivered()).toHaveLength(30)
  const paths = hn.requests.filter((path) => stories.some((id) => path.includes(`/${id}.`)))
  expect(paths).toHaveLength(15)
})

test('items that appear late, are deleted or change into a match', async () => {
  await using daemon = await startWith(['hn'])
  const hn = daemon.site('hn')
  const monitor = await daemon.watch({ source: 'hn', include_any: ['kettle'] })
  const late = hn.reserve()
  const dead = hn.story('a dead kettle', { dead: true })
  const deleted = hn.put({ deleted: true })
  const changed = hn.story('a teapot')
  await daemon.clock.advance(30 * S)
  expect(daemon.delivered()).toEqual([])
  const waiting = (await daemon.health(monitor.id)).coverage_24h
  expect(Date.parse(waiting.audited_until)).toBeLessThan(daemon.clock.now() - 15 * S)

  hn.put({ title: 'a late kettle' }, late)
  hn.edit(changed, { title: 'a teapot, now a kettle' })
  await daemon.clock.advance(2 * MINUTE)
  expect(sorted(titles(daemon.delivered()))).toEqual(['a late kettle', 'a teapot, now a kettle'])

  hn.edit(changed, { title: 'a kettle once more' })
  await daemon.clock.advance(2 * MINUTE)
  hn.edit(dead, { dead: undefined, title: 'a restored kettle' })
  await daemon.clock.advance(2 * MINUTE)
  expect(titles(daemon.delivered()).slice(2)).toEqual(['a restored kettle'])
  expect(daemon.delivered().some(({ id }) => id === String(deleted))).toBe(false)
})

test.each(['matches', 'feeds'] as const)(
  'an erased item that its source still shows stays out of an archive of %s',
  async (keep) => {
    await using daemon = await startWith(['hn'], 6000, keep)
    const hn = daemon.site('hn')
    await daemon.watch({ source: 'hn', include_any: ['kettle'] })
    const erased = hn.story('a regretted kettle')
    using db = connect(join(daemon.dir, 'forumd.sqlite'))
    const search = async (): Promise<string[]> => {
      while (countQueued(db) + countUnread(db, 'archive') > 0) await Bun.sleep(5)
      return titles((await daemon.call('/forum/archive/search?q=kettle')).body.items)
    }
    await daemon.clock.advance(30 * S)
    expect(await search()).toEqual(['a regretted kettle'])

    const deps = {
      db,
      instance_id: 'i',
      words: { community: 'subforum', home: 'forum' },
      clock_offset_ms: () => 0,
    }
    eraseItems(deps, [{ item_id: `hn/t3_${erased}`, reason: 'request' }], daemon.clock.now())
    hn.edit(erased, { title: 'a regretted kettle again' })
    await daemon.clock.advance(2 * MINUTE)
    hn.story('a later kettle')
    await daemon.clock.advance(30 * S)

    expect(await search()).toEqual(['a later kettle'])
  },
)

test('an id that stays unanswered is a gap of one id until it is answered', async () => {
  await using daemon = await startWith(['hn'])
  const hn = daemon.site('hn')
  const monitor = await daemon.watch({ source: 'hn' })
  const missing = hn.reserve()
  await daemon.clock.advance(40 * MINUTE)

  const { coverage_24h, sources } = await daemon.health(monitor.id)
  expect(sources).toMatchObject([
    {
      source: 'hn',
      status: 'complete',
      proof: 'dense',
      proven: { from_id: missing, to_id: missing },
      missing: { found: 1, healed: 0, open: 1 },
      open: [{ from_id: missing, to_id: missing, reason: 'unanswered' }],
    },
  ])
  expect(coverage_24h).toMatchObject({ status: 'complete', posts_missed_estimate: 0 })
  expect(coverage_24h.gaps).toMatchObject([
    {
      stream: 'all:hn',
      reason: 'unanswered',
      from_id: missing,
      to_id: missing,
      missed_estimate: 1,
      healed_at: null,
    },
  ])
  const metrics = await (await fetch(`${daemon.url()}/metrics`)).text()
  const series = metrics.split('\n').filter((it) => it.startsWith('forumd_source_'))
  expect(series).toEqual([
    expect.stringMatching(/^forumd_source_lag_seconds\{source="hn"\} \d+(\.\d+)?$/),
    'forumd_source_lag_ids{source="hn"} 0',
    'forumd_source_open_ids{source="hn",reason="unanswered"} 1',
    'forumd_source_open_ids{source="hn",reason="skipped"} 0',
    expect.stringMatching(/^forumd_source_requests_per_minute\{source="hn"\} [5-9](\.\d+)?$/),
  ])

  // The list of changed items does not name it.
  hn.put({ title: 'here' }, missing)
  await daemon.clock.advance(20 * MINUTE)
  expect(titles(daemon.delivered())).toEqual(['here'])
  const healed = await daemon.health(monitor.id)
  expect(healed.coverage_24h.gaps[0].healed_at).not.toBeNull()
  expect(healed.sources[0]).toMatchObject({ missing: { found: 1, healed: 1, open: 0 }, open: [] })
}, 60_000)

test('many monitors share the requests of one', async () => {
  await using daemon = await startWith(['hn'])
  const hn = daemon.site('hn')
  for (let n = 0; n < 100; n++) {
    if (n % 50 === 0) await daemon.clock.advance(MINUTE)
    const filter_spec = { source: 'hn', include_any: [`word${n}`] }
    const { status } = await daemon.send('/forum/monitor/add', { filter_spec, cadence_s: 60 })
    expect(status).toBe(200)
  }
  await daemon.clock.advance(2 * MINUTE)
  hn.requests.length = 0
  await daemon.clock.advance(10 * MINUTE)
  const count = (path: string) => hn.requests.filter((it) => it.endsWith(path)).length
  // Every 28 seconds, although the monitors ask for a minute: the list of changes has forgotten them by then.
  expect(count('updates.json')).toBeWithin(20, 23)
  expect(count('maxitem.json')).toBe(count('updates.json'))
  expect(hn.requests).toHaveLength(2 * count('updates.json'))

  hn.story('word7 and word99')
  await daemon.clock.advance(2 * MINUTE)
  expect(titles(daemon.delivered())).toEqual(['word7 and word99', 'word7 and word99'])
}, 60_000)

test('equal ids of two sources and of the platform are different items', async () => {
  await using daemon = await startWith(['hn', 'other'])
  const filter_spec = { source: 'all', include_any: ['kettle'] }
  const monitor = await daemon.watch(filter_spec)
  expect(monitor.filter_spec.source).toEqual(['all'])
  expect(monitor.streams.map(({ id }: { id: string }) => id)).toEqual([
    'search:kettle',
    'all:hn',
    'all:other',
  ])
  await daemon.clock.advance(2 * MINUTE)
  const { id } = daemon.sandbox.post({ subforum: 'cats', title: 'a kettle of forum' })
  for (const name of ['hn', 'other']) daemon.site(name).put({ title: `a kettle of ${name}` }, 101)
  await daemon.clock.advance(2 * MINUTE)

  const items = daemon.delivered()
  expect(sorted(titles(items))).toEqual([
    'a kettle of forum',
    'a kettle of hn',
    'a kettle of other',
  ])
  expect(items.map(({ source = 'forum' }) => source).toSorted(byText)).toEqual([
    'forum',
    'hn',
    'other',
  ])
  const why = async (item_id: string) =>
    (await daemon.call(`/forum/monitor/why?id=${monitor.id}&item_id=${item_id}`)).body.items[0]
  expect(await why('hn/t3_101')).toMatchObject({ item_id: 'hn/t3_101', outcome: 'matched' })
  expect(await why('other/t3_101')).toMatchObject({ outcome: 'matched' })
  expect(await why(id)).toMatchObject({ outcome: 'matched' })
  const { coverage_24h } = await daemon.health(monitor.id)
  expect(coverage_24h.proof).toEqual(['time_listing', 'dense'])
})

test('a source that is down delays only its own feed, and nothing of it is lost', async () => {
  await using daemon = await startWith(['hn'])
  const hn = daemon.site('hn')
  const monitor = await daemon.watch({ source: 'hn', include_any: ['kettle'] })
  daemon.sandbox.post({ subforum: 'cats', title: 'old' })
  await daemon.watch({ subforum: 'cats', include_any: ['kettle'] })
  hn.state.status = 503
  hn.story('a kettle while it is down')
  await daemon.clock.advance(2 * MINUTE)
  daemon.sandbox.post({ subforum: 'cats', title: 'a kettle of forum' })
  await daemon.clock.advance(MINUTE)

  expect(titles(daemon.delivered())).toEqual(['a kettle of forum'])
  const { coverage_24h, stream_liveness } = await daemon.health(monitor.id)
  expect(coverage_24h).toMatchObject({ status: 'degraded', reason: 'source_unreachable' })
  expect(stream_liveness.status).toBe('degraded')
  const logged = () =>
    daemon.events
      .filter(({ level, fields }) => level !== 'debug' && fields['feed'] === 'all:hn')
      .flatMap(({ event }) => (event === 'feed.stalled' ? [] : event))
  expect(logged()).toEqual(['check.cut'])

  hn.state.status = 200
  await daemon.clock.advance(2 * MINUTE)
  expect(titles(daemon.delivered())).toEqual(['a kettle of forum', 'a kettle while it is down'])
  expect(logged()).toEqual(['check.cut', 'feed.recovered'])
  expect((await daemon.health(monitor.id)).coverage_24h.status).toBe('complete')
})

test('a source with more new items than a step may read is caught up with, and health says so', async () => {
  await using daemon = await startWith(['hn'], 60)
  const hn = daemon.site('hn')
  const monitor = await daemon.watch({ source: 'hn', include_any: ['kettle'] })
  for (let n = 0; n < 80; n++) hn.story(`kettle ${n}`)
  await daemon.clock.advance(20 * S)
  expect((await daemon.health(monitor.id)).coverage_24h).toMatchObject({
    status: 'partial',
    reason: 'catching_up',
  })
  await daemon.restart()
  await daemon.clock.advance(3 * MINUTE)
  expect(titles(daemon.delivered()).length).toBe(80)
  expect(new Set(titles(daemon.delivered())).size).toBe(80)
  expect((await daemon.health(monitor.id)).coverage_24h.status).toBe('complete')
})

test('a monitor takes its own places of a source only, and begins with its creation', async () => {
  await using daemon = await startWith(['hn'])
  const hn = daemon.site('hn')
  const thread = hn.story('a thread', { by: 'zoe' })
  // With a keyword, so that the index finds items of other places too.
  const spec = { source: 'hn', include_any: ['kettle'] }
  const specs = {
    show: { ...spec, subforum: 'show' },
    not_show: { ...spec, exclude_subforums: ['show', 'ask'] },
    ann: { ...spec, author: 'ann', kind: 'both' },
    thread: { ...spec, thread: String(thread), search_in: 'body' },
    comments: { ...spec, kind: 'comment', search_in: 'body' },
    show_without_keyword: { source: 'hn', subforum: 'show' },
    ann_without_keyword: { source: 'hn', author: 'ann', kind: 'both' },
    thread_without_keyword: { source: 'hn', thread: String(thread) },
  }
  const ids: Record<string, string> = {}
  for (const [name, it] of Object.entries(specs))
    ids[name] = (await daemon.watch(it, { targets: 'none' })).id
  hn.story('Show HN: kettle one', { by: 'bob' })
  const story = hn.story('kettle two', { by: 'ann' })
  hn.comment(thread, 'kettle three', { by: 'bob' })
  hn.comment(story, 'kettle four', { by: 'ann' })
  await daemon.clock.advance(MINUTE)
  const got = async (name: string) =>
    sorted(titles((await daemon.call(`/forum/monitor/items?id=${ids[name]}`)).body.items))

  expect(await got('show')).toEqual(['Show HN: kettle one'])
  expect(await got('not_show')).toEqual(['kettle two'])
  expect(await got('ann')).toEqual(['kettle four', 'kettle two'])
  expect(await got('thread')).toEqual(['kettle three'])
  expect(await got('comments')).toEqual(['kettle four', 'kettle three'])
  for (const name of ['show', 'ann', 'thread'])
    expect(await got(`${name}_without_keyword`)).toEqual(await got(name))
})

test('a threshold is rechecked at the source', async () => {
  await using daemon = await startWith(['hn'])
  const hn = daemon.site('hn')
  await daemon.watch({ source: 'hn', include_any: ['kettle'], min_score: 10 })
  const id = hn.story('a kettle')
  const gone = hn.story('a deleted kettle')
  await daemon.clock.advance(MINUTE)
  hn.put({ title: 'a kettle', score: 12 }, id)
  hn.edit(gone, { deleted: true, score: 20 })
  await daemon.clock.advance(3 * MINUTE)
  expect(daemon.delivered()).toMatchObject([{ title: 'a kettle', source: 'hn', upvotes: 12 }])
})

test('a spec that its sources cannot serve is refused with the field', async () => {
  await using daemon = await startWith(['hn'])
  const refusal = async (filter_spec: object, more: object = {}) => {
    const { status, body } = await daemon.send('/forum/monitor/add', { filter_spec, ...more })
    return [status, body.field, body.error]
  }
  expect(await refusal({ source: 'nowhere' })).toEqual([
    400,
    'filter_spec.source',
    'filter_spec.source: nowhere cannot be monitored; the sources are forum, hn',
  ])
  const fields: [object, string][] = [
    [{ source: ['all', 'hn'] }, 'filter_spec.source'],
    [{ source: 'hn', subforum: 'nope' }, 'filter_spec.subforum'],
    [{ source: 'hn', exclude_subforums: 'nope' }, 'filter_spec.exclude_subforums'],
    [{ source: 'hn', subforum: 'all' }, 'filter_spec.subforum'],
    [{ source: ['forum', 'hn'], kind: 'both' }, 'filter_spec'],
  ]
  for (const [filter_spec, field] of fields)
    expect((await refusal(filter_spec)).slice(0, 2)).toEqual([400, field])
  const baseline = await refusal({ source: 'hn' }, { baseline_item_id: 't3_1' })
  expect(baseline).toEqual([400, 'baseline_item_id', expect.stringContaining('from now on')])
})

const atStart = () => Date.UTC(2026, 0, 1)

/** A daemon with a forum as its source, and the requests to add monitors there. */
async function startWithForum(url?: string, kind: 'discourse' | 'lemmy' = 'discourse') {
  await using stack = new AsyncDisposableStack()
  const options = { port: 0, seed: 7, speed: 0, now: atStart }
  const forum = stack.use(await startKind(kind, options))
  const daemon = stack.use(
    await startTestDaemon({
      change: (config) =>
        void config.source.push({
          name: 'meta',
          kind,
          base_url: url ?? forum.url,
          user_agent: '',
          requests_per_minute: 600,
          api_key: '',
          ends_at: '',
        }),
    }),
  )
  const owned = stack.move()
  return {
    host: new URL(forum.url).host,
    add: (subforum: string) =>
      daemon.send('/forum/monitor/add', { filter_spec: { source: 'meta', subforum } }),
    edit: (id: string, subforum: string) =>
      daemon.send('/forum/monitor/update', {
        monitor_id: id,
        filter_spec: { source: 'meta', subforum },
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('a place that a source does not have is refused by name, with the nearest one', async () => {
  await using it = await startWithForum()
  const known = await it.add('uncategorized')
  expect({ status: known.status, warnings: known.body.warnings }).toEqual({
    status: 200,
    warnings: undefined,
  })
  const edited = await it.edit(known.body.id, 'uncategorised')
  expect(edited).toMatchObject({ status: 400, body: { names: ['uncategorised'] } })
  const unknown = await it.add('uncategorised')
  expect(unknown).toMatchObject({
    status: 400,
    body: { code: 'subforum_not_found', names: ['uncategorised'], reason: 'absent' },
  })
  expect(JSON.stringify(unknown.body)).toContain('did you mean uncategorized?')
  for (const place of ['nope/sub', 'tag:zzz'])
    expect((await it.add(place)).body).toMatchObject({ names: [place] })
})

test('a community in another spelling is watched by the name of its items', async () => {
  await using it = await startWithForum(undefined, 'lemmy')
  for (const place of [`selfhosting@${it.host}`, 'SelfHosting']) {
    const { status, body } = await it.add(place)
    expect({ status, subforum: body.filter_spec?.subforum }).toEqual({
      status: 200,
      subforum: ['selfhosting'],
    })
  }
  expect(await it.add('nope')).toMatchObject({ status: 400, body: { names: ['nope'] } })
})

test('a place is accepted with a warning while its source does not answer', async () => {
  using site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('<html>Down for maintenance</html>'),
  })
  await using it = await startWithForum(site.url.origin)
  const { status, body } = await it.add('nope')
  expect({ status, warnings: body.warnings }).toEqual({
    status: 200,
    warnings: ['places_unverified'],
  })
})
