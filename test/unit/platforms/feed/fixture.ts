import { parseConfig } from '../../../../src/config/load.ts'
import type { WatchStep } from '../../../../src/platforms/source.ts'
import { realClock } from '../../../../src/runtime/runtime.ts'
import { createSource } from '../../../../src/wiring/sources.ts'
import type { Certificate } from '../../../support/certificate.ts'
import { createLoopbackEgress } from '../../../support/loopback-egress.ts'

export const START = Date.UTC(2026, 10, 28)
export const MINUTE = 60_000
const { requests: REQUESTS } = parseConfig('source = [{ name = "hn", kind = "hackernews" }]')

type Row = { n: number; at: number; text: string }

export const documentOf = (rows: readonly Row[]): string =>
  `<rss version="2.0"><channel><title>Bikes</title><link>http://forum.example/</link>${rows
    .map(
      ({ n, at, text }) =>
        `<item><title>title ${n}</title><guid isPermaLink="false">${n}</guid><link>http://forum.example/a${n}</link><author>x@y.example (ann)</author><category>parts</category><pubDate>${new Date(at).toUTCString()}</pubDate><description>&lt;p>${text}&lt;/p></description></item>`,
    )
    .join('')}</channel></rss>`

/** A site of feeds over HTTP, on a clock of its own, and its source. */
export function startFeeds(
  feeds: { name: string; path?: string; user?: string; password?: string }[] = [{ name: 'bikes' }],
  { tls, allowed = [] }: { tls?: Certificate; allowed?: string[] } = {},
) {
  const requests: { path: string; headers: Headers; at: number }[] = []
  const site = {
    now: START,
    rows: [] as Row[],
    size: 5,
    override: (_path: string, _headers: Headers): Response | null => null,
    headers: {} as Record<string, string>,
    logged: [] as string[],
  }
  const clock = {
    ...realClock,
    now: () => site.now,
    mono: () => site.now,
    sleep: async (ms: number) => void (site.now += ms),
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls && { tls }),
    fetch(request) {
      const { pathname, search } = new URL(request.url)
      if (pathname === '/robots.txt') return new Response('', { status: 404 })
      requests.push({ path: pathname + search, headers: request.headers, at: site.now })
      const own = site.override(pathname, request.headers)
      if (own !== null) {
        own.headers.set('date', new Date(site.now).toUTCString())
        return own
      }
      const list = site.rows.toSorted((a, b) => b.at - a.at).slice(0, site.size)
      return new Response(documentOf(list), {
        headers: {
          'content-type': 'application/rss+xml',
          date: new Date(site.now).toUTCString(),
          ...site.headers,
        },
      })
    },
  })
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${server.port}`
  const source = createSource(
    {
      name: 's',
      kind: 'feed',
      base_url: '',
      user_agent: 'forumd-test/1.0',
      requests_per_minute: 600,
      feeds: feeds.map(({ name, path = '/feed', user = '', password = '' }) => ({
        name,
        url: url + path,
        interval_s: 0,
        user,
        password,
      })),
      ends_at: '',
    },
    { requests: REQUESTS },
    {
      clock,
      log: (_level: string, event: string, fields?: object) =>
        void site.logged.push(`${event} ${JSON.stringify(fields ?? {})}`),
      random: {
        fraction: () => 0,
        bytes: (count: number) => new Uint8Array(count),
        uuid: () => '',
      },
      egress: createLoopbackEgress({ allowed, ...(tls && { ca: tls.cert }) }),
    },
  )
  const states = new Map<string, string>()
  /** One step of a feed, after `minutes`. */
  async function advance(minutes: number, feed: string, since?: number) {
    site.now += minutes * MINUTE
    const call = {
      ...(since !== undefined && { since: () => since }),
      feed,
      requests: 10,
      interval_s: 300,
      deadline_at: site.now + MINUTE,
    }
    const outcome = await source.watch?.advance(states.get(feed) ?? null, call)
    if (outcome?.ok === true) states.set(feed, outcome.value.state)
    return outcome
  }
  return {
    site,
    source,
    url,
    requests,
    post(count = 1) {
      for (let n = 0; n < count; n++) {
        site.now += MINUTE
        site.rows.push({
          n: site.rows.length + 1,
          at: site.now,
          text: `text ${site.rows.length + 1}`,
        })
      }
    },
    async step(minutes = 10, feed = 'bikes', since?: number): Promise<WatchStep> {
      const outcome = await advance(minutes, feed, since)
      if (outcome?.ok !== true) throw new Error(JSON.stringify(outcome))
      return outcome.value
    },
    /** A step of the feed now, with its faults. */
    poll: () => advance(0, 'bikes'),
    async fault(minutes = 10, feed = 'bikes') {
      const outcome = await advance(minutes, feed)
      return outcome?.ok === false ? outcome.fault : null
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
