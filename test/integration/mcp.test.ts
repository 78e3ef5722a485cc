// Goal: an MCP client can use the API at the API's prices, and makes no write without approval.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import * as z from 'zod'

import { pathsShape } from '../support/openapi-paths.ts'
import { startWriting, type Writing } from '../support/writes-fixture.ts'
import { type Body, call, connectedTo, modernTo, post } from './mcp-fixture.ts'
import { operatorKey } from './operator-fixture.ts'

let it: Writing
let client: Client
let tools: Awaited<ReturnType<Client['listTools']>>['tools']
beforeAll(async () => {
  it = await startWriting({
    change: ({ limits }) => {
      limits.management_per_minute = 0
      limits.key_rate = 0
      limits.feedback_per_minute = 0
    },
  })
  const { forum_session = '', loid = '' } = it.ann
  client = await connectedTo(it.house.url(), it.house.key, {
    'x-forum-session': forum_session,
    'x-forum-loid': loid,
  })
  // From here on the client checks every answer against the tool's output schema.
  tools = (await client.listTools()).tools
}, 20_000)
afterAll(async () => {
  await client.close()
  await it[Symbol.asyncDispose]()
})

describe('the tools', () => {
  test('include no sign-in and no approval', () => {
    const names = tools.map(({ name }) => name)

    expect(names).toEqual(
      expect.arrayContaining(['forum_search', 'forum_monitor_add', 'forum_account_me']),
    )
    expect(names.filter((name) => /login|approve|session/.test(name))).toEqual([])
  })

  test('are described by their function, and take no session and no proxy', () => {
    const undescribed = tools.filter(({ description = '' }) => description.length < 40)
    const fields = tools.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties ?? {}))

    expect(undescribed.map(({ name }) => name)).toEqual([])
    expect(fields.filter((name) => /session|loid|cookie|proxy|token_v2/.test(name))).toEqual([])
    const of = (name: string) => tools.find((tool) => tool.name === name)
    expect(of('forum_search')).toMatchObject({
      inputSchema: {
        properties: { limit: { type: 'integer', minimum: 1, maximum: 100, default: 25 } },
        required: ['q'],
        additionalProperties: false,
      },
      outputSchema: { type: 'object', properties: { posts: { type: 'array' } } },
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
    })
    expect(of('forum_monitor_remove')?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
      openWorldHint: false,
    })
    expect(of('forum_draft_comment')?.description).toContain('a person has to approve the draft')
  })

  test('are those of every route of the document', async () => {
    const shape = z.object({ paths: pathsShape(z.unknown()) })
    const { paths } = shape.parse((await it.house.call('/openapi.json')).body)
    const calls = Object.entries(paths).flatMap(([path, methods]) =>
      path.startsWith('/api/forum/monitor/') ? [] : Object.keys(methods).map(() => path),
    )

    // Ten routes are not tools, each for a documented reason.
    expect(tools.length).toBe(calls.length - 10)
  })

  test('answer like the call, as text and as structured content, at its price', async () => {
    const before = await it.spent()
    const { isError, text, structured, meta } = await call(client, 'forum_posts', {
      subforum: 'cats',
      limit: 5,
    })
    const direct = (await it.house.call('/api/forum/posts?subforum=cats&limit=5')).body

    expect(isError).toBe(false)
    expect(JSON.parse(text)).toEqual(direct)
    expect(structured).toEqual(direct)
    expect(direct.posts).toMatchObject([{ title: 'A cat' }])
    expect((await it.spent()) - before).toBe(4000)
    expect(meta['forumd/credits_remaining']).toBeNumber()
  })

  test('that read as an account use the session of the connection', async () => {
    expect((await call(client, 'forum_feed')).structured).toMatchObject({
      posts: expect.any(Array),
    })
    expect((await call(client, 'forum_dm_threads')).structured).toMatchObject({
      threads: expect.any(Array),
    })

    await using anonymous_client = await connectedTo(it.house.url(), it.house.key).then((one) => ({
      one,
      [Symbol.asyncDispose]: () => one.close(),
    }))
    expect(await call(anonymous_client.one, 'forum_feed')).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^SESSION_REQUIRED: .*x-forum-session/),
    })
    expect((await call(anonymous_client.one, 'forum_dm_threads')).text).toStartWith(
      'SESSION_REQUIRED',
    )
  })

  test('that create a monitor do the same as a call', async () => {
    const { structured } = await call(client, 'forum_monitor_add', {
      filter_spec: { subforum: 'cats', include_any: ['needle'] },
      name: 'from a model',
    })
    const { body } = await it.house.call('/forum/monitor/list')

    expect(body.monitors).toMatchObject([{ id: structured?.['id'], name: 'from a model' }])
    expect((await call(client, 'forum_monitor_health', { id: structured?.['id'] })).isError).toBe(
      false,
    )
    expect((await call(client, 'forum_monitor_list')).structured).toMatchObject({
      slots: { used: 1 },
    })
  })
})

