// Goal: the n8n workflow in examples/ accepts a real delivery once, and nothing else. Method: its
// code node runs with the input that n8n would pass. n8n itself is not run.
import { beforeAll, describe, expect, test } from 'bun:test'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { sign } from '../../src/core/delivery/signature.ts'
import { type Delivered, realDelivery } from '../support/loopback-daemon.ts'
import { root } from './documentation.ts'

const examples = join(root, 'examples')
const TITLE = 'A quiet grinder'
let real: Delivered
beforeAll(async () => {
  real = await realDelivery(TITLE)
})

const now_s = () => Math.floor(Date.now() / 1000)
const signed = () => ({ 'x-service-signature': sign(real.secret, now_s(), real.body) })

type Node = {
  name: string
  type: string
  parameters: { jsCode?: string; options?: unknown; [other: string]: unknown }
}
type Workflow = { nodes: Node[]; connections: Record<string, { main: { node: string }[][] }> }
const readWorkflow = (): Promise<Workflow> => Bun.file(`${examples}/n8n/forumd-alerts.json`).json()

/** Runs the code node as n8n does: a function body with these names in scope. */
async function verify(
  headers: Record<string, string>,
  body: Uint8Array,
  data: Record<string, unknown> = {},
  FORUMD_SECRET = real.secret,
) {
  const { nodes } = await readWorkflow()
  const code = nodes.find(({ name }) => name === 'Verify')?.parameters.jsCode ?? ''
  const names = ['$input', '$env', '$getWorkflowStaticData', 'require']
  // oxlint-disable-next-line no-implied-eval -- it is what the example gives n8n to run
  const run = new Function(...names, `return (async () => {${code}\n}).call(this)`)
  const helpers = { getBinaryDataBuffer: () => Promise.resolve(Buffer.from(body)) }
  const [answer] = await run.call(
    { helpers },
    { all: () => [{ json: { headers } }] },
    { FORUMD_SECRET },
    () => data,
    createRequire(import.meta.url),
  )
  return answer.json
}

describe('the workflow for n8n', () => {
  test('connects the webhook to its last node through existing nodes', async () => {
    const { nodes, connections } = await readWorkflow()
    const [first, ...rest] = nodes.map(({ name }) => name)
    const path = [first]
    for (let at = first; at !== undefined;) {
      at = connections[at]?.main[0]?.[0]?.node
      if (at !== undefined) path.push(at)
    }

    expect(path).toEqual([first, ...rest])
    expect(nodes[0]?.parameters).toMatchObject({
      httpMethod: 'POST',
      responseMode: 'responseNode',
      options: { rawBody: true },
    })
  })

  test('accepts a delivery, and a repeat without its items', async () => {
    const data = {}

    expect(await verify(signed(), real.body, data)).toMatchObject({
      status: 200,
      items: [{ title: TITLE }],
    })
    expect(await verify(signed(), real.body, data)).toEqual({ status: 200, items: [] })
  })

  test.each([
    ['nothing', () => ({})],
    ['another secret', () => ({ 'x-service-signature': sign('whsec_x', now_s(), real.body) })],
    ['an old time', () => ({ 'x-service-signature': sign(real.secret, now_s() - 330, real.body) })],
    [
      'a time ahead',
      () => ({ 'x-service-signature': sign(real.secret, now_s() + 330, real.body) }),
    ],
  ])('refuses a delivery signed with %s', async (_, headers) => {
    expect(await verify(headers(), real.body)).toEqual({ status: 401, items: [] })
  })

  test('refuses everything without a secret, because an empty one is public', async () => {
    const forged = { 'x-service-signature': sign('', now_s(), real.body) }

    expect(await verify(forged, real.body, {}, '')).toEqual({ status: 401, items: [] })
  })

  test('reads only fields that a delivered item has', async () => {
    const [item] = JSON.parse(real.text).items
    const text = JSON.stringify((await readWorkflow()).nodes)
    const read_fields = [...text.matchAll(/\$json\.([\w.]+)/g)].map(([, field = '']) => field)
    const comment_only = ['link_title']

    expect(read_fields).toContain('enrichment.intent.tag')
    for (const field of read_fields)
      if (field !== 'status' && !comment_only.includes(field)) expect(item).toHaveProperty(field)
  })
})
