import { version } from '../../package.json'
import { command, EXIT } from './command.ts'
import { loadAll } from './commands.ts'
import { manPage } from './man-page.ts'

export const man = command({
  name: 'man',
  summary: 'prints the manual page, for man to show',
  options: {},
  examples: ['forumd man | man -l -', 'forumd man > /usr/local/share/man/man1/forumd.1'],
  async run({ stdout }) {
    stdout.write(manPage(await loadAll(), version))
    return EXIT.done
  },
})
