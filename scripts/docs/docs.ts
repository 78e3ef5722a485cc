/**
 * Writes the generated parts of docs/: the configuration page, the fields of docs/filters.md, the samples of docs/webhooks.md,
 * and the capabilities of docs/sources.md.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { filterTable } from '../../src/core/filter/fields.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { kindForms } from '../../src/delivery/kinds.ts'
import { drawn, withCapabilities } from './capabilities.ts'
import { configPage } from './config-page.ts'
import { withSamples } from './samples.ts'

const root = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

writeFileSync(join(root, 'docs/config.md'), configPage(read('config.example.toml')))
/** A page with the table below `marker`, which names it. */
const withTable = (page: string, marker: string, rows: string[][]): string =>
  page.replace(
    new RegExp(`(<!-- ${marker}: written by scripts/docs\\.ts -->\\n\\n)(?:\\|.*\\n)+`),
    (_, head: string) => head + drawn(rows),
  )

writeFileSync(
  join(root, 'docs/webhooks.md'),
  withTable(withSamples(read('docs/webhooks.md'), read), 'kinds', [
    ['Target', '`kind`', 'URL of the webhook', '`token`'],
    ...kindForms().map(({ label, name, address, credential }) => [
      label,
      `\`${name}\``,
      address,
      credential === null
        ? ''
        : `${credential.label}${credential.with_username ? ', with `username`' : ''}`,
    ]),
  ]),
)
writeFileSync(join(root, 'docs/sources.md'), withCapabilities(read('docs/sources.md')))
writeFileSync(
  join(root, 'docs/filters.md'),
  withTable(read('docs/filters.md'), 'fields', [
    ['Field', 'Value', 'Meaning'],
    ...filterTable(createNaming({ platform: 'forum', community: 'subforum' })),
  ]),
)
