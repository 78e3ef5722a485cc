import { describe, expect, test } from 'bun:test'

import * as z from 'zod'

import { createAllowed } from '../../src/core/base/address.ts'
import { createDownload } from '../../src/net/download.ts'
import { createGuard } from '../../src/net/guard.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { fakeClock } from '../support/clock.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { PNG, startWriting, type Writing } from '../support/writes-fixture.ts'

const MIB = 1024 * 1024
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, ...Array.from({ length: 32 }, () => 7)])

/** An image address, with the receiver's next answers. */
const at = ({ house: { receiver } }: Writing, ...answers: typeof receiver.answers) => {
  receiver.answers.push(...answers)
  return receiver.url.replace('/hook', '/ann.png')
}

describe('an image given by its address', () => {
  test('is downloaded once, without the session, and sent unchanged', async () => {
    await using it = await startWriting()
    const image_url = at(it, { body: JPEG, headers: { 'content-type': 'text/plain' } })

    const { status, body } = await it.act('profile/banner', { image_url })

    expect([status, body.success]).toEqual([200, true])
    expect(it.house.receiver.received).toHaveLength(1)
    const [request] = it.house.receiver.received
    expect(request?.headers.get('cookie')).toBeNull()
    expect(request?.headers.get('user-agent')).toBe('forumd/1.0')
    expect(request?.headers.get('accept-encoding')).toBe('identity')
  })

  test.each([
    ['what is no picture', { body: 'GIF89a and more of that' }, 'PNG, JPEG or WebP'],
    ['a page that is not there', { status: 404 }, '200'],
    [
      'somewhere else',
      { status: 302, headers: { location: 'https://receiver.test/b.png' } },
      '200',
    ],
    ['what is packed', { body: PNG, headers: { 'content-encoding': 'gzip' } }, '200'],
    ['too much', { body: new Uint8Array(5 * MIB + 1) }, '5 MiB'],
  ] as const)('that leads to %s is refused without a charge', async (_what, answer, reason) => {
    await using it = await startWriting()
    const { status, body } = await it.act('profile/avatar', { image_url: at(it, answer) })

    expect([status, body.field]).toEqual([400, 'image_url'])
    expect(body.error).toContain(reason)
    expect(it.house.receiver.received).toHaveLength(1)
    expect(await it.spent()).toBe(0)
    expect(it.sandbox.requests).toEqual([])
  })

  test.each([
    'http://93.184.216.34/a.png',
    'https://10.0.0.1/a.png',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/a.png',
    'https://user:pass@receiver.test/a.png',
    'ftp://receiver.test/a.png',
    'not an address',
  ])('%s is refused without a connection', async (image_url) => {
    await using it = await startWriting()
    const { status, body } = await it.act('profile/banner', { image_url })

    expect([status, body.field]).toEqual([400, 'image_url'])
    expect(it.house.receiver.received).toEqual([])
  })
})

/** Bytes of this size that begin like an image. */
function pixels(size: number): string {
  const bytes = Buffer.alloc(size)
  JPEG.copy(bytes)
  return bytes.toString('base64')
}

test('an image of five megabytes is accepted in a body, and one byte more is not', async () => {
  await using it = await startWriting()
  const fits = await it.act('profile/banner', { image_base64: pixels(5 * MIB) })
  const over = await it.act('profile/banner', { image_base64: pixels(5 * MIB + 1) })

  expect(fits.status).toBe(200)
  expect([over.status, over.body.field]).toEqual([400, 'image_base64'])
})

/** Downloads from a receiver on the loopback, which the guard permits. */
function near(
  receiver: Receiver,
  clock = fakeClock(() => Promise.resolve()),
  addresses = ['127.0.0.1'],
) {
  const lookups: string[] = []
  const resolve = async (host: string) => {
    lookups.push(host)
    return addresses
  }
  const allowed = createAllowed({ allow_targets: ['127.0.0.0/8'], allow_http: false })
  const download = createDownload({
    clock,
    resolve,
    guard: createGuard({ resolve, clock, allowed, timeout_ms: 1000 }),
    fetch: (url, init) => fetch(url, { ...init, tls: { ...init.tls, ca: receiver.ca } }),
    user_agent: 'forumd/test',
    timeout_ms: 1000,
    bytes_max: MIB,
  })
  return { download, looked: lookups }
}

describe('a download', () => {
  const folder = process.env['FORUMD_SSRF']
  if (folder === undefined)
    console.log('FORUMD_SSRF is not set: the cases of the address guard are skipped')

  test.skipIf(folder === undefined)('connects to none of the forbidden addresses', async () => {
    const text = await Bun.file(`${folder}/cases.jsonl`).text()
    const shape = z.object({
      url: z.string(),
      resolves_to: z.array(z.string()).nullable(),
      expect: z.enum(['accept', 'reject']),
    })
    const wrong: string[] = []
    for (const line of text.split('\n').filter((it) => it.trim() !== '')) {
      const { url, resolves_to, expect: wanted } = shape.parse(JSON.parse(line))
      let dialled = 0
      const download = createDownload({
        clock: fakeClock(() => Promise.resolve()),
        resolve: async () => [],
        guard: createGuard({
          resolve: async () => resolves_to ?? [],
          clock: realClock,
          allowed: createAllowed({ allow_targets: [], allow_http: false }),
          timeout_ms: 1000,
        }),
        fetch: async () => {
          dialled += 1
          return new Response(PNG)
        },
        user_agent: 'forumd/test',
        timeout_ms: 1000,
        bytes_max: MIB,
      })
      const { ok } = await download(url)
      if (ok !== (wanted === 'accept') || dialled !== (ok ? 1 : 0)) wrong.push(url)
    }

    expect(wrong).toEqual([])
  })

  test('uses the checked address, with the name in the certificate check', async () => {
    await using receiver = await startReceiver({ name: 'pictures.receiver.test' })
    receiver.answers.push({ body: PNG })
    const { download, looked: lookups } = near(receiver)

    const got = await download(receiver.url)

    expect(got.ok && Buffer.from(got.bytes).equals(PNG)).toBe(true)
    expect(lookups).toEqual(['pictures.receiver.test'])
    expect(receiver.received[0]?.headers.get('host')).toBe(
      `pictures.receiver.test:${receiver.port}`,
    )
  })

  test('tries the next address of a name if the first has no listener', async () => {
    await using receiver = await startReceiver()
    receiver.answers.push({ body: PNG })
    const { download } = near(receiver, undefined, ['127.0.0.9', '127.0.0.1'])

    expect((await download(receiver.url)).ok).toBe(true)
  })

  test.each([
    ['never answers', { hang: true }],
    ['never ends', { drip: true }],
  ] as const)('that %s is aborted at its deadline', async (_what, answer) => {
    await using receiver = await startReceiver()
    receiver.answers.push(answer)
    const clock = fakeClock(() => Promise.resolve())
    const { download } = near(receiver, clock)

    const getting = download(receiver.url)
    while (receiver.received.length === 0) await Bun.sleep(1)
    await clock.advance(1000)

    expect(await getting).toEqual({ ok: false, why: 'too_slow' })
  })

  test('that exceeds its limit is aborted', async () => {
    await using receiver = await startReceiver()
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
    })
    receiver.answers.push({ body: endless })

    expect(await near(receiver).download(receiver.url)).toEqual({ ok: false, why: 'too_large' })
  })

  test('without a listener reports that', async () => {
    await using receiver = await startReceiver()
    const { download } = near(receiver)

    expect(await download('https://receiver.test:1234/a.png')).toEqual({
      ok: false,
      why: 'unreachable',
    })
  })
})
