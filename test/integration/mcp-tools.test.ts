// Goal: each tool has an output schema, and its answers are valid by it, for all arguments that its input schema names.
import { afterAll, beforeAll, expect, test } from 'bun:test'

import type { Client } from '@modelcontextprotocol/client'
import { Ajv2020 } from 'ajv/dist/2020'
import * as fc from 'fast-check'
import * as z from 'zod'

import { cases } from '../support/long-form.ts'
import { PNG, startWriting, type Writing } from '../support/writes-fixture.ts'
import { modernTo } from './mcp-fixture.ts'

const RUNS = cases({ short: 1, long: 30 })

let it: Writing
let comment: { id: string }
let thread: string
let match: string
let delivery: string
let client: Client
let tools: Awaited<ReturnType<Client['listTools']>>['tools']
beforeAll(async () => {
  it = await startWriting({
    change: ({ limits, plans }) => {
      limits.management_per_minute = 0
      limits.key_rate = 0
      limits.feedback_per_minute = 0
      limits.dashboard_per_minute = 0
      for (const plan of Object.values(plans)) plan.slots = 1000
    },
  })
  const { forum_session = '', loid = '' } = it.ann
  client = await modernTo(it.house.url(), it.house.key, {
    headers: { 'x-forum-session': forum_session, 'x-forum-loid': loid },
  })
  tools = (await client.listTools()).tools
  match = await watchOne()
  delivery = await deliverOne()
  it.sandbox.subforum({ name: 'cats', wiki: { index: 'About cats' } })
  comment = it.sandbox.comment({ parent: it.post.name, author: 'ben', text: 'A cat too' })
  const { body } = await it.act('dm', { to: 'ben', subject: 'Cats', text: 'Hello' })
  thread = z.object({ thread_id: z.string() }).parse(body).thread_id
}, 60_000)
afterAll(async () => {
  await client.close()
  await it[Symbol.asyncDispose]()
})

type Args = Record<string, unknown>

async function call(short: string, args: Args = {}) {
  const name = `forum_${short}`
  const { isError = false, structuredContent } = await client.callTool({ name, arguments: args })
  return { isError, answer: z.looseObject({}).optional().parse(structuredContent) ?? {} }
}
const idOf = async (short: string, args: Args) => String((await call(short, args)).answer['id'])

const FILTER = { subforum: 'cats', include_any: ['cat'] }
const addMonitor = () => idOf('monitor_add', { filter_spec: FILTER })

/** A post in the inbox: found by a monitor of its own. */
async function watchOne(): Promise<string> {
  await call('monitor_add', { filter_spec: { subforum: 'cats', include_any: ['zebra'] } })
  await it.house.clock.advance(120_000)
  const { name } = it.sandbox.post({ subforum: 'cats', author: 'ben', title: 'A zebra' })
  await it.house.clock.advance(180_000)
  return name
}
/** A delivery to a webhook that signs. */
async function deliverOne(): Promise<string> {
  const webhook = await addWebhook()
  await call('monitor_add', {
    filter_spec: { subforum: 'cats', include_any: ['okapi'] },
    webhook_ids: [webhook],
  })
  await it.house.clock.advance(120_000)
  it.sandbox.post({ subforum: 'cats', author: 'ben', title: 'An okapi' })
  await it.house.clock.advance(180_000)
  const list = z.object({
    deliveries: z.array(z.object({ delivery_id: z.string(), webhook_id: z.string().nullable() })),
  })
  const { deliveries } = list.parse((await call('monitor_deliveries')).answer)
  return deliveries.find((one) => one.webhook_id === webhook)?.delivery_id ?? ''
}
const readMatch = async () =>
  String((await call('inbox_update', { ids: [match], set: { state: 'read' } })).answer['action_id'])

