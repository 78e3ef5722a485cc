import { relative, resolve } from 'node:path'

import { parse, stringify, TomlError } from 'smol-toml'
import * as z from 'zod'

import { errorCode } from '../core/base/errors.ts'
import { once } from '../core/base/lazy.ts'
import { removedText } from '../core/base/removed.ts'
import { nearest } from '../core/base/text.ts'
import { COOKIE_NAME } from '../core/config/values.ts'
import { KINDS } from '../platforms/kinds.ts'
import { type ConfigPath, findPositions, type SourcePosition } from './positions.ts'
import {
  isTable,
  type ReferenceSources,
  type RefusedValue,
  type ResolvedConfig,
  resolveReferences,
} from './references.ts'
import { type Config, EMPTY_TABLES, schema } from './schema.ts'

const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----/
const ALLOWED = 'allowed: the path of a PEM file that the user who runs forumd may read'

/** Refuses each `ca_file` that contains no certificate: it would prevent the start, or add no trusted authority. */
function certificatesRefused(
  value: Readonly<Record<string, unknown>>,
  readFile: ReferenceSources['readFile'],
): RefusedValue[] {
  return ['requests', 'delivery'].flatMap((table) => {
    const section = value[table]
    const path = isTable(section) ? section['ca_file'] : undefined
    if (typeof path !== 'string' || path === '') return []
    const fault = faultOf(path, readFile)
    const found = `found ${JSON.stringify(path)}, ${fault}`
    return fault === null ? [] : [{ path: [table, 'ca_file'], found, allowed: ALLOWED }]
  })
}

function faultOf(path: string, readFile: ReferenceSources['readFile']): string | null {
  try {
    return CERTIFICATE.test(readFile(path)) ? null : 'which contains no certificate'
  } catch (error) {
    return `which cannot be read (${errorCode(error) || String(error)})`
  }
}

/** The keys of each table by dotted name; `''` is the top level, `plans.*` any plan, `source.*` a source of any kind. */
export const keysByTable = once((): ReadonlyMap<string, readonly string[]> => {
  const tables = new Map<string, string[]>()
  for (const [name, keys] of tablesOf(schema, ''))
    tables.set(name, [...new Set([...(tables.get(name) ?? []), ...keys])])
  return tables
})

function tablesOf(type: z.core.$ZodType, name: string): [string, string[]][] {
  if (type instanceof z.ZodPrefault) return tablesOf(type.unwrap(), name)
  if (type instanceof z.ZodPipe) return tablesOf(type.in, name)
  if (type instanceof z.ZodRecord) return tablesOf(type.valueType, `${name}.*`)
  if (type instanceof z.ZodArray) return tablesOf(type.element, `${name}.*`)
  if (type instanceof z.ZodUnion) return type.options.flatMap((it) => tablesOf(it, name))
  if (!(type instanceof z.ZodObject)) return []
  const inner = Object.entries(type.shape).flatMap(([key, value]) =>
    tablesOf(value, name === '' ? key : `${name}.${key}`),
  )
  return [[name, Object.keys(type.shape)], ...inner]
}

/** Dotted name of a table, with `*` for one of many. */
const nameOf = (table: ConfigPath): string =>
  table
    .map((part, at) => (at === 1 && ['plans', 'source'].includes(String(table[0])) ? '*' : part))
    .join('.')

const written = (name: string): string =>
  name.replace(/^source\.\*$/, '[[source]]').replace(/^source\.\*\.(.*)$/, '[source.$1]')

const asTable = (name: string): string => (name.startsWith('source.') ? written(name) : `[${name}]`)

/** A hint for an unknown key of a table: its removal, a similar key, another table, or the allowed keys. */
function hintFor(table: ConfigPath, key: string, allowed: readonly string[]): string {
  const name = nameOf(table)
  const removed = removedText('config', name === '' ? key : `${name}.${key}`)
  if (removed !== null) return removed
  const near = nearest(key, allowed)
  if (near !== null) return `did you mean "${near}"?`
  if (name === 'source.*' && keysByTable().get(name)?.includes(key))
    return `a source of this kind takes ${allowed.join(', ')}`
  const elsewhere = [...keysByTable()]
    .filter(([, keys]) => keys.includes(key))
    .map(([it]) => asTable(it))
  if (elsewhere.length > 0 && elsewhere.length <= 3)
    return `it belongs in ${elsewhere.join(' or ')}`
  return name === ''
    ? `the tables are ${allowed.map((it) => `[${it}]`).join(', ')}`
    : `${asTable(name)} takes ${allowed.join(', ')}`
}

