import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { embedPage } from './build-page.ts'

const SOURCES = join(import.meta.dir, '../src')

/** The machine that an executable is for, with a Bun of that machine. */
export type Runtime = { target: Bun.Build.CompileTarget; executable: string }

/**
 * Makes one executable that holds everything and runs from an empty folder; of the Bun that this runs on, unless told.
 * Returns the paths of the files that went into it. Throws with what the bundler said.
 */
export async function compile(outfile: string, runtime?: Runtime): Promise<string[]> {
  const inputs: string[] = []
  const page = await embedPage((files) => inputs.push(...files))
  const { success, logs, outputs, metafile } = await Bun.build({
    // The thread is started by its path within the executable (src/patterns/thread.ts).
    entrypoints: ['main.ts', 'patterns/worker.ts'].map((it) => join(SOURCES, it)),
    root: SOURCES,
    compile: {
      outfile,
      ...(runtime && { target: runtime.target, executablePath: runtime.executable }),
      // The binary reads the config it is given, and nothing that happens to lie beside it.
      autoloadDotenv: false,
      autoloadBunfig: false,
      // What a start runs, it mostly runs once, and compiling that is time lost. main.ts sets it back to 1.
      jitPolicy: 20,
    },
    // Not minified: Elysia reads its handlers back as text, and its validation loses bounds without a word.
    bytecode: true,
    // A command loads what it needs and no more.
    splitting: true,
    format: 'esm',
    sourcemap: 'inline',
    metafile: true,
    plugins: [page],
  })
  if (!success) throw new AggregateError(logs, 'build failed')
  // The executable holds its source maps; what is left of them beside it serves nobody.
  for (const { kind, path } of outputs) if (kind === 'sourcemap') rmSync(path)
  return [...inputs, ...Object.keys(metafile?.inputs ?? {})]
}
