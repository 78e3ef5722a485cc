import { relative, resolve } from 'node:path'

import { parse, TomlError } from 'smol-toml'
import * as z from 'zod'

import { errorCode } from '../core/base/errors.ts'
import { once } from '../core/base/lazy.ts'
import { removedText } from '../core/base/removed.ts'
import { nearest } from '../core/base/text.ts'
import { type ConfigPath, findPositions, type SourcePosition } from './positions.ts'
import {
  isTable,
  type ReferenceSources,
  type RefusedValue,
  type ResolvedConfig,
  resolveReferences,
} from './references.ts'
import { type Config, EMPTY_TABLES, schema, SOURCE_KINDS } from './schema.ts'
import { COOKIE_NAME } from './values.ts'

const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----/
const ALLOWED = 'allowed: the path of a PEM file that the user who runs forumd may read'

/** Refuses each `ca_file` that contains no certificate: it would prevent the start, or add no trusted authority. */
function certificatesRefused(
  value: Readonly<Record<string, unknown>>,
  readFile: ReferenceSources['readFile'],
): RefusedValue[] {
  return ['platform', 'delivery'].flatMap((table) => {
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

/** The keys of each table by dotted name; `''` is the top level, `plans.*` any plan, `source.*` any source. */
export const keysByTable = once(
  (): ReadonlyMap<string, readonly string[]> => new Map(tablesOf(schema, '')),
)

function tablesOf(type: z.core.$ZodType, name: string): [string, string[]][] {
  if (type instanceof z.ZodPrefault) return tablesOf(type.unwrap(), name)
  if (type instanceof z.ZodPipe) return tablesOf(type.in, name)
  if (type instanceof z.ZodRecord) return tablesOf(type.valueType, `${name}.*`)
  if (type instanceof z.ZodArray) return tablesOf(type.element, `${name}.*`)
  if (!(type instanceof z.ZodObject)) return []
  const inner = Object.entries(type.shape).flatMap(([key, value]) =>
    tablesOf(value, name === '' ? key : `${name}.${key}`),
  )
  return [[name, Object.keys(type.shape)], ...inner]
}

/** A hint for an unknown key of a table: its removal, a similar key, another table, or the allowed keys. */
function hintFor(table: ConfigPath, key: string): string {
  const is_one_of_many = (table[0] === 'plans' || table[0] === 'source') && table.length === 2
  const name = is_one_of_many ? `${table[0]}.*` : table.join('.')
  const removed = removedText('config', name === '' ? key : `${name}.${key}`)
  if (removed !== null) return removed
  const tableKeys = keysByTable().get(name) ?? []
  const near = nearest(key, tableKeys)
  if (near !== null) return `did you mean "${near}"?`
  const elsewhere = [...keysByTable()]
    .filter(([, keys]) => keys.includes(key))
    .map(([it]) => `[${it}]`)
  if (elsewhere.length > 0 && elsewhere.length <= 3)
    return `it belongs in ${elsewhere.join(' or ')}`
  return name === ''
    ? `the tables are ${tableKeys.map((it) => `[${it}]`).join(', ')}`
    : `${name === 'source.*' ? '[[source]]' : `[${table.join('.')}]`} takes ${tableKeys.join(', ')}`
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
        add({ path: [...path, key], found: 'unknown key', allowed: hintFor(path, key) })
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
  let node: unknown = value
  for (const part of path)
    node = typeof node === 'object' && node !== null ? Reflect.get(node, part) : undefined
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

function keyOf(path: ConfigPath): string {
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
  const resolved = resolveReferences(parsed, { ...NO_SOURCES, ...sources })
  const result = schema.safeParse({ ...EMPTY_TABLES, ...resolved.value }, { jitless: true })
  const refused = [
    ...refusalsOf(result.error?.issues ?? [], resolved),
    ...contradictionsOf(resolved.value),
    ...missingPlatform(resolved),
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

/** Keys of `[platform]` that need no platform: they apply to the sources too. */
const SHARED_KEYS: readonly string[] = [
  'base_url',
  'media_hosts',
  'user_agent',
  'timeout_s',
  'read_deadline_s',
  'ca_file',
]

/** Checks that there is a platform with both of its keys, or a source in its place. */
function missingPlatform({ value, refused }: ResolvedConfig): RefusedValue[] {
  const { platform = {}, source } = value
  // A value that could not be read was reported; the keys beside it may be right.
  if (!isTable(platform) || refused.some(({ path: [table] }) => table === 'platform')) return []
  const has_source = Array.isArray(source) && source.length > 0
  const needs = (key: string, what: string): RefusedValue[] =>
    platform[key] === undefined
      ? [{ path: ['platform', key], found: MISSING, allowed: `needed: ${what}` }]
      : []
  if (platform['base_url'] !== undefined) return needs('session_cookie', COOKIE_NAME)
  if (!has_source)
    return [
      ...needs(
        'base_url',
        'an address that begins with http:// or https://, or a [[source]] table and no [platform]',
      ),
      ...needs('session_cookie', `${COOKIE_NAME}; not with a [[source]] table alone`),
    ]
  return (keysByTable().get('platform') ?? [])
    .filter((key) => platform[key] !== undefined && !SHARED_KEYS.includes(key))
    .map((key) => ({
      path: ['platform', key],
      found: 'found without platform.base_url',
      allowed: 'set base_url too, or leave this key out: the first source is the default then',
    }))
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
  const sources = Array.isArray(value['source']) ? value['source'].filter(isTable) : []
  const names = new Set<unknown>()
  // Such a client follows the rate headers of its host, which two of them would use up together.
  const paced = new Set([hostOf(section('platform')['base_url'])])
  for (const [index, { name, kind, base_url = '', api_key = '' }] of sources.entries()) {
    const host = hostOf(base_url)
    if (kind === 'reddit' && host !== null && paced.has(host))
      refused.push({
        path: ['source', index, 'base_url'],
        found: `found the host ${host}, which another platform of this kind has`,
        allowed: 'a host of its own',
      })
    if (kind === 'reddit') paced.add(host)
    if (kind === 'reddit' && api_key !== '')
      refused.push({
        path: ['source', index, 'api_key'],
        found: 'found a key',
        allowed: 'no key: a source of this kind is read anonymously',
      })
    if (typeof name === 'string' && names.has(name))
      refused.push({
        path: ['source', index, 'name'],
        found: `found ${JSON.stringify(name)}, which another source has`,
        allowed: 'a name of its own for each source',
      })
    names.add(name)
    if (kind !== 'hackernews' && SOURCE_KINDS.some((it) => it === kind) && base_url === '')
      refused.push({
        path: ['source', index, 'base_url'],
        found: 'missing',
        allowed: `the address of the site is needed for the kind ${JSON.stringify(kind)}`,
      })
  }
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
