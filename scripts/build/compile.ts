import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { schemaFingerprint } from '../../src/store/startup/schema.ts'
import { embedPage } from './page.ts'

const SOURCES = join(import.meta.dir, '../../src')

/** Target machine of an executable, with a Bun executable for it. */
export type Runtime = { target: Bun.Build.CompileTarget; executable: string }

/**
 * Builds one executable that contains everything and runs from an empty folder, for this Bun or for `runtime`.
 * Returns the paths of its source files.
 *
 * @throws {Error} with the bundler's messages
 */
export async function compile(outfile: string, runtime?: Runtime): Promise<string[]> {
  const inputs: string[] = []
  const page = await embedPage((files) => inputs.push(...files))
  const { success, logs, outputs, metafile } = await Bun.build({
    // The threads are started by their paths within the executable (src/runtime/thread-path.ts).
    entrypoints: [
      'main.ts',
      'patterns/worker.ts',
      'archive/worker.ts',
      'standby/deadline-worker.ts',
      'runtime/watchdog-worker.ts',
    ].map((it) => join(SOURCES, it)),
    root: SOURCES,
    compile: {
      outfile,
      ...(runtime && { target: runtime.target, executablePath: runtime.executable }),
      // The executable reads the config file it is given, and no other file in its working folder.
      autoloadDotenv: false,
      autoloadBunfig: false,
      // A start runs most code once, so compiling it early costs time. main.ts sets it back to 1.
      jitPolicy: 20,
    },
    define: { SCHEMA_FINGERPRINT: JSON.stringify(schemaFingerprint()) },
    // Not minified: Elysia parses the source text of its handlers, and its validation silently loses bounds.
    bytecode: true,
    // A command loads only the chunks it needs.
    splitting: true,
    format: 'esm',
    sourcemap: 'inline',
    metafile: true,
    plugins: [page],
  })
  if (!success) throw new AggregateError(logs, 'build failed')
  // The executable contains its source maps; the files beside it are not needed. Those of two threads have one name.
  for (const { kind, path } of outputs) if (kind === 'sourcemap') rmSync(path, { force: true })
  return [...inputs, ...Object.keys(metafile?.inputs ?? {})]
}
