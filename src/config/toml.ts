import { parse, TomlError } from 'smol-toml'

import type { Problem } from './problems.ts'

/** A configuration, or a file of monitors, that cannot be used: every problem of it, in the order of the file. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly file: string
  readonly problems: readonly Problem[]

  constructor(file: string, problems: readonly Problem[]) {
    super(problems.map((problem) => sentenceOf(file, problem)).join('\n'))
    this.file = file
    this.problems = problems
  }
}

const sentenceOf = (file: string, { line, column, key, found, allowed }: Problem) =>
  `${file}:${line}:${column}: ${key && `${key}: `}${found}; ${allowed}`

/** What a text of TOML says. Throws {@link ConfigError}, with what is `allowed`, where it is none. */
export function parseToml(text: string, file: string, allowed: string) {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const { line, column } = error
    // The first line is the reason; what follows repeats the file, secrets and all.
    const found = (error.message.split('\n')[0] ?? '').replace('Invalid TOML document: ', '')
    throw new ConfigError(file, [{ line, column, key: '', found, allowed }])
  }
}
