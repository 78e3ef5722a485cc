import { Database } from 'bun:sqlite'
// Goal: a person approves a draft in an MCP client, and no answer to a question that forumd did not ask sends anything.
import { afterAll, beforeAll, beforeEach, describe, expect, setSystemTime, test } from 'bun:test'

import type { ClientCapabilities } from '@modelcontextprotocol/client'
import * as z from 'zod'

import { PNG, startWriting, type Writing } from '../support/writes-fixture.ts'
import { modernTo, post } from './mcp-fixture.ts'

const REVISION = '2026-07-28'
const META = 'io.modelcontextprotocol'
const FORM: ClientCapabilities = { elicitation: { form: {} } }

let it: Writing
let key: string
let session: Record<string, string>
beforeAll(async () => {
  it = await startWriting({
    change: ({ limits }) => {
      limits.management_per_minute = 0
      limits.key_rate = 0
    },
  })
  key = it.house.mint('approving', ['read', 'write', 'approve'])
  const { forum_session = '', loid = '' } = it.ann
  session = { 'x-forum-session': forum_session, 'x-forum-loid': loid }
}, 20_000)
afterAll(() => it[Symbol.asyncDispose]())

const sentBefore: string[] = []
beforeEach(() => void sentBefore.splice(0, sentBefore.length, ...it.comments()))
/** Comments that the platform got during a test. */
const sent = () => it.comments().filter((text) => !sentBefore.includes(text))

type Answer = {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | boolean>
}

/** A client of revision 2026-07-28 whose person gives one answer to every question. */
async function asking(answer: Answer, { as = key, headers = session } = {}) {
  const questions: string[] = []
  const client = await modernTo(it.house.url(), as, {
    headers,
    capabilities: FORM,
    prepare: (one) =>
      one.setRequestHandler('elicitation/create', ({ params }) => {
        questions.push(params.message)
        return answer
      }),
  })
  const draft = async (name: string, args: Record<string, unknown>) => {
    const { structuredContent } = await client.callTool({ name, arguments: args })
    return z.looseObject({ status: z.string() }).parse(structuredContent)
  }
  return {
    questions,
    draft,
    comment: (text: string) => draft('forum_draft_comment', { post_url: it.post.permalink, text }),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

describe('a person', () => {
  test('sees the whole draft and sends it', async () => {
    await using client = await asking({ action: 'accept', content: { send: true } })

    expect(await client.comment('First line\nsecond \u202eline')).toMatchObject({
      status: 'approved',
      answer: { success: true },
    })
    expect(sent()).toEqual(['First line\nsecond \u202eline'])
    expect(client.questions).toHaveLength(1)
    // A character that reverses the text is visible, and no line of the draft starts like one of forumd.
    expect(client.questions[0]).toContain('text:\n    First line\n    second \ufffdline')
    expect(client.questions[0]).toContain(`post_url:\n    ${it.post.permalink}`)
  })

  test.each<[Answer, string]>([
    [{ action: 'accept', content: { send: false } }, 'declined'],
    [{ action: 'decline' }, 'waiting'],
    [{ action: 'cancel' }, 'waiting'],
  ])('answers %j: nothing is sent, the draft is %s', async (answer, status) => {
    await using client = await asking(answer)

    expect((await client.comment('Not sent')).status).toBe(status)
    expect(client.questions).toHaveLength(1)
    expect(sent()).toEqual([])
  })

  test.each([
    ['whose key may not approve', async () => ({ as: it.house.mint('plain') })],
    ['whose connection has no session', async () => ({ headers: {} })],
  ])('%s is not asked', async (_, options) => {
    await using client = await asking(
      { action: 'accept', content: { send: true } },
      await options(),
    )

    expect((await client.comment('Unasked')).status).toBe('waiting')
    expect(client.questions).toEqual([])
    expect(sent()).toEqual([])
  })

  test('is not asked about content that a form cannot show', async () => {
    await using client = await asking({ action: 'accept', content: { send: true } })
    const picture = { image_base64: PNG.toString('base64') }

    expect((await client.draft('forum_draft_profile_avatar', picture)).status).toBe('waiting')
    expect((await client.comment('a\n'.repeat(4000))).status).toBe('waiting')
    expect(client.questions).toEqual([])
  })
})

/** One raw call of a draft tool, by which a hostile client is not bound to the rules of the library. */
async function raw(
  given: Record<string, unknown> = {},
  { as = key, headers = session, capabilities = FORM, text = 'Forged' } = {},
) {
  const name = 'forum_draft_comment'
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name,
      arguments: { post_url: it.post.permalink, text },
      _meta: {
        [`${META}/protocolVersion`]: REVISION,
        [`${META}/clientInfo`]: { name: 'raw', version: '1' },
        [`${META}/clientCapabilities`]: capabilities,
      },
      ...given,
    },
  }
  const answer = await post(it.house.url(), as, JSON.stringify(body), {
    'mcp-protocol-version': REVISION,
    'mcp-method': 'tools/call',
    'mcp-name': name,
    ...headers,
  })
  const { result, error } = z
    .object({
      result: z
        .looseObject({
          resultType: z.string(),
          requestState: z.string().optional(),
          structuredContent: z.looseObject({ id: z.string(), status: z.string() }).optional(),
        })
        .optional(),
      error: z.looseObject({ code: z.number(), data: z.unknown() }).optional(),
    })
    .parse(answer.body)
  return { result, error, state: result?.requestState ?? '' }
}

