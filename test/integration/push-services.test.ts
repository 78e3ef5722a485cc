// Goal: ntfy, Telegram, Gotify and Matrix get messages that they accept, their refusals are classified, and a repeat after
// a crash replaces the message where the service can. Method: receivers that check what the documentation says.
import { expect, test } from 'bun:test'

import { startDelivering } from '../support/delivery-fixture.ts'
import { type Push, startPushServices, TOKENS } from '../support/push-services.ts'

const SECOND = 1000
const KINDS = Object.keys(TOKENS) as Push[]

const post = (n: number) => ({
  kind: 'post',
  title: `A <b>kettle</b> & co, number ${n}`,
  author: 'ann',
  subforum: 'coffee',
  url: `https://forum.example/c/${n}?a=1&b=2`,
  text: 'It should pour "well" > all. '.repeat(100),
  enrichment: { relevance: { matched_terms: ['kettle'] } },
})

async function start(
  kind: Push,
  { token = TOKENS[kind], url = '' }: { token?: string; url?: string } = {},
) {
  await using stack = new AsyncDisposableStack()
  const services = stack.use(await startPushServices())
  const it = stack.use(await startDelivering())
  it.addWebhook('wh_push', url || services.urls[kind], kind, { username: null, token })
  const owned = stack.move()
  return {
    it,
    services,
    async send(id: string, items: object[] = [post(1)]) {
      it.put(id, 'wh_push', items)
      it.nudge()
      await it.clock.advance(0)
      // The attempt is a real request, which takes its time on a busy machine.
      for (let tries = 0; tries < 200 && it.row(id).attempts === 0; tries++) {
        await Bun.sleep(10)
        await it.clock.advance(0)
      }
    },
    excerpt: () =>
      it.db
        .query<{ body_start: string | null }, []>('SELECT body_start FROM attempts ORDER BY n')
        .all()
        .map(({ body_start }) => body_start ?? '')
        .join('\n'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test.each(KINDS)('%s accepts a match, and a bundle of 25', async (kind) => {
  await using sent = await start(kind)
  await sent.send('dlv_one')
  await sent.send(
    'dlv_many',
    Array.from({ length: 25 }, (_, n) => post(n)),
  )

  for (const id of ['dlv_one', 'dlv_many'])
    expect(sent.it.row(id)).toEqual({ status: 'delivered', attempts: 1, last_error: null })
  const [one, many, ...more] = sent.services.shown(kind)
  expect(more).toEqual([])
  expect(one?.text).toContain('kettle')
  expect(many?.text).toContain('number 24')
  const [first] = sent.services.requests[kind]
  expect([...(first?.headers.keys() ?? [])].filter((it) => /signature|^webhook-/.test(it))).toEqual(
    [],
  )
  expect(first?.headers.get('user-agent')).toBe('forumd/test')
})

test.each<[Push, string, string, string, string]>([
  ['ntfy', 'an unknown token', 'tk_unknown', '', 'http_401'],
  ['telegram', 'an unknown bot', '1:AAAAAAAAAAAAAAAAAAAAAAAAA', '', 'http_401'],
  ['telegram', 'a person who blocked the bot', '', '/bot***/sendMessage?chat_id=13', 'http_403'],
  ['telegram', 'an unknown chat', '', '/bot***/sendMessage?chat_id=14', 'http_400'],
  ['gotify', 'an unknown token', 'Aunknown', '', 'http_401'],
  ['gotify', 'the token of a client', 'Cclient-token', '', 'http_403'],
  ['matrix', 'an ended session', 'syt_old', '', 'http_401'],
  [
    'matrix',
    'a room that the account is not in',
    '',
    '/_matrix/client/v3/rooms/!other%3Ax/send/m.room.message',
    'http_403',
  ],
])('%s with %s fails without a retry', async (kind, _what, token, path, last_error) => {
  await using services = await startPushServices()
  await using sent = await start(kind, {
    ...(token !== '' && { token }),
    ...(path !== '' && { url: services.base + path }),
  })
  await sent.send('dlv_1')
  expect(sent.it.row('dlv_1')).toEqual({ status: 'failed', attempts: 1, last_error } as never)
  // The service's words are kept, the credentials are not among them.
  expect(sent.excerpt()).toMatch(/nauthorized|orbidden|not found|token passed|not in room|blocked/)
  expect(sent.excerpt()).not.toContain(token || TOKENS[kind])
})

// Gotify has no limits of its own; a proxy before it may have.
test.each<[Push, number]>([
  ['ntfy', 5],
  ['telegram', 34],
  ['gotify', 40],
  ['matrix', 33],
])('%s: a 429 is repeated after %d s at the earliest', async (kind, after_s) => {
  await using sent = await start(kind)
  sent.services.limit(kind)
  await sent.send('dlv_1')
  expect(sent.it.row('dlv_1')).toMatchObject({ status: 'pending', last_error: 'http_429' })
  await sent.it.clock.advance((after_s - 1.5) * SECOND)
  expect(sent.services.requests[kind]).toHaveLength(1)
  await sent.it.clock.advance(1.5 * SECOND)
  expect(sent.it.row('dlv_1')).toMatchObject({ status: 'delivered', attempts: 2 })
  expect(sent.services.shown(kind)).toHaveLength(1)
})

test.each<[Push, number]>([
  ['ntfy', 1],
  ['matrix', 1],
  ['telegram', 2],
  ['gotify', 2],
])(
  '%s shows a message %d times after a crash before the outcome was recorded',
  async (kind, times) => {
    await using sent = await start(kind)
    sent.services.hold()
    sent.it.put('dlv_1', 'wh_push', [post(1)])
    sent.it.nudge()
    while (sent.services.held() === 0) await Bun.sleep(1)
    sent.it.die()
    sent.services.release()
    await sent.it.clock.advance(0)
    await sent.it.reboot()

    const { shown, requests } = sent.services
    expect(requests[kind]).toHaveLength(2)
    expect(requests[kind][1]?.body).toEqual(requests[kind][0]?.body)
    expect(requests[kind][1]?.path).toBe(requests[kind][0]?.path ?? '')
    expect(shown(kind)).toHaveLength(times)
    expect(sent.it.row('dlv_1')).toMatchObject({ status: 'delivered' })
  },
)

test('a private address that is not allowed is not dialled', async () => {
  await using services = await startPushServices()
  await using it = await startDelivering({ allow_targets: [] })
  it.addWebhook('wh_push', services.urls.ntfy, 'ntfy', { username: null, token: TOKENS.ntfy })
  it.put('dlv_1', 'wh_push', [post(1)])
  it.nudge()
  await it.clock.advance(0)
  expect(it.row('dlv_1')).toMatchObject({ status: 'pending', last_error: 'target_not_public' })
  expect(services.requests.ntfy).toEqual([])
})

test('a page of something in between is no success', async () => {
  await using it = await startDelivering()
  it.addWebhook('wh_push', it.receiver.url, 'gotify', { username: null, token: 'A' })
  it.receiver.answers.push({ body: '<html>sign in</html>' })
  await it.deliver('dlv_1', 'wh_push')
  expect(it.row('dlv_1')).toMatchObject({ status: 'pending', last_error: 'bad_answer' })
})

test('a service that repeats the request does not get its token into the record', async () => {
  await using it = await startDelivering()
  it.addWebhook('wh_push', it.receiver.url, 'gotify', { username: null, token: TOKENS.gotify })
  it.receiver.answers.push({ status: 500, body: `X-Gotify-Key: ${TOKENS.gotify}, sorry` })
  await it.deliver('dlv_1', 'wh_push')
  expect(it.db.query('SELECT body_start FROM attempts').get()).toEqual({
    body_start: 'X-Gotify-Key: …, sorry',
  })
})
