import { command, EXIT, UsageError } from './command.ts'
import { loadAll } from './commands.ts'
import { SCRIPTS } from './completion-scripts.ts'
import { completionWords } from './completion-words.ts'

const SHELLS = Object.keys(SCRIPTS)

export const completion = command({
  name: 'completion',
  summary: 'prints what a shell needs to complete commands and options',
  operands: ['SHELL'],
  options: {},
  examples: [
    'forumd completion bash > ~/.local/share/bash-completion/completions/forumd',
    'forumd completion zsh > ~/.zfunc/_forumd',
    'forumd completion fish > ~/.config/fish/completions/forumd.fish',
  ],
  notes: `SHELL is one of ${SHELLS.join(', ')}. The Debian package has them in place.`,
  async run({ operands: [shell = ''], stdout }) {
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
    if (script === undefined)
      throw new UsageError(
        `there is no completion for "${shell}": allowed are ${SHELLS.join(', ')}`,
      )
    stdout.write(script(completionWords(await loadAll())))
    return EXIT.done
  },
})