/** The keys that a table may have; of a source, those of its kind. */
function keysAllowed(table: ConfigPath, value: unknown): readonly string[] {
  const name = nameOf(table)
  const keys = keysByTable().get(name) ?? []
  if (name !== 'source.*') return keys
  const kind = KINDS.find((it) => it.kind === valueAt([...table, 'kind'], value))
  const foreign = KINDS.flatMap((it) => Object.keys(it.keys))
  return keys.filter((it) => kind === undefined || it in kind.keys || !foreign.includes(it))
}

function valueAt(path: ConfigPath, value: unknown): unknown {
  let node = value
  for (const part of path)
    node = typeof node === 'object' && node !== null ? Reflect.get(node, part) : undefined
  return node
}

export type ConfigProblem = SourcePosition & {
  /** Dotted, such as `server.port` or `guard.allow_targets[2]`; empty for the file as a whole. */
  key: string
  found: string
  allowed: string
}

const MISSING = 'missing'

// These may contain a password or a token, so messages never repeat their values.
const SECRETS = new Set([
  'smtp.url',
  'operator.webhook',
  'operator.secret',
  'metrics.token',
  'source.api_key',
  'standby.replica',
  'relevance.key',
])

export function refusalsOf(
  issues: readonly z.core.$ZodIssue[],
  resolved: ResolvedConfig,
): RefusedValue[] {
  const seen = new Set(resolved.refused.map(({ path }) => JSON.stringify(path)))
  const refusals = [...resolved.refused]
  const add = (refused: RefusedValue) => {
    const name = JSON.stringify(refused.path)
    if (seen.has(name)) return
    seen.add(name)
    refusals.push(refused)
  }
  for (const issue of issues) {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys)
        add({
          path: [...path, key],
          found: 'unknown key',
          allowed: hintFor(path, key, keysAllowed(path, resolved.value)),
        })
    else if (issue.code === 'invalid_key')
      add({
        path,
        found: 'found this name',
        allowed: `allowed: ${issue.issues[0]?.message ?? issue.message}`,
      })
    else {
      const found = foundAt(path, resolved)
      add({ path, found, allowed: `${found === MISSING ? 'needed' : 'allowed'}: ${issue.message}` })
    }
  }
  return refusals
}

function foundAt(path: ConfigPath, { value, originOf }: ResolvedConfig): string {
  const origin = originOf(path)
  if (origin !== null) return `found the value of ${JSON.stringify(origin)}`
  const node = valueAt(path, value)
  if (node === undefined) return MISSING
  const key = path.filter((part) => typeof part === 'string').join('.')
  if (SECRETS.has(key) && typeof node === 'string') return 'found this text'
  return `found ${describeValue(node)}`
}

const VALUE_TEXT_MAX = 60

function describeValue(value: unknown): string {
  if (typeof value === 'string') {
    const cut = value.length > VALUE_TEXT_MAX ? `${value.slice(0, VALUE_TEXT_MAX)}…` : value
    return JSON.stringify(cut.replace(/:\/\/[^/]*@/, '://…@'))
  }
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (value instanceof Date) return 'a date'
  return typeof value === 'object' && value !== null ? 'a table' : String(value)
}

export function toProblem(
  refused: RefusedValue,
  positionOf: (path: ConfigPath) => SourcePosition | null,
): ConfigProblem {
  let position: SourcePosition | null = null
  for (let length = refused.path.length; position === null && length > 0; length--)
    position = positionOf(refused.path.slice(0, length))
  const { line, column } = position ?? { line: 1, column: 1 }
  return { line, column, key: keyOf(refused.path), found: refused.found, allowed: refused.allowed }
}

export function keyOf(path: ConfigPath): string {
  let key = ''
  for (const part of path) {
    if (typeof part === 'number') key += `[${part}]`
    else key += (key && '.') + (/^[\w-]{1,100}$/.test(part) ? part : describeValue(part))
  }
  return key
}

