/** Writes the generated parts of docs/: the configuration page, and the samples of docs/webhooks.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { configPage } from './docs/config-page.ts'
import { withSamples } from './docs/samples.ts'

const root = join(import.meta.dir, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

writeFileSync(join(root, 'docs/config.md'), configPage(read('config.example.toml')))
writeFileSync(join(root, 'docs/webhooks.md'), withSamples(read('docs/webhooks.md'), read))
