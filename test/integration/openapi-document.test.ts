import { expect, test } from 'bun:test'

import formats from 'ajv-formats'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import * as z from 'zod'

import { exampleBodies } from '../../src/api/openapi/examples.ts'
import { parseConfig } from '../../src/config/load.ts'
import { CODES } from '../../src/core/base/errors.ts'
import { once } from '../../src/core/base/lazy.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { createOpenApiDocument } from '../../src/daemon.ts'
import { withoutReferences } from '../../src/mcp/tools.ts'
import { pathsShape } from '../support/openapi-paths.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

// The document by itself, by rules that need no tool; `bun run document` checks it with Redocly,
// Spectral and OWASP, and each answer of the integration tests against it, through Prism.

const operation_shape = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  tags: z.array(z.string()).length(1),
  security: z.array(z.unknown()).optional(),
  parameters: z
    .array(z.looseObject({ name: z.string(), description: z.string().default('') }))
    .default([]),
  requestBody: z
    .object({
      content: z.object({
        'application/json': z.object({
          schema: z.record(z.string(), z.json()),
          example: z.unknown().optional(),
        }),
      }),
    })
    .optional(),
  responses: z.record(
    z.string(),
    z.looseObject({
      description: z.string(),
      content: z
        .record(
          z.string(),
          z.looseObject({ schema: z.looseObject({}), example: z.unknown().optional() }),
        )
        .default({}),
    }),
  ),
})
const document_shape = z.object({
  info: z.object({ title: z.string() }),
  tags: z.array(z.object({ name: z.string(), description: z.string().min(20) })),
  paths: pathsShape(operation_shape),
  components: z.object({
    schemas: z.object({
      Error: z.object({
        properties: z.looseObject({ code: z.object({ enum: z.array(z.string()) }) }),
      }),
    }),
  }),
})

const PLATFORM =
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://www.example.org"\nsession_cookie = "session"\n'

async function documentFor(toml: string) {
  const it = await createOpenApiDocument(parseConfig(PLATFORM + toml))
  return { ...document_shape.parse(withoutReferences(it)), text: JSON.stringify(it) }
}
const of_defaults = once(() => documentFor(''))

/** The document of a configuration, and its text. */
const documentOf = (toml = '') => (toml === '' ? of_defaults() : documentFor(toml))

/** Every part of a document with a type, and its JSON pointer. */
function* schemasIn(node: unknown, pointer: string): Generator<[string, Record<string, unknown>]> {
  if (typeof node !== 'object' || node === null) return
  const { success, data } = z.looseObject({ type: z.string() }).safeParse(node)
  if (success) yield [pointer, data]
  for (const [name, part] of Object.entries(node))
    if (!['example', 'examples', 'enum'].includes(name))
      yield* schemasIn(part, `${pointer}/${name}`)
}

test('every operation has a unique name, a described tag, and its required key', async () => {
  const { paths, tags } = await documentOf()
  const operations = Object.values(paths).flatMap((it) => Object.values(it))
  const names = operations.map(({ operationId }) => operationId)

  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  expect(new Set(operations.flatMap((it) => it.tags))).toEqual(
    new Set(tags.map(({ name }) => name)),
  )
  const silent = operations.filter(
    ({ security, description }) =>
      security === undefined && !/^.*Takes (any|a) key/.test(description),
  )
  expect(silent.map(({ operationId }) => operationId)).toEqual([])
})

test('every operation says what it does and when to use it', async () => {
  const { paths } = await documentOf()
  const operations = Object.values(paths).flatMap((it) => Object.values(it))
  // A sentence of what it does, then one of when to use it, before the conditions of the call.
  const silent = operations.filter(
    ({ description }) => !/^[A-Z][^.]{10,}\. Use it .{10,}\. /.test(description),
  )

  expect(operations.length).toBeGreaterThan(70)
  expect(silent.map(({ operationId }) => operationId)).toEqual([])
})

