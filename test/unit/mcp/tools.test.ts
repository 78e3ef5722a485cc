import { expect, test } from 'bun:test'

import { parseConfig } from '../../../src/config.ts'
import { openApiDocument } from '../../../src/daemon.ts'
import { TOLD } from '../../../src/mcp/told.ts'
import { toolsOf } from '../../../src/mcp/tools.ts'

const documentWith = (wire: string) =>
  openApiDocument(
    parseConfig(`platform = { base_url = "https://a.test", session_cookie = "s" }\n${wire}`),
  )

test('tools are called by the words of the wire, and told in them', async () => {
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

test('a tool that only looks says so, and none that removes does', async () => {
  const { tools } = toolsOf(await documentWith(''))

  for (const { name, annotations, route } of tools) {
    const { deed } = TOLD[name.slice('forum_'.length)] ?? {}
    const hints = { look: annotations.readOnlyHint, remove: annotations.destructiveHint }
    expect({ name, ...hints }).toEqual({ name, look: deed === 'looks', remove: deed === 'removes' })
    // What is asked with GET changes nothing, whatever else it says.
    if (route.kind === 'call' && route.method === 'GET')
      expect([name, deed]).toEqual([name, 'looks'])
    if (route.kind === 'draft') expect([name, deed]).toEqual([name, 'changes'])
  }
})

test.each([[{}], [{ paths: {} }], ['<html>'], [{ paths: { '/api/x/posts': { get: {} } } }]])(
  'a document that is no forumd’s is refused: %j',
  (document) => {
    expect(() => toolsOf(document)).toThrow()
  },
)

test('nothing of MCP is loaded before somebody asks for it', async () => {
  const src = `${import.meta.dir}/../../../src/`
  const eager: string[] = []
  for await (const file of new Bun.Glob('**/*.ts').scan(src)) {
    if (file.startsWith('mcp/')) continue
    const text = await Bun.file(src + file).text()
    if (/\bfrom\s+'(@modelcontextprotocol|[./]*\/mcp\/)/.test(text)) eager.push(file)
  }

  expect(eager).toEqual([])
})
