import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { Elysia } from 'elysia'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { querySchema, required } from '../../src/api/http/fields.ts'
import { startMonitors } from '../support/monitors-fixture.ts'
import { head, openRaw, sendRaw } from '../support/raw-connection.ts'
import { json, startTestApi, type TestApi } from '../support/test-api.ts'
import { startTestDaemon as startDaemon } from '../support/test-daemon.ts'

// Requests of unusual, old, careless or hostile clients are answered by the same rules.

describe('a request head', () => {
  let daemon: TestApi
  beforeAll(() => void (daemon = startTestApi()))
  afterAll(() => daemon[Symbol.asyncDispose]())

  test.each([
    ['of HTTP/1.0 without a host, as simple health checks send it', 'GET /health HTTP/1.0', []],
    ['with an empty host', 'GET /health HTTP/1.1', ['Host:']],
    ['with a host that no address can have', 'GET /health HTTP/1.1', ['Host: a b']],
    ['with a host of one letter', 'GET /health HTTP/1.1', ['Host: a']],
    ['with a host of one letter and a slash at the end', 'GET /health/ HTTP/1.1', ['Host: a']],
    [
      'that names another host in its first line',
      'GET http://x.example/health HTTP/1.1',
      ['Host: a'],
    ],
    ['with an underscore in its host', 'GET /health HTTP/1.1', ['Host: my_forumd:8080']],
  ])('%s is answered', async (_, first, lines) => {
    expect(await sendRaw(daemon.url, head(first, ...lines))).toMatch(/^HTTP\/1.1 200 /)
  })

  test.each(['a/health?', 'a/docs', 'x/health/ready?y='])(
    'whose host %p contains an open path grants no access',
    async (host) => {
      const answer = await sendRaw(daemon.url, head('GET /account/me HTTP/1.1', `Host: ${host}`))

      expect(answer).toMatch(/^HTTP\/1.1 401 /)
    },
  )

  test.each(['/docs/../account/me', '/health/./../account/me', '/account/me/'])(
    'whose path is %s needs a key',
    async (path) => {
      expect(await sendRaw(daemon.url, head(`GET ${path} HTTP/1.1`, 'Host: a'))).toMatch(/ 401 /)
    },
  )

  test('without a host keeps its query', async () => {
    const answer = await sendRaw(
      daemon.url,
      head('GET /api/forum/search?q=/r/x HTTP/1.0', `Authorization: Bearer ${daemon.token}`),
    )

    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  })
})

describe('an Authorization header', () => {
  let daemon: TestApi
  beforeAll(() => void (daemon = startTestApi()))
  afterAll(() => daemon[Symbol.asyncDispose]())

  test.each([
    ['lower case', (key: string) => `bearer ${key}`, 200],
    ['a tab', (key: string) => `Bearer\t${key}`, 200],
    ['blanks around the key', (key: string) => `Bearer   ${key}  `, 200],
    ['two keys', (key: string) => `Bearer ${key} ${key}`, 403],
    ['a key and a comma', (key: string) => `Bearer ${key}, Bearer ${key}`, 403],
    ['quotes', (key: string) => `Bearer "${key}"`, 403],
    ['a key cut short', (key: string) => `Bearer ${key.slice(0, -1)}`, 403],
    ['a key and nothing else', (key: string) => key, 401],
    ['another scheme', (key: string) => `Basic ${key}`, 401],
    ['a scheme that begins like it', (key: string) => `Bearers ${key}`, 401],
    ['the scheme alone', () => 'Bearer', 401],
  ])('with %s', async (_, header, status) => {
    const headers = { authorization: header(daemon.token) }

    expect((await daemon.call('/account/me', { headers })).status).toBe(status)
  })
})

/** The answer to a body that never ends: its drain is over once no byte arrives for a whole period. */
async function answerOf(daemon: ReturnType<typeof startTestApi>, answer: Promise<string>) {
  const given: string[] = []
  void answer.then((text) => given.push(text))
  while (given.length === 0) {
    if (daemon.clock.waiting()) await daemon.clock.advance(2000)
    await Bun.sleep(1)
  }
  return given[0]
}

