import { parseArgs } from 'node:util'

import { nearest } from '../core/nearest.ts'
import { type Command, type Option, UsageError } from './command.ts'
import { COMMON, usageOf } from './help.ts'

/** A command line, taken apart. */
export type Parsed = {
  values: Readonly<Record<string, string | boolean | undefined>>
  operands: string[]
}

/** Reads what was typed after a command's name. Throws UsageError with what is allowed. */
export function parse(it: Command, args: readonly string[]): Parsed {
  const options: Readonly<Record<string, Option>> = { ...it.options, ...COMMON }
  const { values, positionals } = read(it, args, options)
  if (values['help'] === true) return { values, operands: [] }

  for (const [name, option] of Object.entries(options)) {
    if (option.type === 'boolean') values[name] ??= false
    else if (option.required && values[name] === undefined)
      throw new UsageError(`--${name} ${option.value ?? ''} is needed: ${usageOf(it)}`)
  }
  const operands = it.operands ?? []
  const least = operands.filter((name) => !name.startsWith('[')).length
  if (positionals.length < least)
    throw new UsageError(`${operands[positionals.length]} is needed: ${usageOf(it)}`)
  if (positionals.length > operands.length)
    throw new UsageError(`"${positionals[operands.length]}" is one too many: ${usageOf(it)}`)
  return { values, operands: positionals }
}

function read(it: Command, args: readonly string[], options: Readonly<Record<string, Option>>) {
  const types = Object.entries(options).map(([name, { type }]) => [name, { type }] as const)
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...Object.fromEntries(types), help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
    const given: Record<string, string | boolean | undefined> = values
    return { values: given, positionals }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const [, dashes = '', name = ''] = /'(?:-\w, )?(--?)([^'\s=]+)/.exec(error.message) ?? []
    if (name in options) {
      const { type, value = 'VALUE' } = options[name] ?? { type: 'boolean' }
      throw new UsageError(
        type === 'boolean'
          ? `--${name} takes no value: ${usageOf(it)}`
          : `--${name} needs a value after it: --${name} ${value}`,
      )
    }
    const near = nearest(name, Object.keys(options))
    throw new UsageError(
      `${it.name} has no option ${dashes}${name}${near ? `; did you mean --${near}?` : `: ${usageOf(it)}`}`,
    )
  }
}
