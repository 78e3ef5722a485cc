import { closeSync, existsSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'

import { withSources } from '../config/added-sources.ts'
import { parseConfig } from '../config/load.ts'
import { type Config, homeOf } from '../config/schema.ts'
import { errorCode } from '../core/base/errors.ts'
import type { Ring } from '../core/base/secrets.ts'
import { type PathWalk, walkPath, writersOf } from '../runtime/path-control.ts'
import type { Random } from '../runtime/runtime.ts'
import type { Db } from '../store/db/connection.ts'
import { pathsOf } from '../store/maintenance/paths.ts'
import type { PlatformTools } from './account/platform-tools.ts'
import {
  type CommandContext,
  CommandRefusal,
  type OpenConfig,
  type ReadConfig,
  UsageError,
} from './command.ts'
import { becomeOwner, describeControl, isForeign, userOf } from './folder-owner.ts'

type ConfigContext = Pick<CommandContext, 'configuration' | 'env' | 'warn'>

const HERE = 'forumd.toml'
const SYSTEM_FILE = '/etc/forumd/forumd.toml'

export class NoConfiguration extends UsageError {}

/**
 * Reads and checks the configuration.
 * @throws {ConfigError} With every problem.
 * @throws {UsageError} The file cannot be read or is not safe to use.
 * @throws {NoConfiguration} No usable configuration was found.
 */
export function readConfig(context: ConfigContext): ReadConfig {
  const { configuration: state } = context
  return (state.found ??= parse(findFile(context), context.env))
}

/**
 * Reads the configuration and, if the caller is root, changes to the user that owns the data folder: files that only the
 * caller may read must be opened before. With `create`, creates the folder.
 */
export function openConfig(context: ConfigContext, { create } = { create: true }): OpenConfig {
  const { configuration: state } = context
  if (state.opened !== undefined) return state.opened
  const found = readConfig(context)
  const storage = storageOf(found.config, state.caller)
  becomeOwner(found.config.storage.dir, { create })
  return (state.opened = { ...found, storage })
}

/** Reloads the file of {@link openConfig}. */
export function rereadConfig({ configuration, env }: ConfigContext): ReadConfig {
  const { named, caller, found } = configuration
  return parse(readSafely(found?.file ?? SYSTEM_FILE, caller, { here: named === undefined }), env)
}

type Found = { file: string; text: string }

function parse({ file, text }: Found, env: CommandContext['env']): ReadConfig {
  const config = parseConfig(text, {
    file,
    env,
    readFile: (path) => readFileSync(path, 'utf8'),
    credentials_dir: env['CREDENTIALS_DIRECTORY'] ?? null,
  })
  // Beside the configuration, so that it survives a loss of the data folder.
  config.storage.instance_file ||= resolve(file).replace(/(\.toml)?$/, '.instance')
  return { file, text, config, warnings: warningsOf(config) }
}

/** Reads the named file, else the first file found at the default paths. */
function findFile({ configuration: { named, caller }, warn }: ConfigContext): Found {
  if (named !== undefined) return readSafely(named.replace(/^\.\//, ''), caller)
  const here = walk(HERE)
  // A file in a folder that the caller may not read, such as another user's home, is not meant.
  const is_absent = here === null || here.end === null
  const objection = is_absent ? null : objectionHere(here, caller)
  if (!is_absent && objection === null) return readSafely(HERE, caller, { here: true })
  if (objection !== null)
    warn(
      // Root is refused this file with --config as well.
      `forumd: ${resolve(HERE)} is not used: ${objection}${caller === 0 ? '' : `. Use it by --config ${HERE}`}`,
    )
  const system = walk(SYSTEM_FILE)
  if (system !== null && system.end === null)
    throw new NoConfiguration(
      `there is no configuration: neither ./${HERE} nor ${SYSTEM_FILE} ${is_absent ? 'exists' : 'is usable'}. Write one with forumd init, or name it with --config FILE (forumd config example prints every key).`,
    )
  return readSafely(SYSTEM_FILE, caller)
}

/** True when the caller is root and no other user controls the file that a path refers to. */
export function onlyRootLeads(path: string): boolean {
  if (process.getuid?.() !== 0) return false
  const found = walk(path)
  return found !== null && found.controllers.every((it) => it.path === found.end?.path)
}

/** Resolves a path; null when this user may not. */
function walk(path: string): PathWalk | null {
  try {
    return walkPath(path)
  } catch {
    return null
  }
}

/** The reason why a user other than root and the caller controls a file; null when there is no such user. */
function objectionTo({ controllers }: PathWalk, caller: number): string | null {
  const other = controllers.find((it) => isForeign(it, caller))
  return other === undefined ? null : describeControl(other)
}

/** Objection to a default file: it must belong to the caller, in a folder that no other user can write. */
function objectionHere(found: PathWalk, caller: number): string | null {
  const { end } = found
  if (end === null) return null
  const objection = objectionTo(found, caller)
  if (objection !== null) return objection
  if (end.stat.uid !== caller) return `it belongs to ${userOf(end.stat.uid).name}`
  const writer = [process.cwd(), dirname(end.path)]
    .flatMap((dir) => writersOf(dir, statSync(dir)))
    .find((it) => isForeign(it, caller))
  return writer === undefined ? null : describeControl(writer)
}

/** Reads a configuration. A default file, and any file for root, must be safe from other users. */
function readSafely(file: string, caller: number, { here } = { here: false }): Found {
  const found = here || caller === 0 ? walk(file) : null
  const objection = found && (here ? objectionHere(found, caller) : objectionTo(found, caller))
  if (objection !== null)
    throw new UsageError(
      `the configuration ${file} is refused: ${objection}, and it would be applied as ${userOf(caller).name}. Remove write access of other users to it and to the folders on its path (chown, chmod go-w), or run forumd as its owner: sudo -u USER forumd …`,
    )
  try {
    return { file, text: readSame(file, found) }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`the configuration ${file} cannot be read (${reasonOf(error)})`)
  }
}

/** The text of the same file that was checked. A pipe has no path: it was inherited from the caller. */
function readSame(file: string, found: PathWalk | null): string {
  const handle = openSync(file, 'r')
  try {
    const stat = fstatSync(handle)
    const is_same = found?.end?.stat.dev === stat.dev && found.end.stat.ino === stat.ino
    if (found !== null && stat.isFile() && !is_same)
      throw new UsageError(`the configuration ${file} was replaced while it was read: try again`)
    return readFileSync(handle, 'utf8')
  } finally {
    closeSync(handle)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EACCES:
    'permission denied: run it as root or as the user of the daemon, such as with sudo -u forumd',
  EISDIR: 'it is a folder',
}
const reasonOf = (error: unknown) =>
  REASONS[errorCode(error)] ?? (errorCode(error) || String(error))

/** The data folder with the key, if the key is elsewhere and only root can change it. */
function storageOf({ storage }: Config, caller: number): OpenConfig['storage'] {
  const { dir, key_file, instance_file } = storage
  const { key } = pathsOf(storage)
  const from = relative(resolve(dir), resolve(key))
  const is_inside = !from.startsWith('..') && !isAbsolute(from)
  const found = caller !== 0 || is_inside ? null : walk(key)
  if (found === null || found.end?.stat.isFile() !== true || found.controllers.length > 0)
    return { dir, key_file, instance_file, key_bytes: null }
  return { dir, key_file: key, instance_file, key_bytes: readFileSync(key) }
}

/** Dependencies of commands that use the database. `config` has the sources that were added in the dashboard too. */
export type OpenInstance = {
  db: Db
  ring: Ring
  instance_id: string
  config: Config
  now: number
  random: Random
}

/** Opens the data folder, also beside a running daemon, runs `work` and closes the folder. */
export async function withInstance<T>(
  context: CommandContext,
  work: (opened: OpenInstance) => T,
): Promise<T> {
  const { config, storage } = openConfig(context)
  const { openInstance } = await import('../store/maintenance/instance.ts')
  const { listStoredSources } = await import('../store/accounts/sources.ts')
  const { clock, random } = await context.factories.createRuntime(config.log, context.stdout)
  const instance = openInstance({ ...storage, clock, random }, { mode: 'beside' })
  try {
    const { db, ring, instance_id } = instance
    const all = withSources(config, listStoredSources(db)).config
    return work({ db, ring, instance_id, config: all, now: clock.now(), random })
  } finally {
    instance.close()
  }
}

/** The configuration with the sources that operators added in the dashboard, if there is a database. */
export async function configWithSources(context: CommandContext): Promise<Config> {
  const { config, storage } = openConfig(context, { create: false })
  if (!existsSync(pathsOf(storage).db)) return config
  return withInstance(context, (opened) => opened.config)
}

/**
 * Runs `work` with access to the sources from this process, also beside a running daemon. `for_accounts`: it uses the
 * source to which accounts and proxies belong. `all`: the configuration, if not that of the file.
 * @throws {CommandRefusal} There is no such source.
 */
export async function withPlatformTools<T>(
  context: CommandContext,
  work: (tools: PlatformTools, config: Config, now: number) => Promise<T>,
  { for_accounts = true, all }: { for_accounts?: boolean; all?: Config } = {},
): Promise<T> {
  const config = all ?? openConfig(context).config
  if (for_accounts && homeOf(config) === null)
    throw new CommandRefusal(
      'the configuration has no source of the kind reddit: accounts and proxies belong to it, and other sources are read without them. To test the sources: forumd source test',
    )
  const { factories } = context
  const runtime = await factories.createRuntime(config.log, context.stdout)
  // Output of a command is for a person or a script; it writes no log.
  await using tools = await factories.openPlatformTools(config, { ...runtime, log: () => {} })
  return await work(tools, config, runtime.clock.now())
}

/** @throws {CommandRefusal} if none runs */
export function localDaemon(context: CommandContext): { config: Config; url: string } {
  const { config } = openConfig(context, { create: false })
  try {
    const url = readFileSync(join(config.storage.dir, 'forumd.address'), 'utf8').trim()
    return { config, url }
  } catch {
    throw new CommandRefusal(
      `no daemon runs on ${config.storage.dir}: start it with forumd serve, or name another with --url`,
    )
  }
}

/** Warnings about valid but probably unintended settings, logged at start. */
export function warningsOf({ server, guard, delivery, requests, plans, smtp }: Config): string[] {
  const warnings: string[] = []
  // forumd serves no TLS itself.
  if (server.public_url.startsWith('https:') && server.trusted_proxies.length === 0)
    warnings.push(
      'server.trusted_proxies is empty although public_url begins with https://: all callers count as one address, that of the proxy. Name its addresses, such as ["127.0.0.1"]',
    )
  const delays = delivery.retry_delays_s.length
  if (delays !== 6)
    warnings.push(
      `delivery.retry_delays_s has ${delays} entries; the documented retry schedule has six attempts`,
    )
  if (guard.allow_http && guard.allow_targets.length === 0)
    warnings.push('guard.allow_http has no effect while guard.allow_targets is empty')
  if (requests.read_deadline_s < requests.timeout_s)
    warnings.push('requests.read_deadline_s is shorter than requests.timeout_s of a single request')
  if (smtp.url === '' && smtp.from !== '')
    warnings.push('smtp.from has no effect while smtp.url is empty')
  for (const [name, { slots, sitewide_slots }] of Object.entries(plans))
    if (sitewide_slots > slots)
      warnings.push(`plans.${name}.sitewide_slots is above slots, which bounds it`)
  return warnings
}
