// Goal: `forumd mcp` and `forumd draft` work in a typical set-up: real processes, beside a real
// daemon.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'

import { PROGRAM } from '../support/process.ts'
import { startMcpDaemon } from './mcp-daemon.ts'
import { call, connected } from './mcp-fixture.ts'

const MINUTE_MS = 60_000
setDefaultTimeout(MINUTE_MS)

let it: Awaited<ReturnType<typeof startMcpDaemon>>
let client: Client

/** A process of `forumd mcp`, which a client starts itself. */
const processOf = (args: string[], env: Record<string, string> = {}) => {
  const [command = '', ...before] = PROGRAM
  return {
    command,
    args: [...before, 'mcp', ...args],
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stderr: 'pipe' as const,
  }
}
const stdio = (args: string[], env: Record<string, string> = {}) =>
  new StdioClientTransport(processOf(args, env))

beforeAll(async () => {
  it = await startMcpDaemon()
  client = await connected(stdio(['--config', it.config], { FORUMD_KEY: it.key }))
})
afterAll(async () => {
  await client.close()
  await it[Symbol.asyncDispose]()
})

describe('over standard input and output', () => {
  test('the tools and prices are the same', async () => {
    const { tools } = await client.listTools()
    const { structured, meta } = await call(client, 'forum_posts', { subforum: 'cats' })

    expect(tools.map(({ name }) => name)).toContain('forum_search')
    expect(structured).toMatchObject({ posts: [{ title: 'A cat' }] })
    expect(meta['forumd/credits_remaining']).toBe(0.498)
    expect((await call(client, 'forum_account_me')).structured).toMatchObject({
      credits_used: 0.002,
    })
  })

  test('a session from a file is used, and so are a given key and daemon', async () => {
    writeFileSync(it.file('session.json'), JSON.stringify(it.session))
    writeFileSync(it.file('key'), `${it.key}\n`)
    const files = ['--key-file', it.file('key'), '--session-file', it.file('session.json')]
    const options = ['--url', it.url, ...files]
    const own = await connected(stdio(options))

    expect((await call(own, 'forum_feed')).isError).toBe(false)
    await own.close()
  })

  test('an error equals that over HTTP', async () => {
    expect(await call(client, 'forum_search')).toMatchObject({
      isError: true,
      text: expect.stringContaining('q is required'),
    })
  })
})