describe('a body', () => {
  const verify = '/api/forum/comments/verify'
  const post = (key: string, ...lines: string[]) =>
    head(
      `POST ${verify} HTTP/1.1`,
      'Host: a',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      ...lines,
    )

  test.each([
    ['two lengths', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['a length below zero', ['Content-Length: -1']],
    ['a length that is no number', ['Content-Length: 0x10']],
    ['a list of lengths', ['Content-Length: 5, 5']],
  ])('with %s is invalid', async (_, lines) => {
    await using daemon = startTestApi()

    expect(await sendRaw(daemon.url, post(daemon.token, ...lines))).toMatch(/^HTTP\/1.1 400 /)
  })

  test('that declares a huge size is refused before its first byte', async () => {
    await using daemon = startTestApi()
    const answer = await sendRaw(daemon.url, post(daemon.token, 'Content-Length: 99999999999'))

    expect(answer).toMatch(/^HTTP\/1.1 413 /)
    expect(answer).toContain('"max_bytes":1048576')
  })

  test('that is huge and chunked is not read completely', async () => {
    await using daemon = startTestApi()
    // A MiB and a byte, without an end. A client that keeps sending may find the connection closed
    // before the answer.
    const chunk = `10000\r\n${'a'.repeat(65_536)}\r\n`
    const answer = sendRaw(
      daemon.url,
      `${post(daemon.token, 'Transfer-Encoding: chunked')}${chunk.repeat(16)}1\r\na\r\n`,
    )
    expect(await answerOf(daemon, answer)).toMatch(/^HTTP\/1.1 413 [^]*"max_bytes":1048576/)
  })

  test.each([
    ['413 for its size', 5_000_000, (key: string) => key, 413],
    ['403 for its key', 8_388_608, () => 'fk_nobody', 403],
  ])('is drained when it is refused with %s', async (_, size, key, status) => {
    await using daemon = startTestApi()
    const raw = openRaw(daemon.url)
    raw.send(`${post(key(daemon.token), `Content-Length: ${size}`)}${'a'.repeat(size - 1)}`)
    while (!daemon.clock.waiting()) await Bun.sleep(1)
    raw.send('a')

    expect(await raw.answer).toStartWith(`HTTP/1.1 ${status} `)
  })

  test('that never ends is drained until no byte arrives for two seconds when it is refused', async () => {
    await using daemon = startTestApi()
    const raw = openRaw(daemon.url)
    raw.send(`${post('fk_nobody', 'Content-Length: 100000')}aaa`)
    expect(await answerOf(daemon, raw.answer)).toStartWith('HTTP/1.1 403 ')
  })

  test.each(['Content-Length: 100', 'Transfer-Encoding: chunked'])(
    'that stays incomplete times out after 30 seconds: %s',
    async (line) => {
      await using daemon = startTestApi()
      const answer = sendRaw(daemon.url, `${post(daemon.token, line)}2\r\n{}\r\n`)
      while (!daemon.clock.waiting()) await Bun.sleep(1)
      await daemon.clock.advance(30_000)

      expect(await answer).toMatch(/^HTTP\/1.1 400 [^]*body must arrive within 30 seconds/)
    },
  )

  test('with a repeated field uses the last value', async () => {
    await using daemon = startTestApi()
    const { body } = await daemon.call(verify, json('{"ids":["a"],"ids":["b"]}'))

    expect(body).toEqual({ ids: ['b'] })
  })
})

/** A daemon whose only read answers with its query. */
const echoing = () =>
  startTestApi({
    routes: ({ words, keyed }) => [
      new Elysia({ name: 'echo' })
        .use(keyed)
        .get(`${words.api}/search`, ({ query: { q } }) => ({ q }), {
          query: querySchema(() => ({ q: required('q') })),
        }),
    ],
  })

describe('a text in a query', () => {
  test.each(['coffee, tea', ',', 'a,', '[1]', '["a","b"]', '[]', '{}', '{"a":1}', '100%, really'])(
    'such as %s is passed unchanged',
    async (text) => {
      await using daemon = echoing()

      for (const q of [encodeURIComponent(text), encodeURI(text)])
        expect((await daemon.call(`/api/forum/search?sort=new&q=${q}`)).body).toEqual({ q: text })
    },
  )

  test.each(['q=a&q=b', 'q=a,b&q=c', 'q=&q=', 'q=a&q=a', '%71=a&q=[1]'])(
    'as in %s is refused if repeated',
    async (sent) => {
      await using daemon = echoing()
      const { status, body } = await daemon.call(`/api/forum/search?${sent}`)

      expect(status).toBe(400)
      expect(body['error']).toBe('q must be given once, as text')
    },
  )
})

test('a port in use by another daemon is not shared', async () => {
  await using one = await startDaemon()
  const port = Number(new URL(one.url()).port)
  const two = await startDaemon({ change: (config) => (config.server.port = port) }).catch(String)

  expect(two).toMatch(/in use/)
})

test.each(['nosuch', 'random'])('an unwatchable place, %s, is named by its field', async (name) => {
  await using daemon = startMonitors({ community: 'board' })
  daemon.fixture.feed.verdicts.set('nosuch', { kind: 'refused', why: 'absent' })
  daemon.fixture.feed.verdicts.set('random', { kind: 'reserved' })
  const { status, body } = await daemon.add({ filter_spec: { board: [name] } })

  expect([status, body.field]).toEqual([400, 'filter_spec.board'])
})

test("a warning uses the wire's words", async () => {
  await using daemon = startMonitors({ community: 'board' })
  daemon.fixture.feed.verdicts.set('cats', { kind: 'unverified' })

  expect((await daemon.add({ filter_spec: { board: ['cats'] } })).body.warnings).toEqual([
    'board_unverified',
  ])
})

test('a port in use by another sandbox is not shared', async () => {
  const world = { seed: 1, speed: 0, world: 'empty', now: () => 0 } as const
  await using one = await startSandbox({ port: 0, ...world })
  const port = Number(new URL(one.url).port)
  const two = await startSandbox({ port, ...world }).catch(String)

  expect(two).toMatch(/in use/)
})
