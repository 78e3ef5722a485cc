import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { blocksOf } from '../../scripts/docs/blocks.ts'

/** Root of the checkout. */
export const root = join(import.meta.dir, '../..')

/** Text of a file of the checkout. */
export const readText = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The pages of the documentation, as paths in the checkout. */
export const PAGES: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs')).flatMap((it) => (it.endsWith('.md') ? [`docs/${it}`] : [])),
]

/** Every fenced block of the pages. */
export const codeBlocks = () =>
  PAGES.flatMap((page) => blocksOf(readText(page)).map((block) => ({ page, ...block })))

/** Anchor of a heading, as GitHub creates it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Code cells in the first column of the tables of a page. */
export const codeCells = (page: string): string[] =>
  [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, cell = '']) => cell)
