import { expect, test } from 'bun:test'
/**
 * The HTTP interface, the commands and the exit codes, compared with `interface.txt`: an unintended change of them is a diff.
 * FORUMD_UPDATE_GOLDEN=1 writes it again. Configuration keys, events and metrics are compared with their pages of docs/.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'

import { METRICS } from '../../src/api/metrics/catalogue.ts'
import { EXIT } from '../../src/cli/command.ts'
import { loadAll } from '../../src/cli/run.ts'
import { parseConfig } from '../../src/config/load.ts'
import { createOpenApiDocument } from '../../src/daemon.ts'
import { toolsOf } from '../../src/mcp/tools.ts'

const digest = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)

const documentWith = (wire: string) =>
  createOpenApiDocument(
    parseConfig(
      `[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://www.forum.example"\nsession_cookie = "s"\n${wire}`,
    ),
  )

/** One line per operation, schema and command, so that a difference names its place. */
async function interfaceLines(): Promise<string[]> {
  const whole = await documentWith('')
  const { paths, components, ...rest } = whole as {
    paths: Record<string, Record<string, unknown>>
    components: Record<string, Record<string, unknown>>
  }
  const reddit = await documentWith('[wire]\nplatform = "reddit"\ncommunity = "subreddit"\n')
  const { tools } = toolsOf(whole)
  return [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, it]) => `${method.toUpperCase()} ${path} ${digest(it)}`,
      ),
    ),
    ...Object.entries(components).flatMap(([kind, named]) =>
      Object.entries(named).map(([name, it]) => `${kind} ${name} ${digest(it)}`),
    ),
    `document ${digest([rest, Object.keys(paths)])}`,
    `document with the words of Reddit ${digest(reddit)}`,
    `tools ${digest(tools.map((it) => [it.name, it.inputSchema, it.outputSchema]))}`,
    `metrics ${digest(METRICS)}`,
    ...(await loadAll()).map(({ name, options }) =>
      ['forumd', name, ...Object.keys(options).map((option) => `--${option}`)].join(' '),
    ),
    ...Object.entries(EXIT).map(([name, code]) => `exit ${name} ${code}`),
  ]
}

test('the interface is unchanged', async () => {
  const golden = Bun.file(join(import.meta.dir, 'interface.txt'))
  const found = `${(await interfaceLines()).join('\n')}\n`
  if (process.env['FORUMD_UPDATE_GOLDEN'] === '1') await Bun.write(golden, found)

  expect(found).toBe(await golden.text())
})
