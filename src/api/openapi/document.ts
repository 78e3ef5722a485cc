import * as z from 'zod'

import type { ErrorCode } from '../../core/base/errors.ts'
import { isObject } from '../../core/base/object.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { bodyMax } from '../http/body.ts'
import { schemaOf } from '../http/fields.ts'
import { type Policy, policyOf, sourcePath } from '../http/routes.ts'
import { sessionDocs } from '../http/session.ts'
import { answerHeaders, errorSchema, HEADERS, refusals } from './errors.ts'
import { canonicalField, exampleAnswer, exampleBodies } from './examples.ts'
import { FIELD_TEXTS } from './field-texts.ts'
import { operationTexts } from './operation-texts.ts'
import { toParameters } from './parameters.ts'
import {
  isNamed,
  jsonSchema,
  NAMING_PARAMETER,
  sourceParameter,
  takesSource,
} from './route-docs.ts'

// Written here rather than by @elysiajs/openapi, which copies a route's `detail` and lists its fields. Of an operation it
// derives no error, security, header, bound or description, it converts inputs and outputs alike, and it repeats the
// operations that answer at two paths.

const VALUES_MAX = 20_000
/**
 * Maximum bytes of the address and headers of a call; larger ones are refused before anything is
 * read.
 */
const HEAD_MAX = 16_384

const BOUNDING_KEYS = ['maxLength', 'enum', 'const', 'format', 'pattern']

/**
 * Adds the maximum size to each part of an input schema. Parts without a bound get that of the
 * whole, `bytes`, so that generated clients can check a call before sending it. Those with a title get theirs as
 * components.
 */
function addBounds(schema: unknown, bytes: number): unknown {
  if (Array.isArray(schema)) return schema.map((it) => addBounds(it, bytes))
  if (!isObject(schema) || typeof schema['title'] === 'string') return schema
  const parts = Object.entries(schema).map(([name, part]) => [
    name,
    // Examples are not schemas, even if a field is named like one.
    AS_THEY_ARE.includes(name) ? part : addBounds(part, bytes),
  ])
  return { ...boundOf(schema, bytes), ...Object.fromEntries(parts) }
}
const AS_THEY_ARE = ['examples', 'example', 'enum', 'const', 'default']

function boundOf({ type, ...node }: Record<string, unknown>, bytes: number) {
  if (type === 'string' && !BOUNDING_KEYS.some((it) => it in node)) return { maxLength: bytes }
  if (type === 'array') return { maxItems: VALUES_MAX }
  if (type === 'integer')
    return {
      ...('exclusiveMinimum' in node ? {} : { minimum: Number.MIN_SAFE_INTEGER }),
      ...('exclusiveMaximum' in node ? {} : { maximum: Number.MAX_SAFE_INTEGER }),
    }
  return {}
}

const TAGS: Readonly<Record<string, string>> = {
  Health: 'Liveness and readiness; no key is needed.',
  Account: 'Plan, balance, payments and usage of your account.',
  Drafts: 'Writes that a program proposes and a person approves.',
  Writes: 'Sign in as an account, comment and vote.',
  'Direct messages': 'Messages of an account, read and sent.',
  Profile: 'Profile of an account.',
  Reads: 'Single posts and listings of a subforum.',
  Search: 'Posts, comments, subforums and users by keyword.',
  Comments: 'Comment trees, single comments, and checks if comments still exist.',
  Users: 'Public profiles, posts and comments of users.',
  Communities: 'Descriptions, rules, wikis and comments of subforums.',
  'Own account': 'Data that only a session of your own account can read.',
  Monitoring:
    'Monitors of new content, their targets, and the outcome of each delivery. Every path of this group also answers at the same path under `/api`.',
  Inbox:
    'Matches of all monitors to read, decide and answer. Every path of this group also answers at the same path under `/api`.',
  Archive:
    'Search and export of the items that monitors have matched. Every path of this group also answers at the same path under `/api`.',
  Feedback: 'Feedback to the operator, and its answer.',
}

