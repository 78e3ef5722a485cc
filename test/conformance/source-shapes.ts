// Compares the shapes of a simulated platform's answers with recorded ones, object by object.
import { describe, expect, test } from 'bun:test'

import * as z from 'zod'

import type { SimulatedKind, SourceWorld } from '../../sandbox/sources/source.ts'
import { type SourceSandbox, startSource } from '../../sandbox/sources/start.ts'

type Json = Record<string, unknown>

/** Objects of one kind inside an answer. */
type ShapedObject = { kind: string; value: unknown }

/** One route: the recorded endpoints it covers, and the objects in its answers. */
export type ShapedRoute = {
  /** Tests the endpoint of a recorded answer, such as `GET /posts.json?before=14`. */
  endpoint: RegExp
  objects(body: unknown): ShapedObject[]
}

/** Types by path of one kind, and how often each field was there in its object. */
type KindShape = {
  objects: number
  types: Map<string, Set<string>>
  /** Objects at each path. */
  parents: Map<string, number>
  /** Objects at the parent of each path that have the field. */
  fields: Map<string, number>
}

const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

const isObject = (value: unknown): value is Json => typeOf(value) === 'object'

/** Fields of an object; none for another value. */
export const fieldsOf = (value: unknown): Json => (isObject(value) ? value : {})

/** Elements of a list; none for another value. */
export const rowsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Copy of an object without some fields. */
export const without = (value: unknown, ...names: string[]): Json =>
  Object.fromEntries(Object.entries(fieldsOf(value)).filter(([name]) => !names.includes(name)))

function add(shape: KindShape, value: unknown, path: string): void {
  shape.types.set(path, (shape.types.get(path) ?? new Set()).add(typeOf(value)))
  if (Array.isArray(value)) for (const each of value) add(shape, each, `${path}[]`)
  if (!isObject(value)) return
  shape.parents.set(path, (shape.parents.get(path) ?? 0) + 1)
  for (const [name, inner] of Object.entries(value)) {
    const field = `${path}.${name}`
    shape.fields.set(field, (shape.fields.get(field) ?? 0) + 1)
    add(shape, inner, field)
  }
}

/** Shapes by kind. */
type Shapes = Map<string, KindShape>

/** Adds the objects of one answer. */
function collect(shapes: Shapes, objects: readonly ShapedObject[]): void {
  for (const { kind, value } of objects) {
    const shape = shapes.get(kind) ?? {
      objects: 0,
      types: new Map<string, Set<string>>(),
      parents: new Map<string, number>(),
      fields: new Map<string, number>(),
    }
    shapes.set(kind, shape)
    shape.objects += 1
    add(shape, value, '')
  }
}

const parentOf = (field: string) => field.slice(0, field.lastIndexOf('.'))

/** Fields, and types of fields, that none of the recorded kinds has. */
const strangeTo = (recorded: readonly KindShape[], simulated: KindShape): string[] =>
  [...simulated.types].flatMap(([path, types]) =>
    [...types].flatMap((type) =>
      recorded.some((shape) => shape.types.get(path)?.has(type)) ? [] : [`${path}: ${type}`],
    ),
  )

/** Fields that every recorded object has and some simulated one lacks. */
const lackingIn = (recorded: KindShape, simulated: KindShape): string[] =>
  [...recorded.fields].flatMap(([field, count]) => {
    const parent = parentOf(field)
    const always = count === recorded.parents.get(parent)
    const here = simulated.parents.get(parent) ?? 0
    return always && simulated.fields.get(field) !== here && here > 0 ? [field] : []
  })

const indexLine = z.object({
  file: z.string(),
  endpoint: z.string(),
  api_version: z.string().default(''),
  what: z.string().default(''),
})

/** Recorded answers of a kind of platform, with their endpoints. */
async function recordedAnswers(folder: string) {
  const index = await Bun.file(`${folder}/index.jsonl`).text()
  const lines = index.split('\n').filter((line) => line !== '')
  return Promise.all(
    lines.map(async (line) => {
      const entry = indexLine.parse(JSON.parse(line))
      const body: unknown = JSON.parse(await Bun.file(`${folder}/${entry.file}`).text())
      return { ...entry, body }
    }),
  )
}

type Recorded = Awaited<ReturnType<typeof recordedAnswers>>

