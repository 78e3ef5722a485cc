/**
 * Checks comments, titles, messages and pages for the rules of CONTRIBUTING.md, "Prose".
 * `bun test/support/prose.ts [--count] [PATH PREFIX...]` prints what breaks them.
 */
import { parseArgs } from 'node:util'

/** One place that breaks a rule; `line` counts from 1. */
export type ProseFinding = { file: string; line: number; rule: string; text: string }

const root = `${import.meta.dir}/../../`
const CODE = '{src,sandbox,scripts,test}/**/*.{ts,tsx,mjs,sql,css,sh,py}'
const PAGES = ['*.md', 'docs/*.md', 'config.example.toml', 'examples/**/*.md']
/** Quotes the words that it looks for. */
const RULES_FILE = /^test\/(support\/prose|unit\/prose\.test)\.ts$/

/** Lines that contain a rejected word for a reason: word lists of the language, and quoted names of earlier releases. */
const ALLOWED: readonly { file: string; text: RegExp }[] = [
  { file: 'src/core/enrichment/lexicon/cues.ts', text: /\bsomebody\b/ },
  { file: 'src/core/enrichment/lexicon/words.ts', text: /\bnobody\b/ },
  { file: 'CHANGELOG.md', text: /^\| .*`[a-z_.]+`/ },
]

const OPENING = /^(?:What|Whether|Who|Whose|Whom|Which|Of|How|Told|When) [a-z]/
const WORDS =
  /\b(?:nobody|somebody|whoever|whomever|whatever|whose turn|told|tells of|mend(?:s|ed|ing)?|anew|(?:is|are|was|were|be) asked|(?:is|are|was|were|be) said|look(?:s|ed)? at|stands? in|comes? in by|ways? out|by whose)\b/i
const OUTSIDE =
  /\bcontract \d|\binterface\.md\b|\bplatform-protocol\b|\bsources-protocol\b|\bwire-facts\b|\breliability\.md \d/

const SHELL_COMMENT_LINE = /^\s*#\s(.*)$/
const COMMENT_LINE = /^\s*(?:\/\/+|\/\*\*?|\*(?!\/)|--)\s?(.*?)(?:\s*\*\/)?$/
const TRAILING_COMMENT = /^(?:[^'"`/]|'[^']*'|"[^"]*"|`[^`]*`|\/(?!\/))*?\s\/\/ (.+)$/
const TITLE = /\b(?:test|describe|it)(?:\.\w+(?:\([^)]*\))?)*\(\s*(['"`])(.+?)\1/

const openingBroken = (text: string): boolean => OPENING.test(text) && !text.includes('?')

/** Findings of a source file. */
export function proseOfCode(file: string, text: string): ProseFinding[] {
  const found: ProseFinding[] = []
  const comment_line = /\.(?:sh|py)$/.test(file) ? SHELL_COMMENT_LINE : COMMENT_LINE
  let in_comment = false
  for (const [at, line] of text.split('\n').entries()) {
    const add = (rule: string, what: string) =>
      found.push({ file, line: at + 1, rule, text: what.trim().slice(0, 120) })
    const comment = comment_line.exec(line)?.[1]
    const starts: boolean = comment !== undefined && (!in_comment || /^\s*\/\*/.test(line))
    in_comment = comment !== undefined && (in_comment || starts) && !line.trimEnd().endsWith('*/')
    const opened =
      starts || comment === undefined ? (comment ?? TRAILING_COMMENT.exec(line)?.[1]) : undefined
    if (opened !== undefined && openingBroken(opened.trim())) add('opening', opened)
    // `/**` alone: the first line of the text follows.
    if (starts && comment?.trim() === '') in_comment = false
    const title = TITLE.exec(line)?.[2]
    if (title !== undefined && openingBroken(title.replace(/^\w/, (it) => it.toUpperCase())))
      add('opening', title)
    if (WORDS.test(line)) add('word', line)
    if (OUTSIDE.test(line)) add('outside', line)
  }
  return found
}

/** Findings of a page of documentation or of the example configuration. */
export function proseOfPage(file: string, text: string): ProseFinding[] {
  const found: ProseFinding[] = []
  let in_code = false
  let before = ''
  for (const [at, line] of text.split('\n').entries()) {
    if (line.startsWith('```')) in_code = !in_code
    const add = (rule: string, what: string) =>
      found.push({ file, line: at + 1, rule, text: what.trim().slice(0, 120) })
    const starts = before.trim() === '' || /^(?:#|[-*] |\|)/.test(line)
    const opened = line.replace(/^[#\s|*-]+/, '')
    if (!in_code && starts && openingBroken(opened)) add('opening', line)
    if (WORDS.test(line)) add('word', line)
    if (OUTSIDE.test(line)) add('outside', line)
    before = line
  }
  return found
}

/** Findings of the whole repository. */
export async function findProse(): Promise<ProseFinding[]> {
  const found: ProseFinding[] = []
  for await (const file of new Bun.Glob(CODE).scan(root))
    if (!file.includes('node_modules/') && !RULES_FILE.test(file))
      found.push(...proseOfCode(file, await Bun.file(root + file).text()))
  for (const pattern of PAGES)
    for await (const file of new Bun.Glob(pattern).scan(root))
      found.push(...proseOfPage(file, await Bun.file(root + file).text()))
  return found
    .filter((it) => !ALLOWED.some(({ file, text }) => it.file === file && text.test(it.text)))
    .toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { count: { type: 'boolean', default: false } },
  })
  const found = (await findProse()).filter(
    ({ file }) => positionals.length === 0 || positionals.some((prefix) => file.startsWith(prefix)),
  )
  if (values.count) {
    const folders = Map.groupBy(found, ({ file }) => file.split('/').slice(0, 3).join('/'))
    for (const [folder, { length }] of [...folders].toSorted((a, b) => b[1].length - a[1].length))
      console.log(`${length}\t${folder}`)
  } else for (const it of found) console.log(`${it.file}:${it.line}: ${it.rule}: ${it.text}`)
  console.log(`${found.length} findings`)
}
