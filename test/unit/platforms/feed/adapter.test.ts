import { describe, expect, test } from 'bun:test'

import type { WatchStep } from '../../../../src/platforms/source.ts'
import { certificate } from '../../../support/certificate.ts'
import { documentOf, MINUTE, START, startFeeds } from './fixture.ts'

/** Dates have whole seconds: what an answer proves ends within the second before. */
const isNow = (step: WatchStep, now: number): boolean =>
  step.verified_until <= now && step.verified_until > now - 2000

const titles = ({ items }: WatchStep): string[] =>
  items.map((it) => (it.kind === 'post' ? it.title : ''))

describe('a source of feeds', () => {
  test('gives what came since the last poll, and proves it', async () => {
    await using it = startFeeds()
    it.post(3)
    const first = await it.step()
    expect([titles(first), first.partial, isNow(first, it.site.now)]).toEqual([[], null, true])
    it.post(2)
    const second = await it.step()
    expect([second.partial, isNow(second, it.site.now)]).toEqual([null, true])
    expect(second.items).toMatchObject([
      {
        title: 'title 4',
        author: 'ann',
        flair: 'parts',
        subforum: 'bikes',
        text: 'text 4',
        score_hidden: true,
      },
      { title: 'title 5', url: 'http://forum.example/a5' },
    ])
    // Its poll came late: it is as old as that.
    expect(second.published).toEqual([second.items[0]?.name ?? ''])
  })

  test('gives what came since the start of a monitor that waited for the first poll', async () => {
    await using it = startFeeds()
    it.post(2)
    const since = it.site.now + 1
    it.post(2)
    expect(titles(await it.step(10, 'bikes', since))).toEqual(['title 3', 'title 4'])
    expect(titles(await it.step())).toEqual([])
  })

  test('reports a window that rolled over, and goes on', async () => {
    await using it = startFeeds()
    it.post(5)
    const first = await it.step()
    it.post(9)
    const second = await it.step()
    expect(second).toMatchObject({
      overran: {
        from_at: START + 5 * MINUTE,
        until_at: START + 20 * MINUTE,
      },
      verified_until: first.verified_until,
    })
    expect(titles(second)).toEqual([10, 11, 12, 13, 14].map((n) => `title ${n}`))
    it.post(1)
    expect(isNow(await it.step(), it.site.now)).toBe(true)
  })

  test('sees an edit once', async () => {
    await using it = startFeeds()
    it.post(3)
    await it.step()
    const [row] = it.site.rows
    if (row !== undefined) row.text = 'other'
    const edited = await it.step()
    expect(edited.items).toMatchObject([{ title: 'title 1', text: 'other' }])
    expect(edited.items[0]).not.toMatchObject({ edited: false })
    expect((await it.step()).items).toEqual([])
  })

  test('keeps its position over a restart, and gives nothing twice', async () => {
    await using it = startFeeds()
    it.post(3)
    const { state } = await it.step()
    it.post(1)
    it.site.now += 10 * MINUTE
    const call = { feed: 'bikes', requests: 5, deadline_at: it.site.now + MINUTE }
    const again = await it.source.watch?.advance(state, call)
    expect(again?.ok && titles(again.value)).toEqual(['title 4'])
  })

  test.each([
    ['no feed', () => new Response('<html>sign in</html>'), { kind: 'unreadable', path: 'html' }],
    ['an empty list', () => new Response(documentOf([])), { kind: 'unreadable', path: 'empty' }],
    [
      'a notice',
      () =>
        new Response(
          '<rss><channel><link>http://f.example/</link><item><title>Off</title><link>http://f.example/</link></item></channel></rss>',
        ),
      { kind: 'unreadable', path: 'notice' },
    ],
    [
      'a login',
      () => new Response('', { status: 302, headers: { location: '/login?back=1' } }),
      { kind: 'login_required' },
    ],
    ['401', () => new Response('', { status: 401 }), { kind: 'login_required' }],
    ['404', () => new Response('', { status: 404 }), { kind: 'not_found', reason: null }],
    [
      'a redirect without an end',
      () => new Response('', { status: 302, headers: { location: '/feed' } }),
      { kind: 'unreadable', path: 'redirect' },
    ],
  ] as const)('has a fault for %s, and its proof stays', async (_, answer, fault) => {
    await using it = startFeeds()
    it.post(3)
    await it.step()
    it.site.override = answer
    expect(await it.fault()).toEqual(fault)
    it.site.override = () => null
    it.post(1)
    const step = await it.step()
    expect([step.partial, isNow(step, it.site.now)]).toEqual([null, true])
  })

  test('goes on with its other feeds when one fails, moves or rolls over', async () => {
    await using it = startFeeds([{ name: 'bikes' }, { name: 'tools', path: '/tools' }])
    it.post(3)
    await it.step()
    await it.step(0, 'tools')
    it.site.override = (path) => (path === '/tools' ? new Response('', { status: 404 }) : null)
    it.post(1)
    expect(await it.fault(10, 'tools')).toMatchObject({ kind: 'not_found' })
    expect(await it.step(0)).toMatchObject({ partial: null, items: [{ subforum: 'bikes' }] })
    it.post(9)
    it.site.override = () => null
    await it.step()
    it.post(1)
    const [bikes, tools] = [await it.step(60), await it.step(0, 'tools')]
    expect([bikes.overran, isNow(bikes, it.site.now)]).toEqual([undefined, true])
    expect([tools.overran === undefined, isNow(tools, it.site.now)]).toEqual([false, false])
  })

  test('asks no more after 410', async () => {
    await using it = startFeeds()
    it.post(3)
    await it.step()
    it.site.override = () => new Response('', { status: 410 })
    expect((await it.step()).partial).toBe('places_not_read')
    const before = it.requests.length
    for (let n = 0; n < 3; n++) expect((await it.step(60)).partial).toBe('places_not_read')
    expect(it.requests.length).toBe(before)
  })
})