describe('a draft', () => {
  test('is the result of a write, and a person’s approval executes it', async () => {
    const { structured, isError } = await call(client, 'forum_draft_comment', {
      post_url: it.post.permalink,
      text: 'By a model',
    })
    expect(isError).toBe(false)
    expect(structured).toMatchObject({ action: 'comment', status: 'waiting' })
    expect(it.comments()).not.toContain('By a model')

    const id = String(structured?.['id'])
    const approve = { method: 'POST', body: JSON.stringify(it.ann) }
    expect((await it.house.call(`/drafts/${id}/approve`, approve)).status).toBe(200)
    expect(it.comments()).toContain('By a model')
    expect((await call(client, 'forum_find_draft', { id })).structured).toMatchObject({
      status: 'approved',
      answer: { success: true },
    })
  })

  test('can be withdrawn by the client', async () => {
    const { structured } = await call(client, 'forum_draft_vote', {
      id: it.post.name,
      direction: 'up',
    })
    expect(
      (await call(client, 'forum_decline_draft', { id: structured?.['id'] })).structured,
    ).toMatchObject({
      status: 'declined',
    })
  })

  test('that is invalid is refused immediately, by field', async () => {
    expect(await call(client, 'forum_draft_comment', { text: 'x' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('post_url is required'),
    })
  })
})

describe('invalid input gets an error that names it', () => {
  test.each([
    ['forum_search', {}, 'INVALID_REQUEST: q is required'],
    [
      'forum_search',
      { q: 'a', limit: 500 },
      'INVALID_REQUEST: limit must be a whole number from 1',
    ],
    ['forum_search', { q: ['a'] }, 'INVALID_REQUEST: q must be a string, number or boolean'],
    ['forum_search', { q: 'a', quick: 1 }, 'quick is not an argument of forum_search; allowed: q'],
    ['forum_user_saved', { name: 'ann', cookie: 'x' }, 'cookie is not an argument'],
    ['forum_user_saved', { name: 'ann', forum_session: 'x' }, 'forum_session is not an argument'],
    ['forum_post', {}, 'INVALID_REQUEST: id is required'],
    ['forum_user_comments', { name: '..' }, 'INVALID_REQUEST: name must be a name, not ..'],
    [
      'forum_user_comments',
      { name: 'half \ud83d' },
      "INVALID_REQUEST: name must be a user's name of ",
    ],
    ['forum_user', { name: 'a/../../account/me' }, 'INVALID_REQUEST: name must be'],
    ['forum_post', { id: 'zzzzz' }, 'NOT_FOUND: '],
    ['forum_monitor_health', { id: 'mon_none' }, 'NOT_FOUND: '],
    ['forum_monitor_add', { filter_spec: { wat: 1 } }, 'INVALID_REQUEST: '],
  ])('%s of %j', async (name, args, sentence) => {
    const { isError, text, meta } = await call(client, name, args)

    expect(isError).toBe(true)
    expect(text).toContain(sentence)
    expect(meta['forumd/status']).toBeNumber()
  })

  test('too little credit is an error and free', async () => {
    const poor = it.house.mint('poor')
    const { Database } = await import('bun:sqlite')
    const db = new Database(`${it.house.dir}/forumd.sqlite`)
    db.run("UPDATE customers SET balance_micros = 0 WHERE name = 'poor'")
    db.close()
    const broke = await connectedTo(it.house.url(), poor)
    const { text } = await call(broke, 'forum_search', { q: 'cat' })
    await broke.close()

    expect(text).toStartWith('insufficient_credits: ')
  })
})

const message = (method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

const send = (body: Body, headers?: Record<string, string>) =>
  post(it.house.url(), it.house.key, body, headers)

describe('revision 2026-07-28', () => {
  test('has the same tools and answers, and says how long the list is valid', async () => {
    const modern = await modernTo(it.house.url(), it.house.key)
    const discovered = await modern.request({ method: 'server/discover' })
    const listed = await modern.listTools()
    const args = { name: 'cats' }
    const { structuredContent } = await modern.callTool({
      name: 'forum_sub_about',
      arguments: args,
    })

    expect(discovered).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      cacheScope: 'public',
    })
    expect(listed).toMatchObject({ ttlMs: 3_600_000, cacheScope: 'public' })
    expect(listed.tools.map((tool) => tool.name)).toEqual(tools.map((tool) => tool.name))
    expect(structuredContent).toEqual((await call(client, 'forum_sub_about', args)).structured)
    await modern.close()
  })

  test('has an end for a subscription, because no list changes', async () => {
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
    const params = {
      notifications: { toolsListChanged: true },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    }
    const { body } = await send(message('subscriptions/listen', params), headers)

    expect(body).toMatchObject({ error: { message: 'Subscription limit reached' } })
  })
})

