import { expect, test } from 'bun:test'

import { parseConfig } from '../../../src/config/load.ts'
import { createOpenApiDocument } from '../../../src/daemon.ts'
import { TOOL_DESCRIPTIONS } from '../../../src/mcp/tool-descriptions.ts'
import { toolsOf } from '../../../src/mcp/tools.ts'

const documentWith = (wire: string) =>
  createOpenApiDocument(
    parseConfig(`platform = { base_url = "https://a.test", session_cookie = "s" }\n${wire}`),
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

test('read-only tools have the readOnlyHint, and removing tools do not', async () => {
  const { tools } = toolsOf(await documentWith(''))

  for (const { name, annotations, route } of tools) {
    const { effect: deed } = TOOL_DESCRIPTIONS[name.slice('forum_'.length)] ?? {}
    const hints = { look: annotations.readOnlyHint, remove: annotations.destructiveHint }
    expect({ name, ...hints }).toEqual({ name, look: deed === 'looks', remove: deed === 'removes' })
    // A GET changes nothing, so its hint must be read-only.
    if (route.kind === 'call' && route.method === 'GET')
      expect([name, deed]).toEqual([name, 'looks'])
    if (route.kind === 'draft') expect([name, deed]).toEqual([name, 'changes'])
  }
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
