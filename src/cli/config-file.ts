import { existsSync, readFileSync } from 'node:fs'

import { parseConfig, warningsOf } from '../config.ts'
import type { Config } from '../config/schema.ts'
import { errorCode } from '../core/error-code.ts'
import { type Surroundings, UsageError } from './command.ts'

const HERE = './forumd.toml'
const PLACES = [HERE, '/etc/forumd/forumd.toml']

/** Where the configuration is: what was named, else the first of the usual places that holds one. */
function findConfigFile(named: string | undefined): { file: string; text: string } | null {
  for (const file of named === undefined ? PLACES : [named])
    try {
      return { file: file.replace(/^\.\//, ''), text: readFileSync(file, 'utf8') }
    } catch (error) {
      // Whoever may not look into the folder, as by sudo -u from root's own, means nothing that lies there.
      const is_absent = isAbsent(error) || (file === HERE && !existsSync(file))
      if (named === undefined && is_absent) continue
      throw new UsageError(`the configuration ${file} cannot be read (${reasonOf(error)})`)
    }
  return null
}

/** Reads and checks the configuration. Throws ConfigError with every problem, UsageError when there is no file. */
export function readConfig(
  named: string | undefined,
  { env }: Pick<Surroundings, 'env'>,
): { file: string; config: Config; warnings: string[] } {
  const found = findConfigFile(named)
  if (found === null)
    throw new UsageError(
      `there is no configuration: neither ${PLACES.join(' nor ')} is here. Write one (config.example.toml shows every key), or name it with --config FILE.`,
    )
  const config = parseConfig(found.text, {
    file: found.file,
    env,
    readFile: (path) => readFileSync(path, 'utf8'),
    credentials_dir: env['CREDENTIALS_DIRECTORY'] ?? null,
  })
  return { file: found.file, config, warnings: warningsOf(config) }
}

const isAbsent = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(errorCode(error))

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not: run it as root or as the daemon does, such as by sudo -u forumd',
  EISDIR: 'it is a folder',
}
const reasonOf = (error: unknown) =>
  isAbsent(error)
    ? 'it is not there'
    : (REASONS[errorCode(error)] ?? (errorCode(error) || String(error)))