/** A failing run: its exit code, and its output. */
async function fails(args: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([...PROGRAM, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, out, err }
}

test.each([
  [['mcp'], {}, 2, 'an API key is needed: set FORUMD_KEY'],
  [['mcp'], { FORUMD_KEY: 'short' }, 2, 'FORUMD_KEY holds no key'],
  [['mcp', '--key-file', '/nowhere'], {}, 2, '--key-file: /nowhere cannot be read'],
  [
    ['mcp', '--url', 'ftp://x'],
    { FORUMD_KEY: 'fk_0123456789abcdef' },
    2,
    '--url must be an address',
  ],
  [
    ['mcp', '--url', 'http://127.0.0.1:1'],
    { FORUMD_KEY: 'fk_0123456789abcdef' },
    1,
    'no forumd answers',
  ],
])('%j with %j exits and reports the reason on stderr', async (args, env, code, sentence) => {
  const ended = await fails(args, env)

  expect({ code: ended.code, out: ended.out }).toEqual({ code, out: '' })
  expect(ended.err).toContain(sentence)
})

test('an unknown toolset ends the process with the list of toolsets', async () => {
  const ended = await fails(['mcp', '--url', it.url, '--toolsets', 'none'], { FORUMD_KEY: it.key })

  expect({ code: ended.code, out: ended.out }).toEqual({ code: 1, out: '' })
  expect(ended.err).toContain(
    'toolsets must be a comma-separated list of default, all, health, account',
  )
})

const drafted = async (text: string) => {
  const { structured } = await call(client, 'forum_draft_comment', {
    post_url: it.post.permalink,
    text,
  })
  return z.object({ id: z.string() }).parse(structured).id
}

const at = () => ['--config', it.config]

describe('forumd draft', () => {
  test('lists drafts, shows one in full, and writes it as an account of the pool', async () => {
    const id = await drafted('From a terminal')
    expect(await it.forumd('draft', 'list')).toMatch(
      new RegExp(`${id} +ann +comment +waiting +.*From a terminal`),
    )
    expect(await it.forumd('draft', 'show', id)).toMatch(/text +From a terminal\n/)
    expect(it.comments()).toEqual([])

    expect(await it.forumd('draft', 'approve', id, 'main')).toBe(`${id} is written as main\n`)
    expect(it.comments()).toEqual(['From a terminal'])
    expect((await call(client, 'forum_find_draft', { id })).structured).toMatchObject({
      status: 'approved',
      answer: { success: true },
    })
    const again = await fails(['draft', 'approve', id, 'main', ...at()])
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('is approved already') })
    expect(it.comments()).toHaveLength(1)
  })

  test('declines, once', async () => {
    const id = await drafted('Never')
    expect(await it.forumd('draft', 'decline', id)).toBe(`${id} is declined\n`)
    const again = await fails(['draft', 'decline', id, ...at()])

    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('is declined already') })
    expect((await call(client, 'forum_find_draft', { id })).structured).toMatchObject({
      status: 'declined',
    })
  })

  test('escapes what a draft holds, and reports the reason of a refusal', async () => {
    const id = await drafted('\u001b[2J\u202eturned')
    expect(await it.forumd('draft', 'list')).not.toContain('\u202e')

    await it.forumd('account', 'pause', 'main')
    const paused = await fails(['draft', 'approve', id, 'main', ...at()])
    expect(paused.err).toContain('main is paused')
    expect(await it.forumd('draft', 'show', id)).toContain('waiting')
  })
})

const draftOf = (text: string) => ({
  name: 'forum_draft_comment',
  arguments: { post_url: it.post.permalink, text },
})

describe('a person approves a draft over standard input and output', () => {
  const FORM = { capabilities: { elicitation: {} } }
  const YES = { action: 'accept' as const, content: { send: true } }
  let options: string[]
  beforeAll(async () => {
    const issued = await it.forumd(
      'key',
      'create',
      '--customer',
      'eve',
      '--scopes',
      'read,write,approve',
      '--json',
    )
    writeFileSync(it.file('approving'), z.object({ key: z.string() }).parse(JSON.parse(issued)).key)
    writeFileSync(it.file('session.json'), JSON.stringify(it.session))
    options = [
      '--url',
      it.url,
      '--key-file',
      it.file('approving'),
      '--session-file',
      it.file('session.json'),
    ]
  })
  test('in a client of 2026-07-28', async () => {
    const modern = new ModernClient(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: 'auto' }, ...FORM },
    )
    modern.setRequestHandler('elicitation/create', () => YES)
    await modern.connect(new ModernStdio(processOf([...options, '--toolsets', 'writes,drafts'])))

    expect(modern.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    expect((await modern.listTools()).tools.map(({ name }) => name).toSorted()).toEqual([
      'forum_decline_draft',
      'forum_draft_comment',
      'forum_draft_vote',
      'forum_find_draft',
      'forum_list_drafts',
    ])
    const { structuredContent } = await modern.callTool(draftOf('From 2026'))
    expect(structuredContent).toMatchObject({ status: 'approved' })
    expect(it.comments()).toContain('From 2026')
    await modern.close()
  })

  test('in a client of 2025-11-25, which the server asks during the call', async () => {
    const legacy = new Client({ name: 'test', version: '1' }, FORM)
    const questions: string[] = []
    legacy.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message)
      return YES
    })
    await legacy.connect(stdio(options))

    const { structuredContent } = await legacy.callTool(draftOf('From 2025'))
    expect(structuredContent).toMatchObject({ status: 'approved' })
    expect(it.comments()).toContain('From 2025')
    expect(questions).toEqual([expect.stringContaining('text:\n    From 2025')])
    await legacy.close()
  })
})
