import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { $ } from 'bun'
import openapiTS, { astToString } from 'openapi-typescript'
import * as z from 'zod'

import { parseConfig } from '../../src/config/load.ts'
import { createOpenApiDocument } from '../../src/daemon.ts'

// Writes the types of examples/client, from the OpenAPI document of the default configuration. `--check` writes
// nothing and fails if they are stale.

const ROOT = new URL('../..', import.meta.url).pathname
const TYPES = `${ROOT}examples/client/schema.d.ts`

// The document does not depend on the platform's address, the only key without a default.
const ANY_PLATFORM =
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://www.forum.example"\nsession_cookie = "session"\n'

const HEAD = '// Made by `bun scripts/docs/client.ts` from the OpenAPI document; do not edit.\n\n'

/** The generated types of the client. */
async function clientTypes(): Promise<string> {
  const openApiSchema = z.record(z.string(), z.json())
  const document = openApiSchema.parse(await createOpenApiDocument(parseConfig(ANY_PLATFORM)))
  return formatted(
    HEAD + astToString(await openapiTS(JSON.stringify(document), { defaultNonNullable: false })),
  )
}

/** TypeScript text formatted in the project's style. */
async function formatted(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'forumd-client-'))
  try {
    const path = join(folder, 'schema.d.ts')
    await Bun.write(path, text)
    await $`${process.execPath} fmt ${path}`.cwd(ROOT).quiet()
    return await Bun.file(path).text()
  } finally {
    await rm(folder, { recursive: true })
  }
}

const types = await clientTypes()
if (!process.argv.includes('--check')) await Bun.write(TYPES, types)
else if ((await Bun.file(TYPES).text()) !== types) {
  console.error('examples/client/schema.d.ts is stale: run bun scripts/docs/client.ts')
  process.exitCode = 1
}