function describePolicy({ open, scope, limit, feature }: Policy): string {
  const sentences = [
    open ? null : scope === null ? 'Takes any key.' : `Takes a key with the scope \`${scope}\`.`,
    `Counts towards the rate limit of \`${limit}\`${open ? " of the caller's address" : ''}.`,
    feature === null ? null : `The operator can disable it as \`${feature}\`.`,
  ]
  return sentences.filter((it) => it !== null).join(' ')
}

/** Names of fields and paths use those words already. */
function toWireText(words: Naming, node: unknown): unknown {
  if (words.community === 'subforum') return node
  if (Array.isArray(node)) return node.map((it) => toWireText(words, it))
  if (!isObject(node)) return node
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) => [
      name,
      SENTENCES.includes(name) && typeof value === 'string'
        ? value
            .replaceAll(/\bsubforums\b/g, words.communities)
            .replaceAll(/\bsubforum\b/g, words.community)
        : toWireText(words, value),
    ]),
  )
}
const SENTENCES = ['summary', 'description']

function describeFields(words: Naming, node: unknown, parent: string): unknown {
  if (Array.isArray(node)) return node.map((it) => describeFields(words, it, parent))
  if (!isObject(node)) return node
  if (typeof node['title'] === 'string') parent = node['title']
  return Object.fromEntries(
    Object.entries(node).map(([name, part]) => {
      if (AS_THEY_ARE.includes(name)) return [name, part]
      if (name !== 'properties' || !isObject(part))
        return [name, describeFields(words, part, parent)]
      const fields = Object.entries(part).map(([field, schema]) => {
        const known = canonicalField(words, field)
        const description = FIELD_TEXTS[`${parent}.${known}`] ?? FIELD_TEXTS[known]
        const described = describeFields(words, schema, known)
        return [
          field,
          description !== undefined && isObject(described)
            ? { description, ...described }
            : described,
        ]
      })
      return [name, Object.fromEntries(fields)]
    }),
  )
}

const describeAnswer = (words: Naming, answer: Json, title: string): Json =>
  z.record(z.string(), z.unknown()).parse(describeFields(words, answer, title))

function nameAnswer({ content, ...rest }: Json, title: string): Json {
  if (!isObject(content)) return { ...rest }
  const named = Object.entries(content).map(([type, it]) => [
    type,
    isObject(it) && isObject(it['schema'])
      ? { ...it, schema: { title: `${title}Answer`, ...it['schema'] } }
      : it,
  ])
  return { ...rest, content: Object.fromEntries(named) }
}

const VERSION = '1.0.0'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Route as Elysia stores it; `hooks` holds its schemas and its `detail`. */
export type RouteLike = { method: string; path: string; hooks?: unknown }

type Json = Record<string, unknown>

// Schemas used by the document only are stored as functions that create them.
const answer_shape = z
  .custom<() => Json>((it) => typeof it === 'function')
  .transform((make) => make())
const detail_shape = z.looseObject({
  hide: z.boolean().optional(),
  operationId: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  responses: z.record(z.string(), z.union([answer_shape, z.looseObject({})])).optional(),
  refusals: z.array(z.custom<ErrorCode>()).optional(),
})
const hooks_shape = z.looseObject({ detail: detail_shape.optional() })

/**
 * Creates the OpenAPI 3.1 document of these routes from the schemas that check their calls.
 * @see https://spec.openapis.org/oas/v3.1.0
 */
