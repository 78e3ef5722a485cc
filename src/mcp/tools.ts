import * as z from 'zod'

import { sessionFields } from '../core/body-session.ts'
import { DRAFT_ACTIONS, type DraftAction, pathOfDraft } from '../core/draft.ts'
import { createWords, type Words } from '../core/wire.ts'
import { DRAFTED, TOLD } from './told.ts'

type Json = Record<string, unknown>
type Place = 'path' | 'query' | 'body'

/** How a tool's call is made over HTTP. */
export type Route =
  | {
      kind: 'call'
      method: string
      /** With `{name}` where a field of the path goes. */
      path: string
      fields: ReadonlyMap<string, Place>
      /** Whether the session goes into the body, as that of a write does. */
      session_in_body: boolean
    }
  | { kind: 'draft'; action: DraftAction; fields: ReadonlyMap<string, Place> }

/** A tool as MCP lists it, and the call behind it. */
export type Tool = {
  name: string
  title: string
  description: string
  inputSchema: { type: 'object' } & Json
  outputSchema?: { type: 'object' } & Json
  annotations: {
    title: string
    readOnlyHint: boolean
    destructiveHint: boolean
    idempotentHint: boolean
    openWorldHint: boolean
  }
  route: Route
}

const schemaShape = z.looseObject({})
const objectShape = z.looseObject({
  type: z.literal('object'),
  properties: z.record(z.string(), schemaShape).default({}),
  required: z.array(z.string()).default([]),
})
const content = z.record(z.string(), z.looseObject({ schema: schemaShape.optional() }))
const operationShape = z.object({
  operationId: z.string(),
  summary: z.string().default(''),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.string(),
        required: z.boolean().default(false),
        description: z.string().optional(),
        schema: schemaShape,
      }),
    )
    .default([]),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: content.optional() })),
})
type Operation = z.infer<typeof operationShape>
const documentShape = z.object({
  paths: z.record(z.string(), z.record(z.string(), operationShape)),
})

const JSON_TYPE = 'application/json'

/** What the words of the wire are, by the address of the posts and by what it asks for. */
function wordsOf({ paths }: z.infer<typeof documentShape>): Words {
  for (const [path, methods] of Object.entries(paths)) {
    const [, platform] = /^\/api\/([^/]+)\/posts$/.exec(path) ?? []
    const asked = methods['get']?.parameters.find((it) => it.in === 'query' && it.required)
    if (platform !== undefined && asked) return createWords({ platform, community: asked.name })
  }
  throw new Error('the document has no list of posts: this is not the document of a forumd')
}

/** Calls that are no tools, each for its reason. */
function isLeftOut({ api, monitor }: Words, method: string, path: string): boolean {
  const key = `${method} ${path}`
  return (
    // The same calls by another address.
    path.startsWith(`/api${monitor}/`) ||
    key === `GET ${api}/comments/{postId}` ||
    // For those who watch over the service.
    key === 'GET /health/ready' ||
    // Passwords and cookies do not belong into the memory of a model.
    key === `POST ${api}/login` ||
    // Comments are drafted, and then written without a browser.
    key === `POST ${api}/comment` ||
    // Answers that do not end, or are no JSON; monitor_items has the same.
    path === `${monitor}/stream` ||
    path === `${monitor}/feed/{token}` ||
    // Each write has a tool of its own for its drafts, and a person approves.
    key === 'POST /drafts' ||
    key === 'POST /drafts/{id}/approve'
  )
}

const snake = (text: string) => text.replace(/[A-Z]/g, (it) => `_${it.toLowerCase()}`)

/** `monitor_webhook_test`, `search_comments`: a tool's name without the platform's word. */
function shortNameOf({ monitor }: Words, path: string, { operationId }: Operation): string {
  return path.startsWith(`${monitor}/`)
    ? `monitor_${path.slice(monitor.length + 1).replaceAll('/', '_')}`
    : snake(operationId)
}

type Inputs = { properties: Json; required: string[]; fields: Map<string, Place> }

