// Compares the shapes of a simulated platform's answers with recorded ones, object by object.
import * as z from 'zod'

type Json = Record<string, unknown>

/** Objects of one kind inside an answer. */
export type ShapedObject = { kind: string; value: unknown }

/** One route: the recorded endpoints it covers, and the objects in its answers. */
export type ShapedRoute = {
  /** Tests the endpoint of a recorded answer, such as `GET /posts.json?before=14`. */
  endpoint: RegExp
  objects(body: unknown): ShapedObject[]
}

/** Types by path of one kind, and how often each field was there in its object. */
export type KindShape = {
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
export type Shapes = Map<string, KindShape>

/** Adds the objects of one answer. */
export function collect(shapes: Shapes, objects: readonly ShapedObject[]): void {
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
export const strangeTo = (recorded: readonly KindShape[], simulated: KindShape): string[] =>
  [...simulated.types].flatMap(([path, types]) =>
    [...types].flatMap((type) =>
      recorded.some((shape) => shape.types.get(path)?.has(type)) ? [] : [`${path}: ${type}`],
    ),
  )

/** Fields that every recorded object has and some simulated one lacks. */
export const lackingIn = (recorded: KindShape, simulated: KindShape): string[] =>
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
export async function recordedAnswers(folder: string) {
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
export function shapesOf(answers: Recorded, routes: readonly ShapedRoute[], current: RegExp) {
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
