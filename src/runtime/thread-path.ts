/** The executable keeps each entry point below this folder, by its path within `src` (scripts/build/compile.ts). */
const EMBEDDED_ROOT = '/$bunfs/root/'

/** Where the code of a thread is. `entry`: its path within `src`, without an extension. */
export const threadPath = (entry: string): string =>
  import.meta.url.includes(EMBEDDED_ROOT)
    ? `${EMBEDDED_ROOT}${entry}.js`
    : new URL(`../${entry}.ts`, import.meta.url).href
