import { expect, test } from 'bun:test'

import { parseConfig } from '../../../src/config/load.ts'
import { createOpenApiDocument } from '../../../src/daemon.ts'
import { toolsOf } from '../../../src/mcp/tools.ts'

const documentWith = (wire: string) =>
  createOpenApiDocument(
    parseConfig(
      `source = [{ name = "forum", kind = "reddit", base_url = "https://a.test", session_cookie = "s" }]\n${wire}`,
    ),
  )

test('tool names and descriptions use the configured words', async () => {
  const { tools, words } = toolsOf(
    await documentWith('[wire]\nplatform = "agora"\ncommunity = "square"\n'),
  )

  expect(words).toMatchObject({ platform: 'agora', community: 'square' })
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['agora_search', 'agora_monitor_add', 'agora_draft_comment']),
  )
  expect(JSON.stringify(tools)).not.toMatch(/forum_(?!session)|subforum/)
  const posts = tools.find(({ name }) => name === 'agora_posts')
  expect(posts?.inputSchema).toMatchObject({ required: ['square'] })
})

test('read-only tools have the readOnlyHint, and removing tools the destructiveHint', async () => {
  const { tools } = toolsOf(await documentWith(''))
  const namesOf = (found: typeof tools) => found.map(({ name }) => name.slice('forum_'.length))
  const posts = tools.filter(({ route }) => route.kind === 'draft' || route.method !== 'GET')

  // A GET changes nothing, so its hint must be read-only.
  expect(
    namesOf(tools.filter((it) => !posts.includes(it) && !it.annotations.readOnlyHint)),
  ).toEqual([])
  expect(namesOf(posts.filter(({ annotations }) => annotations.readOnlyHint)).toSorted()).toEqual([
    'dm_messages',
    'dm_threads',
    'monitor_preview',
    'verify_comments',
  ])
  expect(
    namesOf(tools.filter(({ annotations }) => annotations.destructiveHint)).toSorted(),
  ).toEqual([
    'decline_draft',
    'monitor_feed_rotate',
    'monitor_remove',
    'monitor_webhook_delete',
    'monitor_webhook_rotate',
  ])
})

test('a tool is described as its operation is, without the conditions of a key', async () => {
  const { tools } = toolsOf(await documentWith(''))
  const descriptionOf = (name: string) => tools.find((it) => it.name === name)?.description

  expect(descriptionOf('forum_user')).toBe(
    'Returns the public profile of a user. Use it to judge an author before you answer.',
  )
  expect(tools.filter(({ description }) => /rate limit|Takes a/.test(description))).toEqual([])
})

test.each([[{}], [{ paths: {} }], ['<html>'], [{ paths: { '/api/x/posts': { get: {} } } }]])(
  'a document of another service is refused: %j',
  (document) => {
    expect(() => toolsOf(document)).toThrow()
  },
)

test('no module loads MCP eagerly', async () => {
  const src = `${import.meta.dir}/../../../src/`
  const eager: string[] = []
  for await (const file of new Bun.Glob('**/*.ts').scan(src)) {
    if (file.startsWith('mcp/')) continue
    const text = await Bun.file(src + file).text()
    if (/\bfrom\s+'(@modelcontextprotocol|[./]*\/mcp\/)/.test(text)) eager.push(file)
  }

  expect(eager).toEqual([])
})