/** The fields in a schema, each with its path and description. */
function* fieldsIn(
  node: unknown,
  path: string,
): Generator<{ path: string; description: string | undefined }> {
  if (typeof node !== 'object' || node === null) return
  for (const [name, part] of Object.entries(node)) {
    if (['example', 'examples', 'enum', 'const', 'default'].includes(name)) continue
    if (name === 'properties')
      for (const [field, { description, ...schema }] of Object.entries(
        z.record(z.string(), z.looseObject({ description: z.string().optional() })).parse(part),
      )) {
        yield { path: `${path}.${field}`, description }
        yield* fieldsIn(schema, `${path}.${field}`)
      }
    else yield* fieldsIn(part, path)
  }
}

test.each(['', '[wire]\nplatform = "agora"\ncommunity = "room"\n'])(
  'every field of a request and of an error has a description, under the words %j',
  async (toml) => {
    const { text } = await documentOf(toml)
    const { paths, components } = z
      .object({
        paths: pathsShape(z.looseObject({})),
        components: z.object({ schemas: z.object({ Error: z.looseObject({}) }) }),
      })
      .parse(withoutReferences(JSON.parse(text)))
    const fields = [
      ...Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).flatMap(([method, it]) => [
          ...fieldsIn(it['requestBody'], `${method} ${path}`),
        ]),
      ),
      ...fieldsIn(components.schemas.Error, 'Error'),
    ]
    const silent = fields.filter(({ description = '' }) => description.length < 4)

    expect(fields.length).toBeGreaterThan(200)
    expect(silent).toEqual([])
  },
)

test('every 200 has a name, and one name means one schema', async () => {
  const { paths } = await documentOf()
  const answers = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.values(responses['200']?.content ?? {}).map(({ schema }) => ({
        operation: `${method} ${path}`,
        title: z.string().default('').parse(schema['title']),
        schema: JSON.stringify(schema),
      })),
    ),
  )
  const unnamed = answers.filter(({ title }) => !/^[A-Z][A-Za-z0-9]+$/.test(title))
  const ambiguous = answers.filter((it) =>
    answers.some(({ title, schema }) => title === it.title && schema !== it.schema),
  )

  expect(answers.length).toBeGreaterThan(70)
  expect(unnamed).toEqual([])
  expect(ambiguous.map(({ operation, title }) => `${operation}: ${title}`)).toEqual([])
})

test('every input has a maximum size', async () => {
  const { paths } = await documentOf()
  const boundless: string[] = []
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { parameters, ...operation }] of Object.entries(methods))
      for (const [pointer, it] of schemasIn(
        [parameters, operation.requestBody],
        `${method} ${path}`,
      )) {
        const fields = {
          string: ['maxLength', 'enum', 'const', 'pattern', 'format'],
          array: ['maxItems'],
          integer: ['maximum', 'exclusiveMaximum'],
        }[String(it['type'])]
        if (fields && !fields.some((field) => field in it)) boundless.push(pointer)
      }

  expect(boundless).toEqual([])
})

test('every request body has an example, which is valid', async () => {
  const { paths } = await documentOf()
  const bodies = Object.entries(paths).flatMap(([path, { post }]) =>
    post?.requestBody === undefined
      ? []
      : [{ path, ...post.requestBody.content['application/json'] }],
  )
  const wrong = bodies.flatMap(({ path, schema, example }) => {
    const [first] = z.array(z.unknown()).parse(schema['examples'] ?? [])
    const { error } = z.fromJSONSchema(schema).safeParse(example ?? first)
    return error ? [`${path}: ${z.prettifyError(error)}`] : []
  })

  expect(bodies.length).toBeGreaterThan(20)
  expect(wrong).toEqual([])
})

test('every parameter has a description', async () => {
  const { paths } = await documentOf()
  const parameters = Object.entries(paths).flatMap(([path, it]) =>
    Object.values(it).flatMap((operation) =>
      operation.parameters.map(({ name, description }) => ({ path, name, description })),
    ),
  )

  expect(parameters.length).toBeGreaterThan(200)
  expect(parameters.filter(({ description }) => !/^.{10,}\.$/.test(description))).toEqual([])
})

