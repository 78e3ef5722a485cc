import { type Certificate } from '../certificate.ts'
import { speaker } from '../scripted-server.ts'
import { brotliBomb, gzipBomb, gzipBombOfOne } from './bombs.ts'
import type { Reply } from './front.ts'
import { EVIL_REGEXES, evilTexts } from './regexes.ts'
import { call, each, fieldsOf, type Outcome, type Target } from './target.ts'

const MIB = 1024 * 1024

/** Receivers whose answers have no end, or inflate to much more: the status counts, the rest is left. */
export async function answerWithBombs(
  target: Target,
  rounds: number,
  tls: Certificate,
): Promise<Outcome> {
  const wrong: string[] = []
  const steps = Array.from({ length: rounds }, () => [
    { status: 200, headers: {}, body: '1 GiB' },
    { status: 500, headers: { 'content-encoding': 'gzip' }, body: '200 MiB of zeros, gzip' },
  ]).flat()
  const server = speaker(steps, tls)
  const created = await call(
    target,
    '/forum/monitor/webhook/create',
    JSON.stringify({ url: `https://127.0.0.1:${server.port}/` }),
  )
  const id = created.body['id']
  for (const { status } of steps) {
    const { body } = await call(target, '/forum/monitor/webhook/test', JSON.stringify({ id }))
    if (body['status_code'] !== status || body['ok'] !== (status === 200))
      wrong.push(`${status}: ${JSON.stringify(body)}`)
  }
  await call(target, '/forum/monitor/webhook/delete', JSON.stringify({ id }))
  server.stop()
  return { requests: steps.length, wrong }
}

const utf8 = (body: string) => new TextEncoder().encode(body)
const listing = (children: string) =>
  `{"kind":"Listing","data":{"after":null,"dist":1,"children":[${children}]}}`

/** Answers of a platform or its proxy that are larger than they appear. */
function upstreamBombs(mib = 200): Record<string, Reply> {
  const json = { 'content-type': 'application/json' }
  const comment =
    '{"kind":"t1","data":{"id":"a","name":"t1_a","body":"x","replies":{"kind":"Listing","data":{"children":['
  const depth = Math.floor((7 * MIB) / (comment.length + 6))
  const nested = comment.repeat(depth) + ']}}}}'.repeat(depth)
  const bomb = gzipBomb(mib)
  return {
    'gzip of many members': { headers: { ...json, 'content-encoding': 'gzip' }, body: bomb },
    'gzip of one member': {
      headers: { ...json, 'content-encoding': 'gzip' },
      body: gzipBombOfOne(mib),
    },
    brotli: { headers: { ...json, 'content-encoding': 'br' }, body: brotliBomb(mib) },
    zstd: {
      headers: { ...json, 'content-encoding': 'zstd' },
      body: new Uint8Array(Bun.zstdCompressSync(new Uint8Array(mib * MIB))),
    },
    'gzip that is none': { headers: { ...json, 'content-encoding': 'gzip' }, body: utf8('{}') },
    'more than a page can be': { headers: json, body: new Uint8Array(64 * MIB).fill(0x20) },
    'arrays in arrays': { headers: json, body: utf8('['.repeat(4 * MIB)) },
    'a listing of arrays': {
      headers: json,
      body: utf8(listing(`${'['.repeat(2 * MIB)}${']'.repeat(2 * MIB)}`)),
    },
    'comments without end': { headers: json, body: utf8(`[${listing('')},${listing(nested)}]`) },
    'very many children': {
      headers: json,
      body: utf8(listing(Array.from({ length: 200_000 }, () => '{"kind":"t3","data":{}}').join())),
    },
  }
}

/** Every such answer to reads of every shape, as the pool and through a caller's proxy: an error of the platform's. */
export async function readBombs(
  target: Target,
  rounds: number,
  { mib = 200, rest_ms = 0 } = {},
): Promise<Outcome> {
  const wrong: string[] = []
  const fields = fieldsOf(target, 'ann')
  const session = { 'x-forum-session': fields.forum_session, 'x-forum-loid': fields.loid }
  const proxied = { ...session, 'x-forum-proxy': target.front.url }
  const bombs = Object.entries(upstreamBombs(mib))
  let requests = 0
  for (let round = 0; round < rounds; round++)
    for (const [name, reply] of bombs) {
      target.front.instead = () => reply
      const reads = [
        ['/api/forum/posts?subforum=hay', {}],
        ['/api/forum/comments?permalink=/r/hay/comments/abc/', {}],
        ['/api/forum/search?q=x', session],
        ['/api/forum/feed', proxied],
      ] as const
      await each(reads, { width: 2, rest_ms }, async ([path, headers]) => {
        const { status, body } = await call(
          target,
          `${path}${path.includes('?') ? '&' : '?'}limit=${round + 1}`,
          undefined,
          headers,
        )
        requests += 1
        if (status < 400 || body['code'] === 'internal_error')
          wrong.push(`${name} for ${path}: ${status} ${String(body['code'])}`)
      })
      target.front.instead = () => null
    }
  return { requests, wrong }
}

/** Every pattern as a monitor of its own, then texts made for them; a plain monitor beside them still finds its match. */
export async function matchRegexes(
  target: Target,
  length: number,
  within_ms: number,
): Promise<Outcome> {
  const wrong: string[] = []
  const add = (spec: object) =>
    call(
      target,
      '/forum/monitor/add',
      JSON.stringify({ filter_spec: { subforum: 'hay', ...spec } }),
    )
  target.sandbox.post({ subforum: 'hay', title: 'hay' })
  const ids: unknown[] = []
  let plain: unknown = null
  for (const spec of [
    { include_any: ['needle'] },
    ...EVIL_REGEXES.map((it) => ({ regex: [it] })),
  ]) {
    const { status, body } = await add(spec)
    plain ??= body['id']
    if (status === 200) ids.push(body['id'])
    else if (status !== 400 || typeof body['field'] !== 'string')
      wrong.push(`${JSON.stringify(spec)}: ${status} ${JSON.stringify(body)}`)
  }
  for (const text of evilTexts(length))
    target.sandbox.post({ subforum: 'hay', title: text.slice(0, 290), text })
  target.sandbox.post({ subforum: 'hay', title: 'a needle' })
  const until = performance.now() + within_ms
  const found = async () =>
    (await call(target, `/forum/monitor/items?id=${String(plain)}`)).text.includes('a needle')
  while (!(await found()) && performance.now() < until) await Bun.sleep(50)
  if (!(await found())) wrong.push('the plain monitor found nothing')
  for (const id of ids) await call(target, '/forum/monitor/remove', JSON.stringify({ id }))
  return { requests: EVIL_REGEXES.length, wrong }
}