export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly file: string
  readonly problems: readonly ConfigProblem[]

  constructor(file: string, problems: readonly ConfigProblem[]) {
    super(problems.map((problem) => sentenceOf(file, problem)).join('\n'))
    this.file = file
    this.problems = problems
  }
}

const sentenceOf = (file: string, { line, column, key, found, allowed }: ConfigProblem) =>
  `${file}:${line}:${column}: ${key && `${key}: `}${found}; ${allowed}`

/**
 * Parses TOML.
 * @param allowed The part of the error message that states what is allowed.
 * @throws {ConfigError} the text is not valid TOML
 */
export function parseToml(text: string, file: string, allowed: string) {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const { line, column } = error
    // The first line is the reason; the other lines quote the file, including secrets.
    const found = (error.message.split('\n')[0] ?? '').replace('Invalid TOML document: ', '')
    throw new ConfigError(file, [{ line, column, key: '', found, allowed }])
  }
}

const NO_SOURCES: ReferenceSources = {
  env: {},
  readFile: () => {
    throw new Error('file references are disabled here')
  },
  credentials_dir: null,
}

/**
 * Parses and validates a configuration.
 * @throws {ConfigError} the configuration is invalid; the message has one line
 *   `file:line:column: key: found; allowed` for each problem
 */
export function parseConfig(
  text: string,
  { file = 'forumd.toml', ...sources }: Partial<ReferenceSources> & { file?: string } = {},
): Config {
  const parsed = parseToml(text, file, 'the file must be TOML before its keys can be read')
  const { platform, pool, ...kept } = parsed
  const resolved = resolveReferences(kept, { ...NO_SOURCES, ...sources })
  const result = schema.safeParse({ ...EMPTY_TABLES, ...resolved.value }, { jitless: true })
  const refused = [
    ...refusalsOf(result.error?.issues ?? [], resolved),
    ...contradictionsOf(resolved.value),
    ...(platform === undefined && pool === undefined
      ? missingSource(resolved)
      : oldTables(platform, pool)),
    // Checked only if the caller can read files.
    ...(sources.readFile ? certificatesRefused(resolved.value, sources.readFile) : []),
  ]
  if (result.success && refused.length === 0) return result.data

  const positionOf = findPositions(text)
  const problems = refused.map((it) => toProblem(it, positionOf))
  throw new ConfigError(
    file,
    problems.toSorted((a, b) => a.line - b.line || a.column - b.column),
  )
}

const hostOf = (value: unknown): string | null =>
  typeof value === 'string' ? (URL.parse(value)?.host ?? null) : null

const isInside = (path: string, folder: string) =>
  !relative(resolve(folder), resolve(path)).startsWith('..')

/** Checks that there is a source. */
function missingSource({ value: { source }, refused }: ResolvedConfig): RefusedValue[] {
  // A value that could not be read was reported.
  if (refused.some(({ path: [table] }) => table === 'source')) return []
  if (source !== undefined && (!Array.isArray(source) || source.length > 0)) return []
  return [
    {
      path: ['source'],
      found: MISSING,
      allowed: 'needed: a [[source]] table with name and kind; forumd init writes one',
    },
  ]
}

/** Where the keys of the old table `[platform]` are now; the others are those of a source of the kind reddit. */
const MOVED: Readonly<Record<string, string>> = {
  user_agent: 'requests',
  timeout_s: 'requests',
  read_deadline_s: 'requests',
  ca_file: 'requests',
  media_hosts: 'delivery',
}

/** Refuses the tables `[platform]` and `[pool]`, with the text that takes their place. */
function oldTables(platform: unknown, pool: unknown): RefusedValue[] {
  const old = isTable(platform) ? Object.entries(platform) : []
  const textOf = (name: string, heading: string, table: object) => {
    const keys = old.filter(([key]) => (MOVED[key] ?? 'source') === name)
    if (keys.length === 0) return []
    return [`${heading}\n${stringify({ ...table, ...Object.fromEntries(keys) })}`]
  }
  const accounts = isTable(pool) ? `[source.accounts]\n${stringify(pool)}` : []
  const text = [
    ...textOf('requests', '[requests]', {}),
    ...textOf('delivery', '[delivery]', {}),
    ...textOf('source', '[[source]]', { name: 'forum', kind: 'reddit' }),
    ...[accounts].flat(),
  ].join('\n')
  const name = platform === undefined ? 'pool' : 'platform'
  const also = platform === undefined || pool === undefined ? '' : ' and [pool]'
  return [
    {
      path: [name],
      found: 'unknown key',
      allowed: `${removedText('config', name)}; in place of [${name}]${also}:\n\n${text}`,
    },
  ]
}