test('every JSON answer has an example, which is valid', async () => {
  const { paths, text } = await documentOf()
  const checker = new Ajv2020({ strict: false })
  // CommonJS: the function is the module's own default.
  formats.default(checker)
  const { components } = z.looseObject({ components: z.looseObject({}) }).parse(JSON.parse(text))
  const checks = new Map<string, ValidateFunction>()
  const checkOf = (schema: object) => {
    const key = JSON.stringify(schema)
    const check = checks.get(key) ?? checker.compile({ ...schema, components })
    checks.set(key, check)
    return check
  }
  const answers = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, { content }]) => {
        const json_content = content['application/json']
        return json_content === undefined
          ? []
          : [{ name: `${method} ${path} ${status}`, ...json_content }]
      }),
    ),
  )
  const wrong = answers.flatMap(({ name, example, schema }) => {
    const example_value = example ?? z.array(z.unknown()).parse(schema['examples'] ?? [])[0]
    if (example_value === undefined) return [`${name}: nothing is shown`]
    const check = checkOf(schema)
    return check(example_value) ? [] : [`${name}: ${checker.errorsText(check.errors)}`]
  })

  expect(answers.length).toBeGreaterThan(400)
  expect(wrong).toEqual([])
})

/** The texts in a value, each with the name of its field. */
function* textsIn(node: unknown, field = ''): Generator<[string, string]> {
  if (typeof node === 'string') yield [field, node]
  if (typeof node !== 'object' || node === null) return
  for (const [name, part] of Object.entries(node))
    yield* textsIn(part, Array.isArray(node) ? field : name)
}

test('no example shows the name of a field in place of a value', async () => {
  const { paths } = await documentOf()
  const operations = Object.values(paths).flatMap((it) => Object.values(it))
  const texts = operations.flatMap(({ operationId, responses }) =>
    [...textsIn(responses['200']?.content['application/json']?.example)].map(
      ([field, text]): [string, string, string] => [operationId, field, text],
    ),
  )

  expect(texts.length).toBeGreaterThan(800)
  expect(texts.filter(([, field, text]) => field === text)).toEqual([])
})

test('examples belong to existing routes', async () => {
  const { paths } = await documentOf()
  const words = createNaming({ platform: 'forum', community: 'subforum' })
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const examples = Object.keys(exampleBodies(words)).map((path) => `POST ${path}`)

  expect(examples.filter((route) => !operations.includes(route))).toEqual([])
})

test('every code of an answer is documented', async () => {
  const { components } = await documentOf()

  expect(components.schemas.Error.properties.code.enum).toEqual(Object.keys(CODES))
})

test('under other words the document uses only those', async () => {
  const { info, text, components } = await documentOf(
    '[wire]\nplatform = "agora"\ncommunity = "room"\n',
  )

  expect(info.title).toStartWith('Agora Data')
  expect(components.schemas.Error.properties.code.enum).toContain('room_not_found')
  expect(text).not.toMatch(/subforum/i)
  // The kind of platform, addresses in examples, and the name of the source.
  expect(
    text.replaceAll(/a forum platform|\bforum\.example|"default":"forum"|Default: forum/g, ''),
  ).not.toMatch(/forum/i)
})

test('monitoring is documented and answers at both of its places', async () => {
  await using daemon = await startTestDaemon()
  const { paths, tags } = await documentOf()
  const described = Object.keys(paths).filter((path) => path.startsWith('/forum/monitor/'))

  expect(described).toContain('/forum/monitor/feed/{token}')
  // A second path with the same operation would repeat its operationId.
  expect(Object.keys(paths).filter((path) => path.startsWith('/api/forum/monitor/'))).toEqual([])
  expect(tags.find(({ name }) => name === 'Monitoring')?.description).toContain('under `/api`')
  for (const place of ['/forum/monitor', '/api/forum/monitor'])
    expect((await daemon.call(`${place}/list`)).status).toBe(200)
})

test("the reference has the title of the document, in the wire's words", async () => {
  await using daemon = await startTestDaemon({
    change: ({ wire }) => {
      wire.platform = 'agora'
    },
  })
  const page = await (await fetch(`${daemon.url()}/docs`)).text()

  expect(page).toContain('<title>Agora Data, Account Actions and Live Monitoring API</title>')
})