export function openApiDocument({
  routes,
  words,
  public_url,
}: {
  routes: readonly RouteLike[]
  words: Naming
  public_url: string
}): Json {
  const paths: Record<string, Record<string, Json>> = {}
  const tags = new Set<string>()
  const examples = exampleBodies(words)
  const texts = operationTexts(words)
  for (const { method, path, hooks } of routes) {
    const { detail = {}, ...schemas } = hooks_shape.parse(hooks ?? {})
    if (detail.hide === true || !METHODS.includes(method)) continue
    // Calls of a source are documented by the parameter `source`.
    if (path.startsWith(`${sourcePath(words, '')}/`)) continue
    for (const tag of detail.tags ?? []) tags.add(tag)
    const openapi_path = openApiPath(path)
    const operation = toOperation({
      method,
      path,
      detail,
      schemas,
      policy: policyOf(words, method, path),
      words,
      examples,
      purpose: texts.get(`${method} ${path}`),
    })
    paths[openapi_path] = { ...paths[openapi_path], [method.toLowerCase()]: operation }
  }
  const named = toComponents(paths, bodyMax(words, ''))
  const document = {
    openapi: '3.1.0',
    info: {
      title: `${capital(words.platform)} Data, Account Actions and Live Monitoring API`,
      version: VERSION,
      description:
        'Read, act on and watch a forum platform through your own accounts. Every call needs an API key as a Bearer token unless it says otherwise. A body with an unknown field is refused; unknown query parameters are ignored, except where an operation says otherwise, so check their spelling.',
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'The operator of this service', url: new URL('/docs', public_url).href },
    },
    servers: [{ url: public_url, 'x-internal': false }],
    security: [{ bearer: [] }],
    tags: [...tags].map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: fk_ and 43 characters, or an imported key.',
        },
      },
      headers: HEADERS,
      schemas: { Error: errorSchema(words), ...named.schemas },
      responses: named.responses,
    },
  }
  return z.record(z.string(), z.unknown()).parse(toWireText(words, document))
}

/**
 * Moves each schema with a title to `components.schemas`, and each refusal that several operations share to
 * `components.responses`, so that a generated client has one type for each object of the interface. The schema of a
 * request that differs from the schema of the answer, by its defaults, has `Input` appended to its title.
 * @throws {Error} if two different schemas have one title
 */
function toComponents(paths: Record<string, Record<string, Json>>, body_max: number) {
  const schemas: Json = {}
  const responses: Json = {}
  const operations = Object.values(paths).flatMap((it) => Object.values(it))

  const nameOf = (title: string, schema: Json, is_input: boolean): string => {
    const known = schemas[title]
    const bounded = is_input ? addBounds(schema, body_max) : schema
    if (known === undefined || Bun.deepEquals(known, schema)) schemas[title] = bounded
    else if (!Bun.deepEquals(known, bounded)) {
      if (!is_input || title.endsWith('Input'))
        throw new Error(`two schemas have the title ${title}`)
      return nameOf(`${title}Input`, schema, true)
    }
    return title
  }
  const toRef = (node: unknown, is_input: boolean): unknown => {
    if (Array.isArray(node)) return node.map((it) => toRef(it, is_input))
    if (!isObject(node)) return node
    const inner: Json = Object.fromEntries(
      Object.entries(node).map(([name, part]) => [
        name,
        AS_THEY_ARE.includes(name) ? part : toRef(part, is_input),
      ]),
    )
    const { title, description, ...schema } = inner
    if (typeof title !== 'string') return inner
    const name = nameOf(title, schema, is_input)
    return {
      $ref: `#/components/schemas/${name}`,
      ...(description === undefined ? {} : { description }),
    }
  }

  const refusals_of = operations.map(({ responses: all }) =>
    Object.entries(isObject(all) ? all : {}).filter(([status]) => Number(status) >= 400),
  )
  const shared = Map.groupBy(refusals_of.flat(), ([, answer]) => JSON.stringify(answer))
  for (const [at, operation] of operations.entries()) {
    const { responses: all } = operation
    const refs = (refusals_of[at] ?? []).flatMap(([status, answer]) => {
      if (!isObject(answer) || (shared.get(JSON.stringify(answer)) ?? []).length < 2) return []
      const name = `Status${status}${pascal(String(answer['description']))}`
      responses[name] = answer
      return [[status, { $ref: `#/components/responses/${name}` }]]
    })
    operation['responses'] = toRef(
      { ...(isObject(all) && all), ...Object.fromEntries(refs) },
      false,
    )
  }
  for (const operation of operations)
    for (const part of ['requestBody', 'parameters'])
      if (part in operation) operation[part] = toRef(operation[part], true)
  return { schemas, responses }
}

