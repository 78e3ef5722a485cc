import type { CompletionWords } from './completion-words.ts'

// Each script holds the words themselves: asking the program at every press of a key would be slow, and a script that
// does not run it cannot be made to run something else.

type Script = (words: CompletionWords) => string

const dashed = (names: readonly { name: string }[]): string =>
  names.map(({ name }) => `--${name}`).join(' ')

/** The cases of a shell's `case`, one for each command. */
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
) => `# bash completion for forumd, as \`forumd completion bash\` printed it.
# For yourself: forumd completion bash > ~/.local/share/bash-completion/completions/forumd
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

/** A word with what it means, for zsh's _describe. */
const told = (word: string, meaning: string): string =>
  `'${`${word.replace(/:/g, '\\:')}:${meaning}`.replace(/'/g, `'\\''`)}'`

const zsh: Script = (words) => `#compdef forumd
# zsh completion for forumd, as \`forumd completion zsh\` printed it.
# For yourself: forumd completion zsh > ~/.zfunc/_forumd, with fpath+=(~/.zfunc) before compinit.
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
${[...words.groups].map(([group, verbs]) => `    ${group}) candidates=(${[...verbs].map(([verb, summary]) => told(verb, summary)).join(' ')}) ;;`).join('\n')}
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
${cases(words, (it) => `candidates=(${it.options.map(({ name, help }) => told(`--${name}`, help)).join(' ')}); files='${of(it, 'file')}'; values='${of(it, 'value')}'; operand='${it.file ? 'file' : ''}'`)}
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
      return told(word, verbs ? [...verbs.keys()].join(', ') : summary)
    })
    .join(' ')

const quoted = (text: string): string => `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`

const fish: Script = ({ first, groups, commands }) => {
  const lines = [
    '# fish completion for forumd, as `forumd completion fish` printed it.',
    '# For yourself: forumd completion fish > ~/.config/fish/completions/forumd.fish',
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

/** What each shell reads to complete our commands. */
export const SCRIPTS: Readonly<Record<string, Script>> = { bash, zsh, fish }