describe('toolsets in the URL', () => {
  const listOf = async (toolsets: string | null) => {
    const { status, body } = await post(
      it.house.url(),
      it.house.key,
      message('tools/list'),
      {},
      toolsets === null ? '' : `?toolsets=${toolsets}`,
    )
    return { status, body: toolsShape.parse(body) }
  }
  const toolsShape = z.looseObject({
    result: z.object({ tools: z.array(z.looseObject({ name: z.string() })) }).optional(),
  })

  test('select the tools that are listed and can be called', async () => {
    const { body } = await listOf('search,health')
    const names = body.result?.tools.map(({ name }) => name) ?? []

    expect(names).toContain('forum_search')
    expect(names).toContain('forum_health')
    expect(names.filter((name) => !/search|health/.test(name))).toEqual([])
    const other = message('tools/call', { name: 'forum_posts', arguments: { subforum: 'cats' } })
    const called = await post(it.house.url(), it.house.key, other, {}, '?toolsets=search')
    expect(called.body).toMatchObject({
      error: { message: expect.stringContaining('unknown tool forum_posts') },
    })
  })

  test('are those of most tasks unless others are selected, in a list of at most 40 kB', async () => {
    const { body } = await listOf(null)
    const tools_listed = body.result?.tools ?? []
    expect(tools_listed.length).toBe(15)
    expect(Buffer.byteLength(JSON.stringify(tools_listed))).toBeLessThan(40_000)
    // The others can be called all the same.
    const other = message('tools/call', { name: 'forum_health', arguments: {} })
    const called = await post(it.house.url(), it.house.key, other)
    expect(called.body).toMatchObject({ result: { structuredContent: { ok: true } } })
  })

  test.each(['', 'search,none', 'Search'])(
    '%j is refused with the list of toolsets',
    async (text) => {
      expect(await listOf(text)).toMatchObject({
        status: 400,
        body: { error: { code: -32600, message: expect.stringContaining('search, comments') } },
      })
    },
  )

  test('are those of docs/mcp.md, with the number of tools and about the size of the list', async () => {
    const page = await Bun.file('docs/mcp.md').text()
    const rows = [...page.matchAll(/^\| `?(\w+)`? +\| +(\d+) \| +([\d.]+) \|$/gm)]
    for (const [, name = '', listed_count, size] of rows) {
      const { body } = await listOf(name === 'default' ? null : name)
      const listed = body.result?.tools ?? []
      const ratio = Buffer.byteLength(JSON.stringify(listed)) / 1000 / Number(size)

      expect([name, listed.length]).toEqual([name, Number(listed_count)])
      expect(Math.abs(ratio - 1)).toBeLessThan(0.1)
    }
    expect(rows.length).toBe(18)
  })
})