const pascal = (text: string): string =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map(capital)
    .join('')

const openApiPath = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

type Operation = {
  method: string
  path: string
  detail: z.infer<typeof detail_shape>
  schemas: Json
  policy: Policy
  words: Naming
  examples: ReturnType<typeof exampleBodies>
  purpose: string | undefined
}

function toOperation(operation: Operation): Json {
  const { method, path, detail, schemas, policy, words, examples, purpose } = operation
  const { hide: _, responses = {}, refusals: own = [], operationId, ...documentation } = detail
  const { 200: answer = {}, ...other_answers } = responses
  const title = titleOf(words, path, operationId)
  const session = sessionDocs(words, path)
  const parameters = [
    ...toParameters(words, path, schemas),
    ...session.parameters,
    ...(isNamed(policy) ? [NAMING_PARAMETER] : []),
    ...(takesSource(policy, path) ? [sourceParameter(words)] : []),
  ]
  const body = schemaOf(schemas['body'])
  const takes_body = body !== null
  const example = examples[path]
  const takes_fields = takes_body || parameters.length > 0
  return {
    ...documentation,
    ...('requestBody' in documentation
      ? {
          requestBody: describeFields(
            words,
            addBounds(documentation['requestBody'], bodyMax(words, path)),
            'body',
          ),
        }
      : {}),
    description: [purpose, documentation.description, describePolicy(policy)]
      .filter(Boolean)
      .join(' '),
    operationId: operationId ?? operationIdOf(method, path),
    ...(policy.open ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters: addBounds(parameters, HEAD_MAX) }),
    ...(takes_body
      ? {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: describeFields(
                  words,
                  addBounds(jsonSchema(body, 'input'), bodyMax(words, path)),
                  'body',
                ),
                ...(example === undefined ? {} : { example }),
              },
            },
          },
        }
      : {}),
    responses: {
      ...refusals({
        method,
        policy,
        takes_fields,
        takes_body,
        own: [...own, ...session.refusals],
        words,
      }),
      200: {
        ...nameAnswer(describeAnswer(words, withExample(words, answer, title), title), title),
        headers: headersOf(policy),
      },
      ...describeAnswer(words, other_answers, title),
    },
  }
}

/** Default operation id, such as `getApiForumPostsById`. */
const operationIdOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .split(/[/\-_]/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith(':') ? `By${capital(part.slice(1))}` : capital(part)))
    .join('')
/** Name of an operation in those of its schemas, such as `MonitorAdd`: the platform's word is left out. */
const titleOf = ({ monitor }: Naming, path: string, operation_id: string | undefined): string =>
  operation_id === undefined
    ? capital(operationIdOf('monitor', path.slice(monitor.length)))
    : capital(operation_id)
const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

function withExample(words: Naming, answer: Json, title: string): Json {
  const { content, ...rest } = answer
  if (!isObject(content)) return answer
  const json = content['application/json']
  if (!isObject(json) || !isObject(json['schema'])) return answer
  const example = exampleAnswer(words, json['schema'], title)
  return { content: { ...content, 'application/json': { example, ...json } }, ...rest }
}

const headersOf = (policy: Policy): Json =>
  answerHeaders(
    ...(policy.limit === 'reads' ? (['X-Cache'] as const) : []),
    ...(policy.limit === 'reads' || policy.feature !== null
      ? (['X-Credits-Remaining'] as const)
      : []),
    ...(isNamed(policy) ? (['Idempotent-Replayed'] as const) : []),
  )
