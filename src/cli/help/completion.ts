import { type Command, command, EXIT, type Option, UsageError } from '../command.ts'
import { COMMON } from './help.ts'

// Each script contains the words: running the program at every key press would be slow, and a script that does not run it
// cannot be tricked into running another program.

type Script = (words: CompletionWords) => string

const dashed = (names: readonly { name: string }[]): string =>
  names.map(({ name }) => `--${name}`).join(' ')

/** Branches of a shell's `case`, one per command. */
const cases = (
  { commands }: CompletionWords,
  body: (it: CompletionWords['commands'][number]) => string,
): string => commands.map((it) => `    '${it.name}') ${body(it)} ;;`).join('\n')

const of = (it: CompletionWords['commands'][number], takes: 'file' | 'value'): string =>
  it.options
    .filter((option) => option.takes === takes)
    .map(({ name }) => `--${name}`)
    .join(' ')

const bash: Script = (
  words,
) => `# bash completion for forumd, printed by \`forumd completion bash\`.
# To install it for one user: forumd completion bash > ~/.local/share/bash-completion/completions/forumd
_forumd() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at=1
  [[ \${COMP_WORDS[1]} == help && $COMP_CWORD -gt 1 ]] && at=2
  local command=\${COMP_WORDS[at]} options='' files='' values='' operand=''
  COMPREPLY=()
  if ((COMP_CWORD == at)); then
    COMPREPLY=($(compgen -W '${words.first.join(' ')}' -- "$cur"))
    return
  fi
  local verbs=''
  case $command in
${[...words.groups].map(([group, verbs]) => `    ${group}) verbs='${[...verbs.keys()].join(' ')}' ;;`).join('\n')}
  esac
  if [[ -n $verbs ]]; then
    if ((COMP_CWORD == at + 1)); then
      COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
      return
    fi
    command+=" \${COMP_WORDS[at+1]}"
  fi
  ((at == 2)) && return
  case $command in
${cases(words, (it) => `options='${dashed(it.options)}'; files='${of(it, 'file')}'; values='${of(it, 'value')}'; operand='${it.file ? 'file' : ''}'`)}
  esac
  if [[ " $files " == *" $prev "* ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  elif [[ " $values " == *" $prev "* ]]; then
    return
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $operand ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -F _forumd forumd
`

/** A word with its description, for zsh's _describe. */
const withDescription = (word: string, meaning: string): string =>
  `'${`${word.replace(/:/g, '\\:')}:${meaning}`.replace(/'/g, `'\\''`)}'`

const zsh: Script = (words) => `#compdef forumd
# zsh completion for forumd, printed by \`forumd completion zsh\`.
# To install it for one user: forumd completion zsh > ~/.zfunc/_forumd, with fpath+=(~/.zfunc) before compinit.
_forumd() {
  local at=2 cur=\${words[CURRENT]} prev=\${words[CURRENT-1]}
  [[ \${words[2]} == help && $CURRENT -gt 2 ]] && at=3
  local command=\${words[at]} files='' values='' operand=''
  local -a candidates
  if ((CURRENT == at)); then
    candidates=(${firsts(words)})
    _describe -t commands command candidates
    return
  fi
  case $command in
${[...words.groups].map(([group, verbs]) => `    ${group}) candidates=(${[...verbs].map(([verb, summary]) => withDescription(verb, summary)).join(' ')}) ;;`).join('\n')}
  esac
  if (($#candidates)); then
    if ((CURRENT == at + 1)); then
      _describe -t commands command candidates
      return
    fi
    command+=" \${words[at+1]}"
  fi
  ((at == 3)) && return
  candidates=()
  case $command in
${cases(words, (it) => `candidates=(${it.options.map(({ name, help }) => withDescription(`--${name}`, help)).join(' ')}); files='${of(it, 'file')}'; values='${of(it, 'value')}'; operand='${it.file ? 'file' : ''}'`)}
  esac
  if [[ " $files " == *" $prev "* ]]; then
    _files
  elif [[ " $values " == *" $prev "* ]]; then
    _message value
  elif [[ $cur == -* ]]; then
    _describe -t options option candidates
  elif [[ -n $operand ]]; then
    _files
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _forumd "$@"; else (($+functions[compdef])) && compdef _forumd forumd; fi
`

const firsts = ({ first, groups, commands }: CompletionWords): string =>
  first
    .map((word) => {
      const verbs = groups.get(word)
      const summary = commands.find(({ name }) => name === word)?.summary ?? 'shows help'
      return withDescription(word, verbs ? [...verbs.keys()].join(', ') : summary)
    })
    .join(' ')

const quoted = (text: string): string => `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`

const fish: Script = ({ first, groups, commands }) => {
  const lines = [
    '# fish completion for forumd, printed by `forumd completion fish`.',
    '# To install it for one user: forumd completion fish > ~/.config/fish/completions/forumd.fish',
    'complete -c forumd -f',
    ...first.map((word) => {
      const summary = commands.find(({ name }) => name === word)?.summary
      const verbs = groups.get(word)
      const meaning = summary ?? (verbs ? [...verbs.keys()].join(', ') : 'shows help')
      return `complete -c forumd -n __fish_use_subcommand -a ${word} -d ${quoted(meaning)}`
    }),
  ]
  for (const [group, verbs] of groups) {
    const none = `not __fish_seen_subcommand_from ${[...verbs.keys()].join(' ')}`
    for (const [verb, summary] of verbs)
      lines.push(
        `complete -c forumd -n '__fish_seen_subcommand_from ${group}; and ${none}' -a ${verb} -d ${quoted(summary)}`,
      )
  }
  for (const { name, options, file } of commands) {
    const seen = name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ')
    for (const option of options) {
      const takes = { nothing: '', file: ' -r -F', value: ' -x' }[option.takes]
      lines.push(
        `complete -c forumd -n '${seen}' -l ${option.name}${takes} -d ${quoted(option.help)}`,
      )
    }
    if (file) lines.push(`complete -c forumd -n '${seen}' -F`)
  }
  return `${lines.join('\n')}\n`
}

export const SCRIPTS: Readonly<Record<string, Script>> = { bash, zsh, fish }

export type CompletionWords = {
  /** The first words: commands, groups of commands and `help`. */
  first: string[]
  /** Second words of each group, with their summaries. */
  groups: Map<string, Map<string, string>>
  commands: {
    name: string
    summary: string
    options: { name: string; help: string; takes: 'nothing' | 'file' | 'value' }[]
    /** True when an operand is a file. */
    file: boolean
  }[]
}

const isFile = (value: string | undefined): boolean => value === 'FILE' || value === 'PATH'

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

const SHELLS = Object.keys(SCRIPTS)

export const completion = command({
  name: 'completion',
  summary: 'prints a shell completion script',
  operands: ['SHELL'],
  options: {},
  examples: [
    'forumd completion bash > ~/.local/share/bash-completion/completions/forumd',
    'forumd completion zsh > ~/.zfunc/_forumd',
    'forumd completion fish > ~/.config/fish/completions/forumd.fish',
  ],
  notes: `SHELL is one of ${SHELLS.join(', ')}. The Debian package installs the scripts.`,
  async run({ operands: [shell = ''], stdout, listCommands }) {
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
    if (script === undefined)
      throw new UsageError(
        `there is no completion for "${shell}": allowed are ${SHELLS.join(', ')}`,
      )
    stdout.write(script(completionWords(await listCommands())))
    return EXIT.done
  },
})
