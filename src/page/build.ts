import { createHash } from 'node:crypto'
import { join } from 'node:path'

/** One file of the page; all of them are text. `name` carries a hash of what is in it. */
export type BuiltFile = { name: string; type: string; text: string }

/** The dashboard, built: its page, and the files that it loads. */
export type BuiltPage = { shell: string; files: BuiltFile[] }

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const ENTRIES = ['main.tsx', 'theme.ts', 'style.css']
const app = join(import.meta.dir, 'app')

/**
 * Bundles the page for browsers: minified, its names hashed, the document linking them. `told` hears which files it was
 * made of.
 */
export async function buildPage(told?: (inputs: string[]) => void): Promise<BuiltPage> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: ENTRIES.map((it) => join(app, it)),
    target: 'browser',
    format: 'esm',
    minify: true,
    // What only one page needs is loaded with that page.
    splitting: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]' },
    metafile: true,
  })
  told?.(Object.keys(metafile?.inputs ?? {}))
  const files = await Promise.all(
    outputs.map(async (it) => toFile(it.path.replace(/^\.\//, ''), await it.text())),
  )
  const icon = await Bun.file(join(app, 'icon.svg')).text()
  const hash = createHash('sha256').update(icon).digest('hex').slice(0, 8)
  files.push(toFile(`icon-${hash}.svg`, icon))
  return { shell: shellOf((stem) => nameOf(files, stem)), files }
}

function toFile(name: string, text: string): BuiltFile {
  const type = TYPES[name.split('.').at(-1) ?? '']
  if (type === undefined) throw new Error(`the page has a file of no known kind: ${name}`)
  return { name, type, text }
}

function nameOf(files: readonly BuiltFile[], stem: string): string {
  const found = files.find(({ name }) => name.startsWith(`${stem}-`))
  if (found === undefined) throw new Error(`the page was built without its ${stem}`)
  return found.name
}

/** The one document. No script and no style stands in it: its policy forbids both. */
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
<noscript>The dashboard needs JavaScript. Everything that it shows can be had from the API and the command line too.</noscript>
</body>
</html>
`