const YES = { approval: { action: 'accept', content: { send: true } } }
const REFUSED = { error: { code: -32602, data: { reason: 'invalid_request_state' } } }

describe('a hostile client', () => {
  test('that sends an answer without a question gets the question', async () => {
    const { result } = await raw({ inputResponses: YES })

    expect(result?.resultType).toBe('input_required')
    expect(sent()).toEqual([])
  })

  test('cannot answer twice', async () => {
    const { state } = await raw({}, { text: 'Once' })
    const answered = await raw({ inputResponses: YES, requestState: state })
    expect(answered.result?.structuredContent?.status).toBe('approved')
    expect(await raw({ inputResponses: YES, requestState: state })).toMatchObject(REFUSED)
    expect(sent()).toEqual(['Once'])
  })

  test('cannot change its mind: a closed question is used', async () => {
    const { state } = await raw()
    const closed = await raw({
      inputResponses: { approval: { action: 'cancel' } },
      requestState: state,
    })
    expect(closed.result?.structuredContent?.status).toBe('waiting')
    expect(await raw({ inputResponses: YES, requestState: state })).toMatchObject(REFUSED)
    expect(sent()).toEqual([])
  })

  test('cannot use a state with another key or another session', async () => {
    const { state } = await raw()
    const other = it.house.mint('other', ['read', 'write', 'approve'])
    const ben = it.sessionOf('ben')
    const headers = {
      'x-forum-session': ben['forum_session'] ?? '',
      'x-forum-loid': ben['loid'] ?? '',
    }
    const answer = { inputResponses: YES, requestState: state }
    expect(await raw(answer, { as: other })).toMatchObject(REFUSED)
    expect(await raw(answer, { headers })).toMatchObject(REFUSED)
    expect(sent()).toEqual([])
  })

  test.each([
    ['another draft', (state: string) => state.replace(/^(v1\.)../, '$1xx')],
    ['no signature', (state: string) => state.slice(0, state.lastIndexOf('.') + 1)],
    ['text', () => 'approved'],
  ])('cannot forge a state: %s', async (_, forge) => {
    const { state } = await raw()

    expect(await raw({ inputResponses: YES, requestState: forge(state) })).toMatchObject(REFUSED)
    expect(sent()).toEqual([])
  })

  test('cannot use a state after ten minutes', async () => {
    const { state } = await raw()
    setSystemTime(Date.now() + 601_000)
    const late = await raw({ inputResponses: YES, requestState: state })
    setSystemTime()

    expect(late).toMatchObject(REFUSED)
    expect(sent()).toEqual([])
  })

  test('gets nothing sent of a draft that is not the one that was shown', async () => {
    const { state } = await raw()
    using db = new Database(`${it.house.dir}/forumd.sqlite`)
    db.run("UPDATE drafts SET body = json_set(body, '$.text', 'Swapped') WHERE state = 'waiting'")

    expect(await raw({ inputResponses: YES, requestState: state })).toMatchObject(REFUSED)
    expect(sent()).toEqual([])
  })

  test.each([
    [{}],
    [{ approval: { action: 'accept', content: {} } }],
    [{ approval: { action: 'accept', content: { send: 'yes' } } }],
    [{ other: YES.approval }],
  ])('that answers %j gets another question about the same draft', async (inputResponses) => {
    const first = await raw()
    const again = await raw({ inputResponses, requestState: first.state })

    expect(again.result?.resultType).toBe('input_required')
    expect(again.state).not.toBe(first.state)
    expect(sent()).toEqual([])
  })

  test.each([[{}], [{ elicitation: { url: {} } }]])(
    'with the capabilities %j is not asked',
    async (capabilities) => {
      const { result } = await raw({}, { capabilities })

      expect(result).toMatchObject({
        resultType: 'complete',
        structuredContent: { status: 'waiting' },
      })
    },
  )
})
