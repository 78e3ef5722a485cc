// Goal: the example receivers, one per language, accept real deliveries and nothing else. Method:
// each is started by the command in its first line; a daemon delivers to all of them over the
// loopback; then the delivery is sent again, changed in one way at a time.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { sign } from '../../src/core/delivery/signature.ts'
import { installsAll, isLongForm } from '../support/long-form.ts'
import { postGrinder, startLoopbackDaemon, watchCoffee } from '../support/loopback-daemon.ts'
import { type Language, LANGUAGES, type Running, runReceiver } from '../support/receivers.ts'
import { root } from './documentation.ts'

setDefaultTimeout(180_000)

const TITLE = 'A quiet grinder — für „zuhause“? ☕'
/** They compile before they start. */
const SLOW = ['go', 'java']
const all = Object.keys(LANGUAGES).filter(
  (it): it is Language => it in LANGUAGES && (isLongForm || !SLOW.includes(it)),
)
const absent = all.filter((it) => Bun.which(LANGUAGES[it].needs) === null)
if (absent.length > 0 && installsAll) throw new Error(`not installed: ${absent.join(', ')}`)
if (absent.length > 0) console.log(`receivers not run, for want of: ${absent.join(', ')}`)
const here = all.filter((it) => !absent.includes(it))

type RunningReceiver = { running: Running; secret: string; body: Uint8Array; id: string }
const receivers = new Map<Language, RunningReceiver>()
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

beforeAll(async () => {
  const daemon = stack.use(await startLoopbackDaemon())
  // Each receiver needs the secret of its webhook, whose address is the receiver's. So a front that
  // exists earlier forwards to it.
  const fronts = await Promise.all(
    here.map(async (language) => {
      const got: Uint8Array[] = []
      let running: Running | null = null
      const front = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        async fetch(request) {
          const body = await request.bytes()
          got.push(body)
          return fetch(running?.url ?? '', { method: 'POST', headers: request.headers, body })
        },
      })
      stack.defer(() => front.stop(true))
      const url = `http://127.0.0.1:${front.port}/hook`
      const { status, body } = await daemon.send('/forum/monitor/webhook/create', { url })
      expect(status).toBe(200)
      running = stack.use(await runReceiver(language, body.secret))
      return { language, got, running, secret: String(body.secret) }
    }),
  )
  await watchCoffee(daemon)
  await postGrinder(daemon, TITLE)

  const { deliveries } = (await daemon.call('/forum/monitor/deliveries')).body
  expect(deliveries.map((it: { status: string }) => it.status)).toEqual(here.map(() => 'delivered'))
  for (const { language, got, running, secret } of fronts) {
    const [body = new Uint8Array()] = got
    const id = String(JSON.parse(new TextDecoder().decode(body)).delivery_id)
    receivers.set(language, { running, secret, body, id })
  }
})

const now_s = () => Math.floor(Date.now() / 1000)

function post(
  { running }: RunningReceiver,
  body: Uint8Array,
  signature: string | null,
): Promise<number> {
  const headers = signature === null ? {} : { 'x-service-signature': signature }
  return fetch(running.url, { method: 'POST', headers, body: Buffer.from(body) }).then(
    ({ status }) => status,
  )
}

/** Another delivery, as the daemon would send it. */
const another = ({ body, id }: RunningReceiver, other: string) =>
  new TextEncoder().encode(new TextDecoder().decode(body).replaceAll(id, other))

describe.each(here)('the receiver in %s', (language) => {
  const it = () => {
    const found = receivers.get(language)
    if (!found) throw new Error(`${language} did not start`)
    return found
  }

  // The duration of a comparison cannot be measured in a short test; that the constant-time
  // function is called can.
  test('compares in constant time', async () => {
    const sample = {
      javascript: 'timingSafeEqual(given, wanted)',
      python: 'hmac.compare_digest(',
      go: 'hmac.Equal(',
      ruby: 'OpenSSL.secure_compare(',
      php: 'hash_equals($wanted, ',
      java: 'MessageDigest.isEqual(',
    }
    const path = `${root}/examples/receivers/${LANGUAGES[language].file}`

    expect(await Bun.file(path).text()).toContain(sample[language])
  })

  test('accepts a delivery and reads it', async () => {
    await it().running.waitForLine(it().id)
    await it().running.waitForLine(TITLE)
  })

  test('accepts a repeat, and ignores it', async () => {
    expect(await post(it(), it().body, sign(it().secret, now_s(), it().body))).toBe(204)
    // The next delivery is printed after any output of the repeat.
    const next = another(it(), `dlv_next_${language}`)
    expect(await post(it(), next, sign(it().secret, now_s(), next))).toBe(204)
    await it().running.waitForLine(`dlv_next_${language}`)
    expect(it().running.lines.filter((line) => line.startsWith(it().id))).toHaveLength(1)
  })

  test('accepts signatures by an old and a new secret, with either one configured', async () => {
    const signed_s = now_s()
    const [, fits] = sign(it().secret, signed_s, it().body).split(',')

    expect(await post(it(), it().body, `t=${signed_s},v1=${'0'.repeat(64)},${fits}`)).toBe(204)
  })

  const refused: [
    string,
    (it: RunningReceiver) => { body?: Uint8Array; signature: string | null },
  ][] = [
    ['without a signature', () => ({ signature: null })],
    [
      'with a body that was changed',
      ({ secret, body }) => ({
        body: new Uint8Array([...body, 32]),
        signature: sign(secret, now_s(), body),
      }),
    ],
    ['with another secret', ({ body }) => ({ signature: sign('whsec_another', now_s(), body) })],
    [
      'that is older than 300 s',
      ({ secret, body }) => ({ signature: sign(secret, now_s() - 330, body) }),
    ],
    [
      'from more than 300 s ahead',
      ({ secret, body }) => ({ signature: sign(secret, now_s() + 330, body) }),
    ],
    [
      'whose time is not the one that was signed',
      ({ secret, body }) => ({
        signature: sign(secret, now_s() - 1000, body).replace(/t=\d+/, `t=${now_s()}`),
      }),
    ],
    [
      'with half a signature',
      ({ secret, body }) => ({ signature: sign(secret, now_s(), body).slice(0, -32) }),
    ],
    ['with an empty v1', () => ({ signature: `t=${now_s()},v1=` })],
    [
      'with a time that is none',
      ({ secret, body }) => ({ signature: sign(secret, now_s(), body).replace(/t=\d+/, 't=soon') }),
    ],
    ['with a header of nothing but commas', () => ({ signature: ',=,,' })],
  ]
  test.each(refused)('refuses one %s', async (_, make) => {
    const { body = it().body, signature } = make(it())
    const before = it().running.lines.length

    expect(await post(it(), body, signature)).toBe(401)
    expect(it().running.lines.length).toBe(before)
  })

  test('refuses everything without a secret, because an empty one is public', async () => {
    const { body } = it()
    await using running = await runReceiver(language, '')

    expect(await post({ ...it(), running }, body, sign('', now_s(), body))).toBe(401)
    expect(running.lines).toEqual([])
  })
})
