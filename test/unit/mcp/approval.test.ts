// Goal: a question has a draft that a form shows completely, and that the session of the connection is for.
import { expect, test } from 'bun:test'

import { isInputRequiredResult, type ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'

import { createApprovals } from '../../../src/mcp/approval.ts'

const context = z
  .custom<ServerContext>((it) => it !== null)
  .parse({ mcpReq: { method: 'tools/call' } })
const DRAFT = {
  id: 'drf_1',
  action: 'comment',
  body: { text: 'Hello' },
  source: null,
  status: 'waiting',
}

test.each([
  [{}, true],
  [{ source: 'other' }, false],
  [{ action: 'profile/banner' }, false],
  [{ body: { text: 'x'.repeat(10_000) } }, false],
])('a draft with %j: %j', async (change, asked) => {
  const structuredContent = { ...DRAFT, ...change }
  const result = { content: [], structuredContent }
  const headers = new Headers({ 'x-draft-approval': 'elicitation' })
  const { signal } = new AbortController()
  const answer = await createApprovals()('owner').ask(
    { result, headers },
    {
      client: { elicitation: {} },
      context,
      connection: {
        callApi: () => Promise.reject(new Error('no call')),
        session: { s: '1' },
        signal,
      },
    },
  )

  expect(isInputRequiredResult(answer)).toBe(asked)
})
