import * as z from 'zod'

import { sessionFields } from '../core/forum/body-session.ts'
import { DRAFT_ACTIONS, DRAFT_HOURS, type DraftAction, pathOfDraft } from '../core/forum/draft.ts'
import { createNaming, type Naming } from '../core/forum/naming.ts'

type Json = Record<string, unknown>
type Place = 'path' | 'query' | 'body'

export type Route =
  | {
      kind: 'call'
      method: string
      /** Path template; `{name}` is replaced by a field. */
      path: string
      fields: ReadonlyMap<string, Place>
      /** The session is sent in the body, as for writes. */
      session_in_body: boolean
    }
  | { kind: 'draft'; action: DraftAction; fields: ReadonlyMap<string, Place> }

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
  /** The group that a client selects the tool by. */
  toolset: string
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
  description: z.string().default(''),
  tags: z.array(z.string()).default([]),
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
/** A path that references another has no operations of its own. */
const referenceShape = z
  .strictObject({ $ref: z.string() })
  .transform((): Record<string, Operation> => ({}))
const documentShape = z.object({
  paths: z.record(z.string(), z.union([referenceShape, z.record(z.string(), operationShape)])),
})

const JSON_TYPE = 'application/json'

/** Derives the configured words for platform and community from the route that lists posts. */
function wordsOf({ paths }: z.infer<typeof documentShape>): Naming {
  for (const [path, methods] of Object.entries(paths)) {
    const [, platform] = /^\/api\/([^/]+)\/posts$/.exec(path) ?? []
    const community_parameter = methods['get']?.parameters.find(
      (it) => it.in === 'query' && it.required,
    )
    if (platform !== undefined && community_parameter)
      return createNaming({ platform, community: community_parameter.name })
  }
  throw new Error(
    'the OpenAPI document has no route that lists posts: it is not the document of a forumd',
  )
}

/** Routes that are not tools, each with its reason. */
function isExcluded({ api, monitor, platform }: Naming, method: string, path: string): boolean {
  const key = `${method} ${path}`
  return (
    // Aliases of other routes.
    path.startsWith(`/api${monitor}/`) ||
    key === `GET ${api}/comments/{postId}` ||
    // For operators.
    key === 'GET /health/ready' ||
    // Passwords and cookies must not enter the context of a model.
    key === `POST ${api}/login` ||
    // Comments are drafted and sent without a browser.
    key === `POST ${api}/comment` ||
    // Endless or non-JSON responses; monitor_items returns the same data.
    path === `${monitor}/stream` ||
    path === `${monitor}/feed/{token}` ||
    path === `/${platform}/archive/export` ||
    // Matters of the dashboard.
    path === `/${platform}/inbox/ids` ||
    // Each write has its own draft tool, and approval is left to a person.
    key === 'POST /drafts' ||
    key === 'POST /drafts/{id}/approve'
  )
}

const toSnakeCase = (text: string) => text.replace(/[A-Z]/g, (it) => `_${it.toLowerCase()}`)

/** A tool's name without the platform prefix, such as `monitor_webhook_test` or `search_comments`. */
function shortNameOf({ monitor }: Naming, path: string, { operationId }: Operation): string {
  return path.startsWith(`${monitor}/`)
    ? `monitor_${path.slice(monitor.length + 1).replaceAll('/', '_')}`
    : toSnakeCase(operationId)
}

type Inputs = { properties: Json; required: string[]; fields: Map<string, Place> }

/** The arguments of a route without sessions and proxies, which must not be visible to a model. */
function inputsOf(words: Naming, operation: Operation): Inputs & { session_in_body: boolean } {
  const session_names = new Set(sessionFields(words))
  const given = operation.parameters.filter(
    (it) => it.in !== 'header' && !session_names.has(it.name),
  )
  const body = objectShape.parse(
    operation.requestBody?.content[JSON_TYPE]?.schema ?? { type: 'object' },
  )
  const own = Object.entries(body.properties).filter(([name]) => !session_names.has(name))
  return {
    properties: {
      ...Object.fromEntries(
        given.map(({ name, description, schema }) => [
          name,
          { ...(description !== undefined && { description }), ...schema },
        ]),
      ),
      ...Object.fromEntries(own.map(([name, schema]) => [name, oneForm(schema)])),
    },
    required: [
      ...given.filter((it) => it.required).map((it) => it.name),
      ...body.required.filter((name) => !session_names.has(name)),
    ],
    fields: new Map<string, Place>([
      ...given.map((it): [string, Place] => [it.name, it.in === 'path' ? 'path' : 'query']),
      ...own.map(([name]): [string, Place] => [name, 'body']),
    ]),
    session_in_body: words.session in body.properties,
  }
}