/** Shapes of the recorded answers, those of the current versions apart; and the endpoints without a route. */
function shapesOf(answers: Recorded, routes: readonly ShapedRoute[], current: RegExp) {
  const all: Shapes = new Map()
  const recent: Shapes = new Map()
  const unserved = new Set<string>()
  for (const { endpoint, api_version, body } of answers) {
    const route = routes.find((each) => each.endpoint.test(endpoint))
    if (route === undefined) {
      unserved.add(endpoint)
      continue
    }
    collect(all, route.objects(body))
    if (current.test(api_version)) collect(recent, route.objects(body))
  }
  return { all, recent, unserved: [...unserved].toSorted() }
}

/** An answer of the simulated platform; body null: a refusal. */
export type Sampled = { endpoint: string; body: unknown }

type Comparison<World extends SourceWorld> = {
  /** Folder of its recordings. */
  name: string
  kind: SimulatedKind<World>
  routes: readonly ShapedRoute[]
  sample(sandbox: SourceSandbox<World>): Promise<Sampled[]>
  kinds: readonly string[]
  /** Simulated kinds that were not recorded, or not as themselves. */
  further?: readonly string[]
  /** Kinds that are one object in several places: what was recorded of one holds for all. */
  families?: readonly (readonly string[])[]
  /** Fields with their types that are known from elsewhere; each must be needed. */
  unrecorded: readonly (string | RegExp)[]
  /** Fields that may be absent from simulated objects. */
  optional: RegExp
  /** API versions whose recorded fields are required. */
  current?: RegExp
  /** Recorded endpoints that the sandbox does not serve. */
  unserved: RegExp
}

const fits = (known: string | RegExp, field: string): boolean =>
  typeof known === 'string' ? known === field : known.test(field)

const SEEDED = {
  port: 0,
  seed: 5,
  speed: 0,
  world: 'seeded',
  now: () => Date.UTC(2026, 10, 20, 12),
} as const

/** Tests of a simulated platform: its fields were recorded with their types, and the recorded ones are there. */
export async function compareShapes<World extends SourceWorld>(
  plan: Comparison<World>,
): Promise<void> {
  const {
    name: source,
    kind,
    routes,
    kinds,
    further = [],
    families = [],
    unrecorded,
    current = /./,
  } = plan
  const folder = process.env['FORUMD_SOURCES']
  if (folder === undefined)
    console.log(`FORUMD_SOURCES is not set: shapes of ${source} are not compared`)
  const answers = folder === undefined ? [] : await recordedAnswers(`${folder}/${source}`)
  const { all, recent, unserved } = shapesOf(answers, routes, current)
  const simulated: Shapes = new Map()
  const samples: Sampled[] = []
  if (folder !== undefined) {
    await using sandbox = await startSource(kind, SEEDED)
    samples.push(...(await plan.sample(sandbox)))
  }
  for (const { endpoint, body } of samples)
    collect(simulated, routes.find((route) => route.endpoint.test(endpoint))?.objects(body) ?? [])
  const ofKind = (shapes: Shapes, name: string) => shapes.get(name) ?? expect.unreachable(name)
  const strange = (name: string) => {
    const family = families.find((each) => each.includes(name)) ?? [name]
    const real = family.flatMap((each) => all.get(each) ?? [])
    return strangeTo(real, ofKind(simulated, name))
  }

  describe.skipIf(folder === undefined)(`${source} against recorded answers`, () => {
    test('every sampled route answers', () => {
      expect(samples.filter(({ body }) => body === null)).toEqual([])
    })

    test('every kind was recorded and is simulated', () => {
      const recorded = [...all.keys()].filter((name) => !further.includes(name))
      expect(recorded.toSorted()).toEqual(kinds.toSorted())
      expect([...simulated.keys()].toSorted()).toEqual([...kinds, ...further].toSorted())
    })

    test('every exception is needed', () => {
      const seen = kinds.flatMap(strange)
      expect(unrecorded.filter((known) => !seen.some((field) => fits(known, field)))).toEqual([])
    })

    test('recorded endpoints without a route are left out on purpose', () => {
      expect(unserved.filter((endpoint) => !plan.unserved.test(endpoint))).toEqual([])
    })

    test.each(kinds)('no %s has a field, or a type of one, that was never recorded', (name) => {
      expect(strange(name).filter((field) => !unrecorded.some((it) => fits(it, field)))).toEqual([])
    })

    test.each(kinds)('a %s has every field that all current ones have', (name) => {
      const real = recent.get(name)
      const lacking = real === undefined ? [] : lackingIn(real, ofKind(simulated, name))
      expect(lacking.filter((field) => !plan.optional.test(field))).toEqual([])
    })
  })
}
