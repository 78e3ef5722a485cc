// Everything that is expected has to be there; what an answer holds beyond it is not looked at.

const INSTANTS = new Set(['created', 'edited', 'added'])
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/
const LONGEST = 120

/** Where an answer is not what was expected, as lines that name the field. */
export function differences(expected: unknown, actual: unknown, at = ''): string[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [line(at, expected, actual)]
    const length =
      expected.length === actual.length
        ? []
        : [line(`${at}.length`, expected.length, actual.length)]
    return [
      ...length,
      ...expected.flatMap((it, index) =>
        index < actual.length ? differences(it, actual[index], `${at}[${index}]`) : [],
      ),
    ]
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return [line(at, expected, actual)]
    return Object.entries(expected).flatMap(([field, value]) =>
      differences(value, actual[field], at === '' ? field : `${at}.${field}`),
    )
  }
  return same(expected, actual, /\w+$/.exec(at)?.[0] ?? '') ? [] : [line(at, expected, actual)]
}

function same(expected: unknown, actual: unknown, field: string): boolean {
  if (typeof expected !== 'string' || typeof actual !== 'string') return expected === actual
  if (INSTANTS.has(field)) return ISO.test(actual) && Date.parse(actual) === Date.parse(expected)
  if (field === 'url' || field.endsWith('_url')) return bare(expected) === bare(actual)
  return expected === actual
}

/** As {@link differences}, for what has to come through untouched, down to the order of its fields. */
export const changes = (expected: unknown, actual: unknown, at: string): string[] =>
  JSON.stringify(expected) === JSON.stringify(actual)
    ? []
    : [...differences(expected, actual, at), `${at} was changed`]

const bare = (address: string): string => address.replace(/\/$/, '')

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const line = (at: string, expected: unknown, actual: unknown): string =>
  `${at}: ${brief(actual)} instead of ${brief(expected)}`

const brief = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, LONGEST)