/** Finds keys that contradict each other. Uses the unvalidated text, as other keys may be invalid. */
export function contradictionsOf(value: Readonly<Record<string, unknown>>): RefusedValue[] {
  const refused: RefusedValue[] = []
  const section = (name: string) => {
    const it = value[name]
    return isTable(it) ? it : {}
  }
  const isSet = (table: string, key: string) => (section(table)[key] ?? '') !== ''

  const plans = value['plans'] === undefined ? ['entry'] : Object.keys(section('plans'))
  const chosen = section('billing')['default_plan'] ?? 'entry'
  if (typeof chosen === 'string' && !plans.includes(chosen))
    refused.push({
      path: ['billing', 'default_plan'],
      found: `found ${JSON.stringify(chosen)}, but there is no such plan`,
      allowed: `add [plans.${chosen}]${plans.length > 0 ? `, or name one of ${plans.join(', ')}` : ''}`,
    })
  const { dir = './data', instance_file: record = '' } = section('storage')
  if (
    typeof dir === 'string' &&
    typeof record === 'string' &&
    record !== '' &&
    isInside(record, dir)
  )
    refused.push({
      path: ['storage', 'instance_file'],
      found: `found ${JSON.stringify(record)}, which lies in storage.dir`,
      allowed:
        'a file outside of storage.dir, so that it exists even if the volume of dir is not mounted',
    })
  refused.push(...sourcesRefused(value['source']))
  if (isSet('smtp', 'url') && !isSet('smtp', 'from'))
    refused.push({
      path: ['smtp', 'from'],
      found: 'missing',
      allowed: 'the sender address is needed when smtp.url is set',
    })
  for (const [key, other] of [
    ['model', 'base_url'],
    ['base_url', 'model'],
  ] as const)
    if (isSet('relevance', other) && !isSet('relevance', key))
      refused.push({
        path: ['relevance', key],
        found: 'missing',
        allowed: `needed when relevance.${other} is set`,
      })
  if (isSet('operator', 'secret') && !isSet('operator', 'webhook'))
    refused.push({
      path: ['operator', 'webhook'],
      found: 'missing',
      allowed: 'the webhook URL is needed when operator.secret is set',
    })
  return refused
}

const hasList = (value: unknown): boolean => Array.isArray(value) && value.length > 0

function sourcesRefused(value: unknown): RefusedValue[] {
  const sources = Array.isArray(value) ? value.filter(isTable) : []
  const names = new Set<unknown>()
  // Such a client follows the rate headers of its host, which two of them would use up together.
  const paced = new Set<string | null>()
  return sources.flatMap((source, index) => {
    const { name, kind: of, base_url = '', session_cookie = '' } = source
    const kind = KINDS.find((it) => it.kind === of)
    const host = hostOf(base_url)
    const is_platform = kind?.kind === 'reddit'
    const is_first = is_platform && paced.size === 0
    const refuse = (key: string, found: string, allowed: string) => [
      { path: ['source', index, key], found, allowed },
    ]
    const refused = [
      ...(is_platform && host !== null && paced.has(host)
        ? refuse(
            'base_url',
            `found the host ${host}, which another source of this kind has`,
            'a host of its own',
          )
        : []),
      ...(typeof name === 'string' && names.has(name)
        ? refuse(
            'name',
            `found ${JSON.stringify(name)}, which another source has`,
            'a name of its own for each source',
          )
        : []),
      ...(kind !== undefined &&
      kind.address !== null &&
      base_url === '' &&
      !hasList(source['feeds'])
        ? refuse(
            'base_url',
            MISSING,
            `the address of the site is needed for the kind ${JSON.stringify(of)}`,
          )
        : []),
      ...(is_first && session_cookie === ''
        ? refuse(
            'session_cookie',
            MISSING,
            `needed for the first source of this kind: ${COOKIE_NAME}`,
          )
        : []),
    ]
    if (is_platform) paced.add(host)
    names.add(name)
    return refused
  })
}
