import * as z from 'zod'

import type { Code } from '../core/errors.ts'
import { once } from '../core/once.ts'
import type { Words } from '../core/wire.ts'
import { bodyMax } from './body.ts'
import { madeOf } from './late.ts'
import { bounded, HEAD_MAX } from './openapi-bounds.ts'
import { ANSWERED, errorSchema, HEADERS, refusals } from './openapi-errors.ts'
import { exampleAnswers, exampleBodies } from './openapi-examples.ts'
import { toParameters } from './openapi-parameters.ts'
import { inWords, TAGS, toldPolicy } from './openapi-words.ts'
import { jsonSchema } from './openapi.ts'
import { monitorPlaces } from './places.ts'
import { type Policy, policyOf } from './policy.ts'
import { tellsSession } from './session.ts'
import { isNamed, NAMING_PARAMETER } from './writes/document.ts'

const VERSION = '1.0.0'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** A route as Elysia keeps it; `hooks` holds its schemas and its `detail`. */
export type RouteLike = { method: string; path: string; hooks?: unknown }

type Json = Record<string, unknown>

// What is only made for the document comes as what makes it.
const answer_shape = z
  .custom<() => unknown>((it) => typeof it === 'function')
  .transform((make) => make())
const detail_shape = z.looseObject({
  hide: z.boolean().optional(),
  operationId: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  responses: z.record(z.string(), z.union([answer_shape, z.looseObject({})])).optional(),
  refusals: z.array(z.custom<Code>()).optional(),
})
const hooks_shape = z.looseObject({ detail: detail_shape.optional() })

/** The OpenAPI 3.1 document of these routes, made from the schemas that check their calls. */
export function openApiDocument({
  routes,
  words,
  public_url,
}: {
  routes: readonly RouteLike[]
  words: Words
  /** The address under which callers know the service. */
  public_url: string
}): Json {
  const paths: Record<string, Json> = {}
  const tags = new Set<string>()
  const [, other_place] = monitorPlaces(words)
  const examples = { bodies: exampleBodies(words), answers: exampleAnswers(words) }
  for (const { method, path, hooks } of routes) {
    const { detail = {}, ...schemas } = hooks_shape.parse(hooks ?? {})
    if (detail.hide === true || !METHODS.includes(method)) continue
    // Told once: the tag says that the other prefix answers alike.
    if (path.startsWith(`${other_place}/`)) continue
    for (const tag of detail.tags ?? []) tags.add(tag)
    const shown = path.replace(/:(\w+)/g, '{$1}')
    const operation = toOperation({
      method,
      path,
      detail,
      schemas,
      policy: policyOf(words, method, path),
      words,
      examples,
    })
    paths[shown] = { ...paths[shown], [method.toLowerCase()]: operation }
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: `${capital(words.platform)} Data, Account Actions and Live Monitoring API`,
      version: VERSION,
      description:
        'Read, act on and watch a forum platform through your own accounts. Every call needs an API key as a Bearer token unless it says otherwise.',
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
          description: 'An API key: fk_ and 43 characters, or one that was imported.',
        },
      },
      headers: HEADERS,
      schemas: { Error: errorSchema(words) },
    },
  }
  return z.record(z.string(), z.unknown()).parse(inWords(words, document))
}

type Operation = {
  method: string
  path: string
  detail: z.infer<typeof detail_shape>
  schemas: Json
  policy: Policy
  words: Words
  examples: { bodies: ReturnType<typeof exampleBodies>; answers: ReturnType<typeof exampleAnswers> }
}

function toOperation(operation: Operation): Json {
  const { method, path, detail, schemas, policy, words, examples } = operation
  const { hide: _, responses = {}, refusals: own = [], operationId, ...told } = detail
  const session = tellsSession(words, path)
  const parameters = bounded(
    [
      ...toParameters(words, path, schemas),
      ...session.parameters,
      ...(isNamed(policy) ? [NAMING_PARAMETER] : []),
    ],
    HEAD_MAX,
  )
  const body = madeOf(schemas['body'])
  const takes_body = body !== null
  const example = examples.bodies[path]
  const answered = withExample(
    responses['200'] ?? PLAIN_ANSWER,
    examples.answers[`${method} ${path}`],
  )
  const takes_fields = takes_body || parameters.length > 0
  return {
    ...told,
    ...('requestBody' in told
      ? { requestBody: bounded(told['requestBody'], bodyMax(words, path)) }
      : {}),
    description: [told.description, toldPolicy(policy)].filter(Boolean).join(' '),
    operationId: operationId ?? operationIdOf(method, path),
    ...(policy.open ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(takes_body
      ? {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: bounded(jsonSchema(body, 'input'), bodyMax(words, path)),
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
      200: withHeaders(answered, policy),
      ...Object.fromEntries(Object.entries(responses).filter(([status]) => status !== '200')),
    },
  }
}

/** `getApiForumPostsById` for a route that has not named itself. */
const operationIdOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .split(/[/\-_]/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith(':') ? `By${capital(part.slice(1))}` : capital(part)))
    .join('')
const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

const jsonShape = once(() =>
  z.looseObject({ content: z.looseObject({ 'application/json': z.looseObject({}) }) }),
)

/** An answer with what it may look like, unless it shows that already. */
function withExample(answer: unknown, example: unknown): unknown {
  const { success, data } = jsonShape().safeParse(answer)
  if (!success || example === undefined) return answer
  const { content } = data
  return {
    ...data,
    content: { ...content, 'application/json': { example, ...content['application/json'] } },
  }
}

function withHeaders(answer: unknown, policy: Policy): Json {
  const headers = {
    ...ANSWERED,
    ...(policy.limit === 'reads' ? { 'X-Cache': { $ref: '#/components/headers/X-Cache' } } : {}),
    ...(policy.limit === 'reads' || policy.feature !== null
      ? { 'X-Credits-Remaining': { $ref: '#/components/headers/X-Credits-Remaining' } }
      : {}),
    ...(isNamed(policy)
      ? { 'Idempotent-Replayed': { $ref: '#/components/headers/Idempotent-Replayed' } }
      : {}),
  }
  return { ...z.looseObject({}).parse(answer), headers }
}

const PLAIN_ANSWER = {
  description: 'Done.',
  content: { 'application/json': { schema: { type: 'object' } } },
}
