import text from '../../../docs/operations.md' with { type: 'text' }

const HEADING = /^(#{1,4}) (.+)$/

/** The anchor of a heading, as GitHub makes it, so that links to the file and to the page differ in their beginning only. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(' ', '-')
    .replace(/[^\w-]/g, '')

/** The operations guide as a page: its text as it is, its headings as anchors. */
export function operationsPage(): string {
  const lines = text.split('\n').map((line) => {
    const [, marks, heading] = HEADING.exec(line) ?? []
    if (marks === undefined || heading === undefined) return Bun.escapeHTML(line)
    return `<strong id="${anchorOf(heading)}">${Bun.escapeHTML(line)}</strong>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Operations</title>
<link rel="icon" href="data:,">
<style>body{max-width:60rem;margin:0 auto;padding:1rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.5}strong{scroll-margin:1rem}strong:target{background:Mark;color:MarkText}:root{color-scheme:light dark}</style>
</head>
<body><main><pre>${lines.join('\n')}</pre></main></body>
</html>
`
}