describe('requests for a feed', () => {
  test('have the conditions of the last usable answer, once 304 has shown to be meant', async () => {
    await using it = startFeeds()
    const versioned = () => {
      it.site.headers = {
        etag: `"${it.site.rows.length}"`,
        'last-modified': new Date(it.site.now).toUTCString(),
      }
    }
    it.post(3)
    versioned()
    await it.step()
    for (let n = 0; n < 3; n++) {
      it.post(1)
      versioned()
      await it.step()
    }
    it.site.override = (_, headers) =>
      headers.get('if-none-match') === '"6"'
        ? new Response(null, {
            status: 304,
            headers: { date: new Date(it.site.now).toUTCString() },
          })
        : null
    const same = await it.step()
    expect([same.items, isNow(same, it.site.now)]).toEqual([[], true])
    expect(it.requests.at(-1)?.headers.get('if-modified-since')).not.toBeNull()
    // A page in place of the feed has a validator too: it is not kept.
    it.site.override = () => new Response('<html></html>', { headers: { etag: '"page"' } })
    await it.fault()
    it.site.override = () => null
    await it.step()
    expect(it.requests.map(({ headers }) => headers.get('if-none-match'))).not.toContain('"page"')
  })

  test('have none where a validator stays although entries change', async () => {
    await using it = startFeeds()
    it.site.headers = { etag: '"same"' }
    it.post(3)
    for (let n = 0; n < 4; n++) {
      await it.step()
      it.post(1)
    }
    it.site.override = (_, headers) =>
      headers.get('if-none-match') === '"same"'
        ? new Response(null, {
            status: 304,
            headers: { date: new Date(it.site.now).toUTCString() },
          })
        : null
    const given: string[] = []
    for (let n = 0; n < 30; n++) given.push(...titles(await it.step()))
    expect(given).toContain('title 7')
    expect(it.requests.at(-1)?.headers.get('if-none-match')).toBeNull()
  })

  test('carry a credential to their own origin alone, and no log has it', async () => {
    await using it = startFeeds([
      { name: 'bikes', path: '/feed?key=hunter2', user: 'ann', password: 'hunter3' },
    ])
    it.post(3)
    await it.step()
    expect(it.requests[0]?.headers.get('authorization')).toBe(`Basic ${btoa('ann:hunter3')}`)
    it.site.override = () => new Response('', { status: 403 })
    await it.fault()
    const shown = JSON.stringify([
      it.site.logged,
      it.source.url,
      it.source.place_examples,
      await it.source.reads.communities(
        { which: 'popular', limit: 10, after: null },
        { identity: null as never, deadline_at: it.site.now + MINUTE },
      ),
    ])
    expect(shown).not.toMatch(/hunter/)
  })

  test('follow a redirect to another origin without the credential', async () => {
    await using other = startFeeds()
    await using it = startFeeds([{ name: 'bikes', user: 'ann', password: 'hunter3' }], {
      allowed: ['127.0.0.1'],
    })
    other.post(3)
    it.site.now = other.site.now
    it.site.override = () =>
      new Response('', { status: 302, headers: { location: `${other.url}/feed` } })
    await it.step()
    expect(other.requests.map(({ headers }) => headers.get('authorization'))).toEqual([null])
  })

  test('do not follow a redirect from TLS to plain HTTP', async () => {
    await using other = startFeeds()
    await using it = startFeeds([{ name: 'bikes' }], {
      tls: await certificate(),
      allowed: ['127.0.0.1'],
    })
    it.post(3)
    await it.step()
    it.site.override = () =>
      new Response('', { status: 302, headers: { location: `${other.url}/feed` } })
    expect(await it.fault()).toEqual({ kind: 'unreadable', path: 'redirect' })
    expect(other.requests).toEqual([])
  })

  test('come no sooner than the window needs, and not before the site allows', async () => {
    await using it = startFeeds()
    it.site.headers = { 'cache-control': 'max-age=1800' }
    it.post(3)
    await it.step()
    await it.step(1)
    await it.step(10)
    expect(it.requests).toHaveLength(1)
    await it.step(20)
    expect(it.requests).toHaveLength(2)
  })

  test.each([
    [301, ['/new']],
    [302, ['/feed', '/new']],
  ])('after three days of status %i go to %p', async (status, paths) => {
    await using it = startFeeds()
    it.post(3)
    it.site.override = (path) =>
      path === '/feed' ? new Response('', { status, headers: { location: '/new' } }) : null
    for (let n = 0; n < 5; n++) await it.step(24 * 60)
    const before = it.requests.length
    await it.step(24 * 60)
    expect(it.requests.slice(before).map(({ path }) => path)).toEqual(paths)
  })
})

test('callers read what a feed lists now', async () => {
  await using it = startFeeds()
  it.post(3)
  const call = { identity: null as never, deadline_at: it.site.now + MINUTE }
  const page = { limit: 2, after: null, sort: 'new', t: null } as const
  const found = await it.source.reads.posts({ subforums: ['Bikes'], ...page }, call)
  expect(found.ok && found.value.rows.map(({ title }) => title)).toEqual(['title 3', 'title 2'])
  const none = await it.source.reads.posts({ subforums: ['nope'], ...page }, call)
  expect(!none.ok && none.fault.kind).toBe('not_found')
  expect(it.source.isPlace('bikes')).toBe(true)
})
