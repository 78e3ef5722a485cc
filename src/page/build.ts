import { createHash } from 'node:crypto'
import { join } from 'node:path'

/** One text file of the page. `name` contains a hash of its content. */
export type BuiltFile = { name: string; type: string; text: string }

export type BuiltPage = { shell: string; files: BuiltFile[] }

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const ENTRIES = ['main.tsx', 'theme.ts', 'style.css']

/**
 * Bundles the page for browsers: minified, with hashed names that the document links.
 * @param onInputs Receives the paths of the bundled source files.
 * @throws {Error} an output file has an unknown type, or an entry point is missing
 */
export async function buildPage(onInputs?: (inputs: string[]) => void): Promise<BuiltPage> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: ENTRIES.map((it) => join(import.meta.dir, it)),
    target: 'browser',
    format: 'esm',
    minify: true,
    // Code of a single page is loaded with that page.
    splitting: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]' },
    metafile: true,
  })
  onInputs?.(Object.keys(metafile?.inputs ?? {}))
  const files = await Promise.all(
    outputs.map(async (it) => toFile(it.path.replace(/^\.\//, ''), await it.text())),
  )
  const icon = await Bun.file(join(import.meta.dir, 'icon.svg')).text()
  const hash = createHash('sha256').update(icon).digest('hex').slice(0, 8)
  files.push(toFile(`icon-${hash}.svg`, icon))
  return { shell: shellOf((stem) => nameOf(files, stem)), files }
}

function toFile(name: string, text: string): BuiltFile {
  const type = TYPES[name.split('.').at(-1) ?? '']
  if (type === undefined) throw new Error(`the page has a file of an unknown type: ${name}`)
  return { name, type, text }
}

function nameOf(files: readonly BuiltFile[], stem: string): string {
  const found = files.find(({ name }) => name.startsWith(`${stem}-`))
  if (found === undefined) throw new Error(`the page was built without its ${stem}`)
  return found.name
}

/** The HTML document. It has no inline script or style: its content security policy forbids both. */
const shellOf = (name: (stem: string) => string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>forumd</title>
<link rel="icon" type="image/svg+xml" href="/dashboard/assets/${name('icon')}">
<link rel="stylesheet" href="/dashboard/assets/${name('style')}">
<script src="/dashboard/assets/${name('theme')}"></script>
<script type="module" src="/dashboard/assets/${name('main')}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The dashboard needs JavaScript. The API and the command line provide the same data.</noscript>
</body>
</html>
`