/** Valid arguments of each tool that needs some. */
const ARGS: Record<string, () => Args | Promise<Args>> = {
  posts: () => ({ subforum: 'cats' }),
  sub_top: () => ({ name: 'cats', t: 'all' }),
  post: () => ({ id: it.post.id }),
  post_visibility: () => ({ id: it.post.id }),
  by_id: () => ({ fullnames: it.post.name }),
  search: () => ({ q: 'cat' }),
  search_communities: () => ({ q: 'cats' }),
  search_comments: () => ({ q: 'cat' }),
  search_comments_deep: () => ({ q: 'cat', limit: 2 }),
  search_media: () => ({ q: 'cat' }),
  search_users: () => ({ q: 'ben' }),
  comments: () => ({ permalink: it.post.permalink }),
  post_comments: () => ({ id: it.post.id }),
  comment_by_id: () => ({ id: comment.id }),
  verify_comments: () => ({ ids: [comment.id, 'zzz'] }),
  user: () => ({ name: 'ben' }),
  user_comments: () => ({ name: 'ben' }),
  user_submitted: () => ({ name: 'ben' }),
  user_achievements: () => ({ name: 'ben' }),
  sub_about: () => ({ name: 'cats' }),
  sub_comments: () => ({ name: 'cats' }),
  sub_rules: () => ({ name: 'cats' }),
  sub_wiki: () => ({ name: 'cats', page: 'index' }),
  sub_moderators: () => ({ name: 'cats' }),
  user_upvoted: () => ({ name: 'ann' }),
  user_saved: () => ({ name: 'ann' }),
  user_hidden: () => ({ name: 'ann' }),
  user_gilded: () => ({ name: 'ann' }),
  dm_messages: () => ({ thread_id: thread }),
  draft_comment: () => ({ post_url: it.post.permalink, text: 'Hello' }),
  draft_vote: () => ({ id: it.post.name, direction: 'up' }),
  draft_dm: () => ({ to: 'ben', subject: 'Cats', text: 'Hello' }),
  draft_profile_description: () => ({ description: 'Hello' }),
  draft_profile_display_name: () => ({ display_name: 'Ann' }),
  draft_profile_avatar: () => ({ image_base64: PNG.toString('base64') }),
  draft_profile_banner: () => ({ image_base64: PNG.toString('base64') }),
  find_draft: async () => ({ id: await addDraft() }),
  decline_draft: async () => ({ id: await addDraft() }),
  inbox_update: () => ({ ids: [match, 't3_gone'], set: { starred: true } }),
  // Each undoing makes room for the next change.
  inbox_undo: async () => ({ action_id: await readMatch() }),
  inbox_item: () => ({ id: match }),
  inbox_mute: () => ({ id: match, mute: 'author' }),
  inbox_context: () => ({ id: match }),
  monitor_add: () => ({ filter_spec: FILTER }),
  monitor_update: async () => ({ id: await addMonitor(), filter_spec: FILTER }),
  monitor_remove: async () => ({ id: await addMonitor() }),
  monitor_acknowledge: async () => ({ id: await addMonitor() }),
  monitor_health: async () => ({ id: await addMonitor() }),
  monitor_coverage: async () => ({ id: await addMonitor() }),
  monitor_items: async () => ({ id: await addMonitor() }),
  monitor_feed_rotate: async () => ({ id: await addMonitor() }),
  monitor_preview: () => ({ filter_spec: FILTER }),
  monitor_why: async () => ({ id: await addMonitor(), item_id: it.post.name }),
  monitor_deliveries_request: () => ({ delivery_id: delivery }),
  monitor_deliveries_redeliver: () => ({ since: '2026-01-01T00:00:00Z', dry_run: true }),
  monitor_webhook_create: () => WEBHOOK,
  monitor_webhook_update: async () => ({ id: await addWebhook(), name: 'renamed' }),
  monitor_webhook_rotate: async () => ({ id: await addWebhook() }),
  monitor_webhook_test: async () => ({ id: await addWebhook() }),
  monitor_webhook_delete: async () => ({ id: await addWebhook() }),
  send_feedback: () => FEEDBACK,
  find_feedback: async () => ({ id: await idOf('send_feedback', FEEDBACK) }),
}
const WEBHOOK = { kind: 'webhook', url: 'https://receiver.test/hook' }
const FEEDBACK = { type: 'idea', title: 'An idea', details: 'Details of it.' }
const addWebhook = () => idOf('monitor_webhook_create', WEBHOOK)
/** A customer may have few open drafts. */
async function declineAll() {
  const open = z.object({ drafts: z.array(z.object({ id: z.string() })) })
  const { answer } = await call('list_drafts', { status: 'waiting', limit: 100 })
  for (const { id } of open.parse(answer).drafts) await call('decline_draft', { id })
}
const addDraft = async () => idOf('draft_vote', { id: it.post.name, direction: 'up' })

const ajv = new Ajv2020({ strict: false })

/** Optional arguments that an input schema enumerates, in any combination. */
function choices(schema: unknown): fc.Arbitrary<Args> {
  const { properties } = z
    .object({ properties: z.record(z.string(), z.looseObject({})) })
    .parse(schema)
  const named = Object.entries(properties).flatMap(
    ([name, field]): [string, fc.Arbitrary<unknown>][] => {
      if (Array.isArray(field['enum'])) return [[name, fc.constantFrom(...field['enum'])]]
      if (field['type'] === 'boolean') return [[name, fc.boolean()]]
      if (name === 'limit') return [[name, fc.integer({ min: 1, max: 100 })]]
      return []
    },
  )
  return fc.record(Object.fromEntries(named), { requiredKeys: [] })
}

test('each tool answers by its output schema, for the choices of its input schema', async () => {
  const broken: unknown[] = []
  for (const { name, inputSchema, outputSchema } of tools) {
    const short = name.slice('forum_'.length)
    const isValid = ajv.compile(z.looseObject({ type: z.literal('object') }).parse(outputSchema))
    const base = async () => (await ARGS[short]?.()) ?? {}
    const first = await call(short, await base())
    if (first.isError || !isValid(first.answer))
      broken.push({ name, ...first, errors: isValid.errors })
    // The schema itself says something: an answer without its fields is invalid.
    if (isValid({})) broken.push({ name, allows: 'an empty answer' })
    await declineAll()
    await fc.assert(
      fc.asyncProperty(choices(inputSchema), async (chosen) => {
        const { isError, answer } = await call(short, { ...chosen, ...(await base()) })
        return isError || isValid(answer)
      }),
      { numRuns: RUNS },
    )
  }

  expect(broken).toEqual([])
}, 60_000)

test("a model with docs/mcp.md's key changes no address that matches are sent to", async () => {
  const narrow = await modernTo(it.house.url(), it.house.mint('model', ['read', 'monitor']))
  const refused = async (short: string, args: Args) => {
    const answer = await narrow.callTool({ name: `forum_${short}`, arguments: args })
    return [answer.isError, JSON.stringify(answer.content).includes('needs the scope webhook')]
  }
  try {
    const id = 'whk_00000000000000000000'
    expect(await refused('monitor_webhook_create', { url: 'https://evil.example/' })).toEqual([
      true,
      true,
    ])
    for (const short of ['webhook_update', 'webhook_rotate', 'webhook_delete'])
      expect(await refused(`monitor_${short}`, { id })).toEqual([true, true])
    expect(await refused('monitor_feed_rotate', { id: 'mon_x' })).toEqual([true, true])
    expect(
      (await narrow.callTool({ name: 'forum_monitor_webhook_list', arguments: {} })).isError ??
        false,
    ).toBe(false)
  } finally {
    await narrow.close()
  }
})