/** Calls by POST that change nothing. */
const POSTED_READS = ['verify_comments', 'dm_threads', 'dm_messages', 'monitor_preview']
const REMOVALS = [
  'monitor_remove',
  'monitor_feed_rotate',
  'monitor_webhook_rotate',
  'monitor_webhook_delete',
  'decline_draft',
]
const SESSION =
  'Needs a platform session, which the person who set up this connection configures; it is never an argument.'
const SESSION_TOOLSETS = ['own_account', 'direct_messages']
const DRAFTED = `Nothing is sent to the platform yet: a person has to approve the draft within ${DRAFT_HOURS} hours, on the dashboard or with \`forumd draft approve\`; some clients ask the person at once. While status is waiting, tell the person so, and check the decision with find_draft.`

/** The description of an operation, without the conditions that keys and limits add to it. */
const purposeOf = ({ description }: Operation): string =>
  description.replace(/ ?(?:Takes (?:any|a) key|Counts towards the rate limit)\b.*$/, '')

type ToolParts = {
  words: Naming
  short: string
  summary: string
  description: string
  toolset: string
  inputs: Inputs
  answer: unknown
}

function toTool(parts: ToolParts, route: Route): Tool {
  const { words, short, summary, description, toolset, inputs, answer } = parts
  const is_read = route.kind === 'call' && (route.method === 'GET' || POSTED_READS.includes(short))
  const is_removal = REMOVALS.includes(short)
  const reaches_platform =
    route.kind === 'call' &&
    ((route.path.startsWith(`${words.api}/`) && short !== 'sources') || short === 'inbox_context')
  const title = summary.replace(/[;,].*$/, '')
  const shape = objectShape.safeParse(answer)
  return {
    name: `${words.platform}_${short}`,
    title,
    description,
    inputSchema: {
      type: 'object',
      properties: inputs.properties,
      ...(inputs.required.length > 0 && { required: inputs.required }),
      additionalProperties: false,
    },
    ...(shape.success && { outputSchema: { ...outline(shape.data), type: 'object' } }),
    annotations: {
      title,
      readOnlyHint: is_read,
      destructiveHint: is_removal,
      idempotentHint: is_read || is_removal,
      openWorldHint: reaches_platform,
    },
    toolset,
    route,
  }
}

/** Keywords whose values are schemas by name: a name may equal that of a keyword. */
const BY_NAME = new Set(['properties', 'patternProperties', '$defs'])
/** Keywords of an answer's schema that do not name or type a field. */
const DETAILS = new Set([
  'default',
  'description',
  'format',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'pattern',
  'propertyNames',
  'title',
])

const isDetail = (key: string, value: unknown): boolean =>
  key === 'additionalProperties'
    ? !isJson(value) || Object.keys(value).length === 0
    : DETAILS.has(key)

/**
 * The names, types and enumerations of an answer's schema. A model reads the list of tools with every task; and without
 * `additionalProperties` a later version may add fields.
 */
function outline(schema: Json): Json {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (BY_NAME.has(key) && isJson(value))
      return [
        [key, Object.fromEntries(Object.entries(value).map(([name, it]) => [name, inner(it)]))],
      ]
    return isDetail(key, value) ? [] : [[key, inner(value)]]
  })
  return nullable(Object.fromEntries(entries))
}

/** Shortens "one type or null" to a list of two types. */
function nullable(schema: Json): Json {
  const [one, other, ...more] = Array.isArray(schema['anyOf']) ? schema['anyOf'] : []
  if (more.length > 0 || !isJson(one) || !isJson(other)) return schema
  if (other['type'] !== 'null' || typeof one['type'] !== 'string' || 'enum' in one) return schema
  return { ...one, type: [one['type'], 'null'] }
}

const inner = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(inner) : isJson(value) ? outline(value) : value

/** Leaves the list where a schema takes one value or a list of them: a model needs one form. */
function oneForm(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(oneForm)
  if (!isJson(value)) return value
  const [one, many, ...more] = Array.isArray(value['anyOf']) ? value['anyOf'] : []
  const is_both =
    more.length === 0 && isJson(many) && JSON.stringify(many['items']) === JSON.stringify(one)
  if (!is_both)
    return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, oneForm(it)]))
  const { anyOf: _, ...rest } = value
  return { ...many, ...rest }
}

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const refShape = z.looseObject({ $ref: z.string() })
const REFERENCES_MAX = 32

