import text from '../../../docs/operations.md' with { type: 'text' }
import { once } from '../../core/base/lazy.ts'

/** A link to another file of the documentation, which the daemon does not serve. */
const FILE_LINK = /<a href="(?!#|https?:)[^"]*">(.*?)<\/a>/g

const STYLE = `:root { color-scheme: light dark; --line: light-dark(#d5d9e2, #343a48); --sunk: light-dark(#f1f3f7, #1d2230); }
body { margin: 0; background: light-dark(#fff, #11141c); color: light-dark(#1a1d29, #e6e8ef); font: 1rem/1.55 system-ui, sans-serif; }
header { display: flex; gap: 1.25rem; padding: 0.6rem 1.25rem; border-bottom: 1px solid var(--line); font-size: 0.875rem; }
main { max-width: 56rem; margin: 0 auto; padding: 0.5rem 1.25rem 4rem; overflow-wrap: anywhere; }
h1, h2, h3, h4 { line-height: 1.25; margin: 2rem 0 0.5rem; scroll-margin-top: 1rem; }
h2 { padding-top: 1rem; border-top: 1px solid var(--line); }
:target { background: Mark; color: MarkText; }
a { color: light-dark(#3446a8, #9fb0ff); }
table { width: 100%; border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.4rem 0.6rem; border: 1px solid var(--line); text-align: left; vertical-align: top; }
code, pre { font: 0.875em/1.5 ui-monospace, monospace; background: var(--sunk); border-radius: 4px; }
code { padding: 0.1em 0.3em; }
pre { padding: 0.75rem 1rem; white-space: pre-wrap; }
pre code { padding: 0; font-size: 1em; }
@media (max-width: 45rem) {
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { padding: 0.5rem 0; border-top: 1px solid var(--line); }
  td { border: 0; padding: 0.15rem 0; }
  td:first-child { font-weight: 600; }
}`

/** The operations guide as a page. The anchors of its headings are those of the file on GitHub. */
export const operationsPage = once((): string => {
  const body = Bun.markdown.html(text, { headings: { ids: true } }).replace(FILE_LINK, '$1')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Operations</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<header><a href="/dashboard">Dashboard</a> <a href="/docs">API reference</a></header>
<main>${body}</main>
</body>
</html>
`
})
