// All expected fields must be present; additional fields of an answer are ignored.

const INSTANTS = new Set(['created', 'edited', 'added'])
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/
const LONGEST = 120

/** Differences between an answer and the expected one, as lines that name the field. */
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

/** Like {@link differences}, for content that must be unchanged, including the order of fields. */
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
