import { randomUUID } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'

import { ConfigError, type ConfigProblem, keyOf } from '../config/load.ts'
import { type ConfigPath, findPositions } from '../config/positions.ts'
import { type Config, homeOf } from '../config/schema.ts'
import { errorCode } from '../core/base/errors.ts'

/**
 * Reserved top-level names: a configuration with one of them was copied and not filled in.
 * @see https://www.rfc-editor.org/rfc/rfc2606#section-2
 */
const PLACEHOLDER = /(^|\.)(example|invalid)$/

/** Index of the source with accounts if its address is that of config.example.toml, or has a reserved name; -1: it is not. */
function placeholderAt(config: Config): number {
  const home = homeOf(config)
  return PLACEHOLDER.test(URL.parse(home?.base_url ?? '')?.hostname ?? '')
    ? config.source.findIndex((it) => it === home)
    : -1
}

export const isPlaceholder = (config: Config): boolean => placeholderAt(config) !== -1

/**
 * The system's error code when this user cannot write into a folder or create it; null when it can. It
 * writes a file and removes it: permissions alone do not show a read-only mount, a full disk or a foreign mount to root.
 */
export function folderRefusal(dir: string): string | null {
  const name = `.forumd-${randomUUID()}`
  try {
    if (existsSync(dir)) {
      const probe = join(dir, name)
      writeFileSync(probe, '', { mode: 0o600, flag: 'wx' })
      rmSync(probe)
    } else {
      const probe = join(nearestFolder(dir), name)
      mkdirSync(probe, { mode: 0o700 })
      rmdirSync(probe)
    }
    return null
  } catch (error) {
    return errorCode(error) || 'unknown'
  }
}

function nearestFolder(path: string): string {
  const parent = dirname(resolve(path))
  return existsSync(parent) || parent === path ? parent : nearestFolder(parent)
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write to it',
  EPERM: 'this user may not write to it',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'the disk has no room or no inodes left',
  EDQUOT: 'the quota of this user is used up',
  ENOTDIR: 'a part of the path is a file',
}

/** @throws {ConfigError} With every problem, at the position of its key. */
export function checkSetup(config: Config, { file, text }: { file: string; text: string }): void {
  const positionOf = findPositions(text)
  const problems: ConfigProblem[] = []
  const add = (path: ConfigPath, found: string, allowed: string) =>
    problems.push({
      ...(positionOf(path) ?? { line: 1, column: 1 }),
      key: keyOf(path),
      found,
      allowed,
    })
  const placeholder = placeholderAt(config)
  if (placeholder !== -1)
    add(
      ['source', placeholder, 'base_url'],
      `found ${JSON.stringify(config.source[placeholder]?.base_url)}, the placeholder of the example`,
      'needed: the address of your site',
    )
  const { dir } = config.storage
  const is_folder = !existsSync(dir) || statSync(dir).isDirectory()
  const dangles = !existsSync(dir) && isLink(dir)
  const refusal = is_folder && !dangles ? folderRefusal(dir) : 'ENOTDIR'
  if (refusal !== null)
    add(
      ['storage', 'dir'],
      `found ${JSON.stringify(dir)}: ${dangles ? 'it is a link without a target' : (REASONS[refusal] ?? refusal)}`,
      'needed: a folder that the daemon can write to or create',
    )
  if (problems.length > 0) throw new ConfigError(file, problems)
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}
