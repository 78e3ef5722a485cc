import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import * as z from 'zod'

import { createClient, ForumdError, idempotencyKey } from '../../examples/client/client.ts'
import { openDelivery } from '../../examples/client/delivery.ts'
import { tempFolder } from '../support/folder.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const MINUTE = 60_000
const root = new URL('../..', import.meta.url).pathname

/** A seeded daemon and the client of its first customer. */
async function documentedPaths() {
  const daemon = await startTestDaemon({ world: 'seeded' })
  return { house: daemon, client: createClient({ base_url: daemon.url(), key: daemon.key }) }
}

/** The error of a call. */
const thrown = (call: Promise<unknown>): Promise<Error> =>
  call.then(
    () => new Error('nothing was thrown'),
    (reason: unknown) => z.instanceof(Error).parse(reason),
  )
const refused = async (call: Promise<unknown>): Promise<ForumdError> =>
  z.instanceof(ForumdError).parse(await thrown(call))

/** A client with scripted answers, its requests and its waits. */
function scripted(...answers: (number | { status: number; body?: object; after?: string })[]) {
  const requests: Request[] = []
  const waited: number[] = []
  const client = createClient({
    base_url: 'https://forumd.example/',
    key: 'fk_key',
    sleep: async (ms) => void waited.push(ms),
    fetch: async (url, init) => {
      requests.push(new Request(url, init))
      const answer = answers.shift() ?? 200
      const { status, body = {}, after } = typeof answer === 'number' ? { status: answer } : answer
      return Response.json(
        status === 200 ? { ok: true } : { error: 'E', code: 'UNKNOWN', ...body },
        {
          status,
          ...(after !== undefined && { headers: { 'retry-after': after } }),
        },
      )
    },
  })
  return { client, requests, waited }
}

test("the client's types match the document", async () => {
  const { exited, stderr } = Bun.spawn([process.execPath, 'scripts/docs/client.ts', '--check'], {
    cwd: root,
    stdout: 'ignore',
    stderr: 'pipe',
  })

  expect([await new Response(stderr).text(), await exited]).toEqual(['', 0])
}, 60_000)

test('through the client: a read, a target, a monitor, and a delivery with a valid signature', async () => {
  const { house: daemon, client } = await documentedPaths()
  await using _ = daemon
  const { posts } = await client.get('/api/forum/posts', {
    query: { subforum: 'coffee', limit: 3, sort: 'top' },
  })
  const [first] = posts
  if (!first) throw new Error('nothing was read')
  const tree = await client.get('/api/forum/post/{id}/comments', { path: { id: first.id } })
  const target = await client.post('/forum/monitor/webhook/create', {
    body: { url: daemon.receiver.url },
  })
  const monitor = await client.post('/forum/monitor/add', {
    body: {
      filter_spec: { subforum: 'coffee', include_any: ['grinder'] },
      webhook_ids: [target.id],
    },
  })
  await daemon.clock.advance(2 * MINUTE)
  daemon.sandbox.post({ subforum: 'coffee', title: 'A grinder — „ganz leise“' })
  await daemon.clock.advance(2 * MINUTE)

  expect([posts.length, z.looseObject({}).parse(tree.post)]).toEqual([
    3,
    expect.objectContaining({ id: first.id }),
  ])
  const [came, ...more] = daemon.receiver.received
  if (!came) throw new Error('nothing was delivered')
  expect(more).toEqual([])
  const received = {
    secret: target.secret,
    headers: came.headers,
    body: new Uint8Array(came.body),
    now_ms: daemon.clock.now(),
  }
  const delivery = await openDelivery(received)
  expect(delivery).toMatchObject({
    monitor_id: monitor.id,
    count: 1,
    items: [{ title: 'A grinder — „ganz leise“' }],
  })
  const { deliveries } = await client.get('/forum/monitor/deliveries', {
    query: { id: monitor.id, status: 'delivered' },
  })
  expect(deliveries.map((row) => row.delivery_id)).toEqual([delivery.delivery_id])

  const changed = received.body.with(received.body.length - 2, 0x20)
  for (const wrong of [
    { ...received, body: changed },
    { ...received, secret: `${target.secret}x` },
    { ...received, now_ms: received.now_ms + 400_000 },
    { ...received, headers: new Headers() },
  ])
    expect((await thrown(openDelivery(wrong))).message).toStartWith('the signature')
})

test('the example at the head of the client passes a strict type check', async () => {
  using folder = tempFolder()
  const client = `${root}examples/client/client.ts`
  const head = await Bun.file(client).text()
  const sample = [...head.matchAll(/^\/\/ {3}(.+)$/gm)].map(([, line]) => line)
  const imports = [
    `import { createClient } from '${client}'`,
    'declare const process: { env: Record<string, string | undefined> }',
  ]
  writeFileSync(folder.file('sample.ts'), [...imports, ...sample].join('\n'))
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'Preserve',
    allowImportingTsExtensions: true,
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    types: [],
  }
  const settings = { compilerOptions, files: ['sample.ts'] }
  writeFileSync(folder.file('tsconfig.json'), JSON.stringify(settings))

  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'check'], {
    cwd: folder.path,
  })

  expect(sample.length).toBeGreaterThan(1)
  expect([exitCode, stdout.toString().match(/error TS.*/g)]).toEqual([0, null])
}, 60_000)

