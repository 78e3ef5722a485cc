// Builds dist/forumd: one executable that contains everything and runs from an empty folder.
import { compile } from './compile.ts'

await compile(`${import.meta.dir}/../../dist/forumd`)