/**
 * A document with each reference replaced by its component, as tools need their schemas.
 * @throws {Error} a component refers to itself, or is not there
 */
export function withoutReferences(document: unknown): unknown {
  const resolve = (node: unknown, depth: number): unknown => {
    if (Array.isArray(node)) return node.map((it) => resolve(it, depth))
    if (!isJson(node)) return node
    const { success, data } = refShape.safeParse(node)
    if (!success)
      return Object.fromEntries(
        Object.entries(node).map(([name, part]) => [name, resolve(part, depth)]),
      )
    const { $ref, ...beside } = data
    const [root, ...path] = $ref.split('/')
    const target = path.reduce<unknown>((at, name) => (isJson(at) ? at[name] : undefined), document)
    if (root !== '#' || !isJson(target) || depth === REFERENCES_MAX)
      throw new Error(`the OpenAPI document has the reference ${$ref}, which cannot be resolved`)
    const title = path[1] === 'schemas' ? { title: path[2] } : {}
    return { ...title, ...Object.assign({}, resolve(target, depth + 1)), ...beside }
  }
  return resolve(document, 0)
}

/**
 * Builds the tools from the service's own OpenAPI document, so that their schemas are those that validate the calls.
 * @throws {Error} the document is not that of a forumd
 */
export function toolsOf(document: unknown): { tools: readonly Tool[]; words: Naming } {
  const read = documentShape.parse(withoutReferences(document))
  const words = wordsOf(read)
  const drafts = new Map(
    DRAFT_ACTIONS.map((action) => [`POST ${words.api}${pathOfDraft(action)}`, action]),
  )
  const drafted = read.paths['/drafts']?.['post']?.responses['200']?.content?.[JSON_TYPE]?.schema
  const tools: Tool[] = []
  for (const [path, methods] of Object.entries(read.paths))
    for (const [name, operation] of Object.entries(methods)) {
      const method = name.toUpperCase()
      if (isExcluded(words, method, path)) continue
      const { session_in_body, ...inputs } = inputsOf(words, operation)
      const { summary } = operation
      const toolset = toSnakeCase((operation.tags[0] ?? 'other').toLowerCase().replaceAll(' ', '_'))
      const action = drafts.get(`${method} ${path}`)
      if (action === undefined) {
        const short = shortNameOf(words, path, operation)
        const answer = operation.responses['200']?.content?.[JSON_TYPE]?.schema
        const { fields } = inputs
        const route: Route = { kind: 'call', method, path, fields, session_in_body }
        const session = SESSION_TOOLSETS.includes(toolset) ? ` ${SESSION}` : ''
        const description = purposeOf(operation) + session
        tools.push(toTool({ words, short, summary, description, toolset, inputs, answer }, route))
      } else {
        const short = `draft_${action.replaceAll(/[/-]/g, '_')}`
        const { fields } = inputs
        const parts = {
          words,
          short,
          summary: `Draft: ${summary}`,
          description: `Drafts this write: ${summary}. ${DRAFTED}`,
          toolset,
          inputs,
          answer: drafted,
        }
        tools.push(toTool(parts, { kind: 'draft', action, fields }))
      }
    }
  return { tools, words }
}

/** The tools of most tasks, which are listed unless a client selects others: a model reads the list with every task. */
const DEFAULT_TOOLS = [
  'sources',
  'posts',
  'search',
  'post_comments',
  'sub_about',
  'monitor_add',
  'monitor_list',
  'monitor_remove',
  'monitor_items',
  'inbox_list',
  'inbox_update',
  'draft_comment',
  'find_draft',
  'account_problems',
  'account_me',
]

/**
 * The tools of toolsets, by a comma-separated list; `default`: those of most tasks, `all`: every one.
 * @throws {RangeError} a toolset is unknown
 */
export function selectTools(tools: readonly Tool[], text: string): readonly Tool[] {
  const names = ['default', 'all', ...new Set(tools.map(({ toolset }) => toolset))]
  const selected = text.split(',')
  const unknown = selected.find((it) => !names.includes(it))
  if (unknown === undefined)
    return tools.filter(
      ({ toolset, name }) =>
        selected.includes('all') ||
        selected.includes(toolset) ||
        (selected.includes('default') &&
          DEFAULT_TOOLS.some(
            (it) => name.endsWith(`_${it}`) && name.length - it.length - 1 === name.indexOf('_'),
          )),
    )
  throw new RangeError(
    `toolsets must be a comma-separated list of ${names.join(', ')}; ${JSON.stringify(unknown.slice(0, 64))} is none`,
  )
}