test('errors of the service are thrown with code, field and message', async () => {
  const { house: daemon, client } = await documentedPaths()
  await using _ = daemon
  const error = await refused(
    client.post('/forum/monitor/add', { body: { filter_spec: { subforum: 'nosuchplace' } } }),
  )
  const unauthorized = createClient({ base_url: daemon.url(), key: 'fk_nobody' })

  expect([error.status, error.code, error.field]).toEqual([
    400,
    'subforum_not_found',
    'filter_spec.subforum',
  ])
  expect(error.message).toContain('nosuchplace')
  expect(error.request_id).not.toBeNull()
  expect(await refused(unauthorized.get('/account/me'))).toMatchObject({
    status: 403,
    code: 'invalid_token',
    message: 'Invalid token',
  })
})

test('a rate-limited call waits for Retry-After, then succeeds', async () => {
  await using daemon = await startTestDaemon({
    change: ({ limits }) => {
      limits.account_per_minute = 1
    },
  })
  const waited: number[] = []
  const client = createClient({
    base_url: daemon.url(),
    key: daemon.key,
    async sleep(ms) {
      waited.push(ms)
      await daemon.clock.advance(ms)
    },
  })
  await client.get('/account/me')
  const { total_requests } = await client.get('/account/me')

  expect(total_requests).toBe(0)
  expect(waited).toHaveLength(1)
  expect(waited[0]).toBeGreaterThan(1000)
})

test('a read is retried after Retry-After, or after one and two seconds without it', async () => {
  const { client, requests, waited } = scripted({ status: 503, after: '7' }, 502, 200)
  await client.get('/health')

  expect([requests.length, waited]).toEqual([3, [7000, 2000]])
})

test.each([
  ['a read that never succeeds', [500, 500, 500], 3],
  ['a refusal for good', [404], 1],
  ['what the platform would refuse again', [{ status: 502, body: { terminal: true } }], 1],
  ['a wrong password', [{ status: 502, body: { code: 'AUTH_FAILED' } }], 1],
  ['a wait that is too long', [{ status: 429, after: '3600' }], 1],
])('%s is not retried', async (_, answers, calls) => {
  const { client, requests } = scripted(...answers)
  await refused(client.get('/health'))

  expect(requests.length).toBe(calls)
})

test('a write is retried with its Idempotency-Key; without one, only if it was not started', async () => {
  const vote = { id: 't3_abc', direction: 'up', forum_session: 's', loid: 'l' } as const
  const name = idempotencyKey()
  const named = scripted(503, 200)
  await named.client.post('/api/forum/vote', { body: vote, headers: { 'Idempotency-Key': name } })
  const unnamed = scripted(503)
  await refused(unnamed.client.post('/api/forum/vote', { body: vote }))
  const paced = scripted({ status: 429, after: '2' }, 200)
  await paced.client.post('/api/forum/vote', { body: vote })

  expect(named.requests.map(({ headers }) => headers.get('idempotency-key'))).toEqual([name, name])
  expect([unnamed.requests.length, paced.requests.length, paced.waited]).toEqual([1, 2, [2000]])
})

test('names and texts are passed unchanged, with any content', async () => {
  const { client, requests } = scripted()
  await client.get('/api/forum/sub/{name}/wiki/{page}', { path: { name: 'a/b?c', page: 'ü #1' } })
  await client.get('/api/forum/search', { query: { q: 'a&b=c +"ü"', subforum: undefined } })

  expect(requests.map(({ url }) => url)).toEqual([
    'https://forumd.example/api/forum/sub/a%2Fb%3Fc/wiki/%C3%BC%20%231',
    'https://forumd.example/api/forum/search?q=a%26b%3Dc+%2B%22%C3%BC%22',
  ])
  const { message } = await thrown(client.get('/api/forum/user/{name}', { path: { name: '' } }))
  expect(message).toStartWith('name is required')
})

test('an answer of an intermediary is an error without a code', async () => {
  const client = createClient({
    base_url: 'https://forumd.example',
    key: 'fk_key',
    attempts: 1,
    fetch: async () => new Response('<h1>Bad gateway</h1>', { status: 502 }),
  })
  expect(await refused(client.get('/health'))).toMatchObject({
    status: 502,
    code: null,
    body: null,
  })
})

/** Never called: calls that the type checker must refuse, each with its reason. */
export function untyped(client: ReturnType<typeof createClient>) {
  return [
    // @ts-expect-error no such path
    client.get('/api/forum/nothing'),
    // @ts-expect-error only a POST answers there
    client.get('/forum/monitor/add'),
    // @ts-expect-error what answers with events is no call of this client
    client.get('/forum/monitor/stream'),
    // @ts-expect-error subforum is required
    client.get('/api/forum/posts', { query: { limit: 5 } }),
    // @ts-expect-error best is no timeframe
    client.get('/api/forum/posts', { query: { subforum: 'coffee', t: 'best' } }),
    // @ts-expect-error the name is missing
    client.get('/api/forum/user/{name}'),
    // @ts-expect-error a monitor wants a filter
    client.post('/forum/monitor/add', { body: {} }),
    // @ts-expect-error an account has no such field
    client.get('/account/me').then(({ riches }) => riches),
  ]
}
