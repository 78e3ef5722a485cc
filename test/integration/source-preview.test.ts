// Goal: a preview shows what a filter would match of a further source of any kind, or names what the source lacks.
import { expect, test } from 'bun:test'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const S = 1000

test.each([
  ['discourse', { category: 'general' }],
  ['hackernews', {}],
  ['lemmy', { community: 'main' }],
] as const)(
  '%s: the newest items are a sample of its filter',
  async (kind, place) => {
    const time = { now: () => Date.parse('2026-01-01T00:00:00Z') }
    await using site = await startKind(kind, { port: 0, seed: 7, speed: 0, now: () => time.now() })
    await using daemon = await startTestDaemon({
      change: (config) =>
        void config.source.push({
          name: 's',
          kind,
          base_url: site.url,
          user_agent: '',
          requests_per_minute: 6000,
          api_key: '',
          ends_at: '',
        }),
    })
    time.now = daemon.clock.now
    const ask = async (filter_spec: object, more: object = {}) => {
      const answer = daemon.send('/forum/monitor/preview', { filter_spec, ...more })
      await daemon.clock.advance(10 * S)
      return answer
    }
    for (const title of ['A quokka for sale today', 'A teapot for sale today']) {
      const posted = await fetch(`${site.url}/__sandbox/post`, {
        method: 'POST',
        body: JSON.stringify({ ...place, title, text: 'A text that is long enough for all.' }),
      })
      expect(posted.status).toBe(200)
    }

    // A search index follows behind.
    await daemon.clock.advance(300 * S)

    const { status, body } = await ask({ source: 's', include_any: ['quokka'], search_in: 'title' })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        matched: 1,
        matches: [{ title: 'A quokka for sale today', source: 's' }],
        feeds: [{ kind: 'all', place: 's', items: 'posts', error: null, matched: 1 }],
        feeds_left_out: 0,
      },
    })
    expect(body.scanned).toBeGreaterThan(1)
    const both = await ask({ source: 's', kind: 'both', include_any: ['a'], match: 'substring' })
    expect(both.body.feeds).toMatchObject([
      { place: 's', items: 'posts', error: null },
      { place: 's', items: 'comments', error: null },
    ])
    expect(both.body.feeds[1].scanned).toBeGreaterThan(0)
    const nowhere = await ask({ source: 's', subforum: '///' })
    expect([nowhere.status, nowhere.body.field]).toEqual([400, 'filter_spec.subforum'])
  },
  60_000,
)