/** Everything that a call takes, but for sessions and ways out: those are not for a model to hold. */
function inputsOf(words: Words, operation: Operation): Inputs & { session_in_body: boolean } {
  const kept = new Set(sessionFields(words))
  const given = operation.parameters.filter((it) => it.in !== 'header' && !kept.has(it.name))
  const body = objectShape.parse(
    operation.requestBody?.content[JSON_TYPE]?.schema ?? { type: 'object' },
  )
  const own = Object.entries(body.properties).filter(([name]) => !kept.has(name))
  return {
    properties: {
      ...Object.fromEntries(
        given.map(({ name, description, schema }) => [
          name,
          { ...(description !== undefined && { description }), ...schema },
        ]),
      ),
      ...Object.fromEntries(own),
    },
    required: [
      ...given.filter((it) => it.required).map((it) => it.name),
      ...body.required.filter((name) => !kept.has(name)),
    ],
    fields: new Map<string, Place>([
      ...given.map((it): [string, Place] => [it.name, it.in === 'path' ? 'path' : 'query']),
      ...own.map(([name]): [string, Place] => [name, 'body']),
    ]),
    session_in_body: words.session in body.properties,
  }
}

type Making = { words: Words; short: string; summary: string; inputs: Inputs; answer: unknown }

function toTool({ words, short, summary, inputs, answer }: Making, route: Route): Tool {
  const told = TOLD[short]
  const { deed = 'changes', reach = 'world' } = told ?? {}
  const drafted = route.kind === 'draft' ? [DRAFTED] : []
  const says = [told?.says ?? `${summary}.`, ...drafted].join(' ')
  const title = summary.replace(/[;,].*$/, '')
  const shape = objectShape.safeParse(answer)
  return {
    name: `${words.platform}_${short}`,
    title,
    description: says.replaceAll('subforum', words.community),
    inputSchema: {
      type: 'object',
      properties: inputs.properties,
      ...(inputs.required.length > 0 && { required: inputs.required }),
      additionalProperties: false,
    },
    ...(shape.success && { outputSchema: shape.data }),
    annotations: {
      title,
      readOnlyHint: deed === 'looks',
      destructiveHint: deed === 'removes',
      idempotentHint: deed === 'looks' || deed === 'removes',
      openWorldHint: reach === 'world',
    },
    route,
  }
}

/**
 * The tools of a service, made of its own OpenAPI document: what they take and answer with is said by the schemas that
 * check the calls. Throws when the document is no forumd's.
 */
export function toolsOf(document: unknown): { tools: readonly Tool[]; words: Words } {
  const read = documentShape.parse(document)
  const words = wordsOf(read)
  const drafts = new Map(
    DRAFT_ACTIONS.map((action) => [`POST ${words.api}${pathOfDraft(action)}`, action]),
  )
  const drafted = read.paths['/drafts']?.['post']?.responses['200']?.content?.[JSON_TYPE]?.schema
  const tools: Tool[] = []
  for (const [path, methods] of Object.entries(read.paths))
    for (const [name, operation] of Object.entries(methods)) {
      const method = name.toUpperCase()
      if (isLeftOut(words, method, path)) continue
      const { session_in_body, ...inputs } = inputsOf(words, operation)
      const { summary } = operation
      const action = drafts.get(`${method} ${path}`)
      if (action === undefined) {
        const short = shortNameOf(words, path, operation)
        const answer = operation.responses['200']?.content?.[JSON_TYPE]?.schema
        const { fields } = inputs
        const route: Route = { kind: 'call', method, path, fields, session_in_body }
        tools.push(toTool({ words, short, summary, inputs, answer }, route))
      } else {
        const short = `draft_${action.replaceAll(/[/-]/g, '_')}`
        const { fields } = inputs
        const making = { words, short, summary: `Draft: ${summary}`, inputs, answer: drafted }
        tools.push(toTool(making, { kind: 'draft', action, fields }))
      }
    }
  return { tools, words }
}
