import type { Sequence } from '../../../test/support/address-cases.ts'
import { type Certificate, certificate } from '../../../test/support/certificate.ts'
import { speaker } from '../../../test/support/scripted-server.ts'
import { type Outcome, PUBLIC, type World } from './carriers.ts'

/**
 * Names that change over time. Each attempt is a test of a webhook that was harmless when it was registered.
 */
export async function sequences(
  world: World,
  all: readonly Sequence[],
  tls: Certificate,
): Promise<Outcome> {
  const { fixture, names } = world
  const wrong: string[] = []
  const ours = all.filter(({ via, url }) => via === undefined && url !== undefined)
  for (const it of ours) {
    const url = it.url ?? ''
    const host = new URL(url).hostname
    names.set(host, it.register_dns)
    const { status, body } = await fixture.send('/forum/monitor/webhook/create', {
      url,
      ...(it.kind !== undefined && { kind: it.kind }),
    })
    if (it.kind !== undefined) {
      if (status !== 400) wrong.push(`${it.id}: registered`)
      continue
    }
    const theirs = it.tls === undefined ? tls : await certificate([it.tls.replace('CN=', '')])
    const server = speaker(it.steps, theirs, { hostname: PUBLIC, port: 443 })
    names.set(host, ...it.dns)
    const attempts = it.name.includes('inside one attempt') ? 1 : Math.max(1, it.dns.length)
    let last: Record<string, unknown> = {}
    for (let n = 0; n < attempts; n++)
      last = (await fixture.send('/forum/monitor/webhook/test', { id: body['id'] })).body
    server.stop()
    await fixture.send('/forum/monitor/webhook/delete', { id: body['id'] })
    if ((last['ok'] === true) !== it.outcome.includes('delivered'))
      wrong.push(`${it.id}: ${JSON.stringify(last)}`)
    if (names.lookups(host) !== attempts && it.dns[0]?.[0] !== 'TIMEOUT')
      wrong.push(`${it.id}: ${names.lookups(host)} lookups for ${attempts} attempts`)
    if (it.outcome.includes('no request bytes') && server.requests() > 0)
      wrong.push(`${it.id}: received a request`)
    if (server.requests() > attempts) wrong.push(`${it.id}: received ${server.requests()} requests`)
  }
  return { cases: ours.length, wrong }
}

/** The sequences without a webhook: proxies, permalinks and post addresses. */
export async function detours(
  { fixture, names }: World,
  all: readonly Sequence[],
): Promise<Outcome> {
  const wrong: string[] = []
  const { headers, fields } = fixture.session()
  const theirs = all.filter(({ via }) => via !== undefined)
  for (const { id, via = '' } of theirs) {
    const before = fixture.sandbox.requests.length
    const [, permalink] = /permalink=(.*)$/.exec(via) ?? []
    const [, post_url] = /post_url=(\S+)/.exec(via) ?? []
    if (permalink !== undefined) {
      const { status } = await fixture.call(
        `/api/forum/comments?permalink=${encodeURIComponent(permalink)}`,
      )
      const paths = fixture.sandbox.requests.slice(before).map(({ path }) => path)
      if (status !== 400 && !paths.every((path) => path.includes('/comments/')))
        wrong.push(`${id}: ${status}, requested ${paths.join(' ')}`)
    } else if (post_url !== undefined) {
      const { status } = await fixture.send('/api/forum/v2/comment', {
        ...fields,
        post_url,
        text: 'x',
      })
      if (status !== 400) wrong.push(`${id}: ${status}`)
    } else if (via.includes('x-forum-proxy')) {
      const proxied = { ...headers, 'x-forum-proxy': 'http://127.0.0.1:3128' }
      const { status } = await fixture.call('/api/forum/posts?subforum=hay', { headers: proxied })
      if (status !== 400) wrong.push(`${id}: ${status}`)
    } else {
      names.set('p.example.com', ['203.0.114.9'], ['169.254.169.254'])
      const proxy = 'socks5://p.example.com:1080'
      const { status } = await fixture.send('/api/forum/v2/comment', {
        ...fields,
        proxy,
        post_url: 'https://www.forum.test/r/hay/comments/1/',
        text: 'x',
      })
      if (status !== 502 || names.lookups('p.example.com') !== 1)
        wrong.push(`${id}: ${status}, ${names.lookups('p.example.com')} lookups`)
    }
  }
  return { cases: theirs.length, wrong }
}
