import { PROXY_SCHEMES } from '../../../src/core/forum/proxy.ts'
import type { AddressCase } from '../../../test/support/address-cases.ts'
import type { AddressFixture } from './fixture.ts'
import type { Names } from './names.ts'

/** Number of cases, and the cases with an unexpected result. */
export type Outcome = { cases: number; wrong: string[] }
/** The daemon and its name server. */
export type World = { fixture: AddressFixture; names: Names }

/** Address of the harmless receivers. */
export const PUBLIC = '93.184.215.14'
const PICTURES = 'picture.example.net'
/** Cases that are refused because of the address they resolve to, not because of their form. */
const BY_PLACE = /^\[(v4-special|v6-special|metadata|internal-name|dns|literal|v4-encoding)\]/

const hostOf = (url: string): string | null => URL.parse(url)?.hostname ?? null

function setNames({ names }: World, { url, resolves_to }: AddressCase) {
  const host = hostOf(url)
  if (host !== null && host !== '') names.set(host, resolves_to ?? [])
}

/** Registers every case as a webhook: addresses that may not be dialled are refused, all others accepted. */
export async function register(world: World, cases: readonly AddressCase[]): Promise<Outcome> {
  const { fixture } = world
  const wrong: string[] = []
  for (const it of cases) {
    setNames(world, it)
    const { status, body } = await fixture.send('/forum/monitor/webhook/create', { url: it.url })
    if (status === 200) await fixture.send('/forum/monitor/webhook/delete', { id: body['id'] })
    // A chat service's own host accepts its own paths only, at any address.
    const taken = status === 200 || body['code'] === 'webhook_kind_mismatch'
    if (taken !== (it.expect === 'accept')) wrong.push(`${it.url} ${it.why}: ${status}`)
  }
  return { cases: cases.length, wrong }
}

/**
 * Tests every case as a webhook that was registered while its address was harmless, or by a less strict daemon.
 */
export async function deliverTests(world: World, cases: readonly AddressCase[]): Promise<Outcome> {
  const { fixture, names } = world
  const wrong: string[] = []
  for (const it of cases) {
    const host = hostOf(it.url)
    let id: unknown = null
    if (it.resolves_to !== null && host !== null) {
      names.set(host, [PUBLIC])
      const created = await fixture.send('/forum/monitor/webhook/create', { url: it.url })
      id = created.body['id'] ?? null
    }
    id ??= fixture.insertWebhook(it.url)
    setNames(world, it)
    const { body } = await fixture.send('/forum/monitor/webhook/test', { id })
    const refused = body['reason'] === 'target_not_public' || body['reason'] === 'dns_failed'
    const right = it.expect === 'accept' ? body['ok'] === true : body['ok'] === false && refused
    if (!right) wrong.push(`${it.url} ${it.why}: ${JSON.stringify(body)}`)
    await fixture.send('/forum/monitor/webhook/delete', { id })
  }
  return { cases: cases.length, wrong }
}

/** Sends a match to all of them through the sender and the whole retry schedule. */
export async function deliverMatches(
  world: World,
  cases: readonly AddressCase[],
): Promise<Outcome> {
  const { fixture, names } = world
  for (const [at, it] of cases.entries()) {
    const name = `match${at}.example.org`
    if (it.resolves_to !== null) names.set(name, it.resolves_to)
    fixture.insertWebhook(it.why.startsWith('[dns]') ? `https://${name}/` : it.url)
  }
  // The subforum has to exist before it is watched.
  fixture.sandbox.post({ subforum: 'hay', title: 'hay' })
  const { status } = await fixture.send('/forum/monitor/add', {
    filter_spec: { subforum: 'hay', include_any: ['needle'] },
  })
  if (status !== 200) throw new Error(`no monitor: ${status}`)
  fixture.sandbox.post({ subforum: 'hay', title: 'a needle' })
  const count = (where: string) =>
    fixture.db.query<{ n: number }, []>(`SELECT count(*) AS n FROM deliveries WHERE ${where}`).get()
      ?.n ?? 0
  while (count('1') === 0 || count("status = 'pending'") > 0) await Bun.sleep(100)
  const wrong = fixture.db
    .query<{ result: string }, []>(
      `SELECT w.url || ' ' || d.status || ' ' || coalesce(d.last_error, '') AS result FROM deliveries d
         JOIN webhooks w ON w.id = d.webhook_id
        WHERE d.status <> 'dead' OR d.attempts <> 6 OR d.last_error NOT IN ('target_not_public', 'dns_failed')`,
    )
    .all()
    .map(({ result }) => result)
  if (count('1') !== cases.length) wrong.push(`${count('1')} deliveries to ${cases.length} targets`)
  return { cases: cases.length, wrong }
}

/** Names every host as a caller's proxy, of every kind, for a read and for a write. */
export async function proxies(world: World, cases: readonly AddressCase[]): Promise<Outcome> {
  const { fixture } = world
  const { headers, fields } = fixture.session()
  const outcome: Outcome = { cases: 0, wrong: [] }
  for (const it of cases.filter(({ why }) => BY_PLACE.test(why))) {
    const host = hostOf(it.url)
    if (host === null) continue
    setNames(world, it)
    for (const scheme of PROXY_SCHEMES) {
      const proxy = `${scheme}://${host}:3128`
      const read = await fixture.call('/api/forum/feed', {
        headers: { ...headers, 'x-forum-proxy': proxy },
      })
      const write = await fixture.send('/api/forum/vote', {
        ...fields,
        proxy,
        id: 't3_1',
        direction: 'up',
      })
      outcome.cases += 2
      for (const { status, body } of [read, write])
        if (status !== 400 || body['code'] !== 'INVALID_PROXY')
          outcome.wrong.push(`${proxy} ${it.why}: ${status} ${String(body['code'])}`)
    }
  }
  return outcome
}

/** Names every address as an image, as a post and as a permalink. */
export async function picturesAndLinks(
  world: World,
  cases: readonly AddressCase[],
): Promise<Outcome> {
  const { fixture, names } = world
  const { fields } = fixture.session()
  const outcome: Outcome = { cases: 0, wrong: [] }
  const refused = (what: string, { status, body }: Awaited<ReturnType<AddressFixture['call']>>) => {
    outcome.cases += 1
    if (status !== 400) outcome.wrong.push(`${what}: ${status} ${JSON.stringify(body)}`)
  }
  for (const it of cases) {
    setNames(world, it)
    refused(
      `image_url ${it.url}`,
      await fixture.send('/api/forum/profile/avatar', { ...fields, image_url: it.url }),
    )
    const host = hostOf(it.url)
    if (host === null || host === '') continue
    for (const path of ['r/a/comments/1/', 'r/a/s/abcdef']) {
      const url = `https://${host}/${path}`
      refused(
        `post_url ${url}`,
        await fixture.send('/api/forum/v2/comment', { ...fields, post_url: url, text: 'x' }),
      )
      refused(
        `permalink ${url}`,
        await fixture.call(`/api/forum/comments?permalink=${encodeURIComponent(url)}`),
      )
    }
  }
  // An image that redirects, and one whose name resolves to another address a moment later.
  names.set(PICTURES, [PUBLIC], ['169.254.169.254'])
  refused(
    'image_url that redirects',
    await fixture.send('/api/forum/profile/banner', {
      ...fields,
      image_url: `https://${PICTURES}/away`,
    }),
  )
  return outcome
}
