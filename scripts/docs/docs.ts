/**
 * Writes the generated parts of docs/: the configuration page, the samples of docs/webhooks.md, and the capabilities of
 * docs/sources.md.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { withCapabilities } from './capabilities.ts'
import { configPage } from './config-page.ts'
import { withSamples } from './samples.ts'

const root = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

writeFileSync(join(root, 'docs/config.md'), configPage(read('config.example.toml')))
writeFileSync(join(root, 'docs/webhooks.md'), withSamples(read('docs/webhooks.md'), read))
writeFileSync(join(root, 'docs/sources.md'), withCapabilities(read('docs/sources.md')))
