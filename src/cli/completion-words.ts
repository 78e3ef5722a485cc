import type { Command, Option } from './command.ts'
import { COMMON } from './help.ts'

/** What there is to complete, as the table of commands has it. */
export type CompletionWords = {
  /** The first words: commands, groups of commands and `help`. */
  first: string[]
  /** What may stand after a first word that is a group, with what each does. */
  groups: Map<string, Map<string, string>>
  commands: {
    name: string
    summary: string
    options: { name: string; help: string; takes: 'nothing' | 'file' | 'value' }[]
    /** Whether a file may stand without an option. */
    file: boolean
  }[]
}

const isFile = (value: string | undefined): boolean => value === 'FILE' || value === 'PATH'

/** Sorts the table for those who complete it. */
export function completionWords(table: readonly Command[]): CompletionWords {
  const groups = new Map<string, Map<string, string>>()
  for (const { name, summary } of table) {
    const [first = '', second] = name.split(' ')
    if (second === undefined) continue
    const verbs = groups.get(first) ?? new Map<string, string>()
    groups.set(first, verbs.set(second, summary))
  }
  const first = [...new Set([...table.map(({ name }) => name.split(' ')[0] ?? name), 'help'])]
  return {
    first,
    groups,
    commands: table.map(({ name, summary, options, operands = [] }) => ({
      name,
      summary,
      options: Object.entries<Option>({ ...options, ...COMMON }).map(
        ([option, { type, value, help }]) => ({
          name: option,
          help,
          takes: type === 'boolean' ? 'nothing' : isFile(value) ? 'file' : 'value',
        }),
      ),
      file: operands.some((it) => isFile(it.replace(/[[\]]/g, ''))),
    })),
  }
}
