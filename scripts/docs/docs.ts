/**
 * Writes the generated parts of docs/: the configuration page, the fields of docs/filters.md, the samples of docs/webhooks.md,
 * and the capabilities of docs/sources.md.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { filterTable } from '../../src/core/filter/fields.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { drawn, withCapabilities } from './capabilities.ts'
import { configPage } from './config-page.ts'
import { withSamples } from './samples.ts'

const root = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

writeFileSync(join(root, 'docs/config.md'), configPage(read('config.example.toml')))
writeFileSync(join(root, 'docs/webhooks.md'), withSamples(read('docs/webhooks.md'), read))
writeFileSync(join(root, 'docs/sources.md'), withCapabilities(read('docs/sources.md')))
writeFileSync(
  join(root, 'docs/filters.md'),
  read('docs/filters.md').replace(
    /(<!-- fields: written by scripts\/docs\.ts -->\n\n)(?:\|.*\n)+/,
    (_, head: string) =>
      head +
      drawn([
        ['Field', 'Value', 'Meaning'],
        ...filterTable(createNaming({ platform: 'forum', community: 'subforum' })),
      ]),
  ),
)
