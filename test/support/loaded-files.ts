/**
 * Runs inside the program, ahead of it: at its end it writes which files have been loaded, and which of Bun's own modules
 * were requested by name, to the file that FORUMD_LOADED names. Without one it does nothing.
 */
import { writeFileSync } from 'node:fs'

/** Value of `--preload` for the program. */
export const LOADED_PROBE = import.meta.path

const file = process.env['FORUMD_LOADED'] ?? ''

if (file !== '') {
  const queries: string[] = []
  process.getBuiltinModule = new Proxy(process.getBuiltinModule, {
    apply(original, self, args: [string]) {
      queries.push(args[0])
      return Reflect.apply(original, self, args)
    },
  })
  process.on('exit', () =>
    writeFileSync(file, JSON.stringify({ files: Object.keys(require.cache), requested: queries })),
  )
}