describe('a hostile client', () => {
  test.each([
    ['no JSON', '{"jsonrpc": ', 400, -32700],
    ['an empty body', '', 400, -32700],
    ['JSON that is no message', '{"hello":"world"}', 400, -32600],
    ['a message of another protocol', '{"jsonrpc":"1.0","method":"ping"}', 400, -32600],
    ['a null', 'null', 400, -32600],
    ['a nest of lists', '['.repeat(5000) + ']'.repeat(5000), 400, -32700],
    [
      'more messages than one may send',
      JSON.stringify(Array.from({ length: 101 }, () => ({}))),
      400,
      -32600,
    ],
    ['bytes that are no text', new Uint8Array([123, 255, 254, 125]), 400, -32700],
  ])('that sends %s gets a protocol error', async (_, body, status, code) => {
    const answer = await send(body)

    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
  })

  test('that sends an endless body is cut off at a mebibyte', async () => {
    const { status, body } = await send(`"${'a'.repeat(1024 * 1024)}"`)

    expect(status).toBe(413)
    expect(body).toMatchObject({ code: 'BODY_TOO_LARGE' })
  })

  test('that cancels other requests in its batch gets all answers', async () => {
    const call_message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'forum_health' },
    }
    const off = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }

    const { status, body } = await post(
      it.house.url(),
      it.house.key,
      JSON.stringify([call_message, off]),
    )

    expect([status, body?.['id']]).toEqual([200, 1])
    expect((await post(it.house.url(), it.house.key, JSON.stringify([off]))).status).toBe(202)
  })

  test('that calls an unknown tool or method gets an error', async () => {
    const tool = await send(message('tools/call', { name: 'forum_login', arguments: {} }))
    const method = await send(message('resources/read', { uri: 'file:///etc/passwd' }))

    expect(tool.body).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('unknown tool forum_login') },
    })
    expect(method.body).toMatchObject({ error: { code: -32601 } })
  })

  test('that accepts no JSON, or sends another type, gets an error', async () => {
    expect((await send(message('ping'), { accept: 'text/html' })).status).toBe(406)
    expect((await send(message('ping'), { 'content-type': 'text/plain' })).status).toBe(400)
    expect((await send(message('ping'), { 'mcp-protocol-version': '1999-01-01' })).status).toBe(400)
  })

  test('without a key, with a wrong one, or an operator’s, is refused', async () => {
    const url = it.house.url()

    expect(await post(url, null, message('ping'))).toMatchObject({
      status: 401,
      body: { code: 'missing_token' },
    })
    expect(await post(url, 'fk_wrong', message('ping'))).toMatchObject({
      status: 403,
      body: { code: 'invalid_token' },
    })
    expect(await post(url, operatorKey(it.house), message('ping'))).toMatchObject({
      status: 403,
      body: { message: "this is an operator's key, not a customer's" },
    })
  })

  test('that invents a session gets none: the server is stateless', async () => {
    const { status, headers } = await send(message('ping'), { 'mcp-session-id': 'guess' })

    expect(status).toBe(200)
    expect(headers.get('mcp-session-id')).toBeNull()
    const url = `${it.house.url()}/mcp`
    const authorization = `Bearer ${it.house.key}`
    for (const method of ['GET', 'DELETE'])
      expect((await fetch(url, { method, headers: { authorization } })).status).toBe(405)
  })

  test.each([
    [{ host: 'evil.example' }, 421, 'MISDIRECTED'],
    [{ origin: 'http://evil.example' }, 403, 'PERMISSION_DENIED'],
    [{ origin: 'null' }, 403, 'PERMISSION_DENIED'],
  ])('in a browser, with %j, is refused', async (headers, status, code) => {
    expect(await send(message('ping'), headers)).toMatchObject({ status, body: { code } })
  })

  test('gets no CORS access from another site', async () => {
    const { headers } = await send(message('ping'))
    const response = await fetch(`${it.house.url()}/mcp`, {
      method: 'OPTIONS',
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
    })

    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    expect(response.ok).toBe(false)
  })

  test("from the dashboard's own pages is accepted", async () => {
    expect((await send(message('ping'), { origin: it.house.url() })).status).toBe(200)
  })
})
