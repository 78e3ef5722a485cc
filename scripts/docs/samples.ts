/**
 * Code blocks copied from a file: ```python file=examples/receivers/receiver.py#verify. The page shows the code
 * that the tests run.
 */

/** Start and end of a function in each language's file: from its comment or head to its closing line. */
const VERIFY: Readonly<Record<string, { begins: RegExp; ends: RegExp }>> = {
  mjs: { begins: /^\/\*\* Verifies/, ends: /^\}/ },
  py: { begins: /^def verify/, ends: /^ {4}\)/ },
  go: { begins: /^\/\/ verify reports/, ends: /^\}/ },
  rb: { begins: /^# Verifies/, ends: /^end/ },
  php: { begins: /^\/\*\* Verifies/, ends: /^\}/ },
  java: { begins: /^ {4}\/\*\* Verifies/, ends: /^ {4}\}/ },
}

/** The function `verify` of a receiver in examples/, without its common indentation. */
export function verifyIn(path: string, text: string): string {
  const rule = VERIFY[path.split('.').at(-1) ?? '']
  const lines = text.split('\n')
  const from = lines.findIndex((line) => rule?.begins.test(line))
  const to = lines.findIndex((line, at) => at > from && rule?.ends.test(line))
  if (!rule || from === -1 || to === -1) throw new Error(`${path} has no function verify`)
  const cut = lines.slice(from, to + 1)
  const indent = Math.min(...cut.filter(Boolean).map((line) => line.search(/\S/)))
  return cut.map((line) => line.slice(indent)).join('\n')
}

/** A page with each block that names a file filled from it. */
export function withSamples(page: string, read: (path: string) => string): string {
  return page.replace(
    /^(```\w+ file=(\S+)#verify)\n[\s\S]*?^```$/gm,
    (_, head: string, path: string) => `${head}\n${verifyIn(path, read(path))}\n\`\`\``,
  )
}
