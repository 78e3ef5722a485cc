import type { Bundled } from './bundled.ts'
import { BUN } from './runtimes.ts'

const RULE = '-'.repeat(80)

/**
 * The licences of everything that is in the executable, one after another. Throws where neither a package nor another
 * one under the same licence has its words.
 */
export function noticesOf(packages: ReadonlyMap<string, Bundled>): string {
  const parts = [...packages.values()].flatMap((it) => [
    `${heading(it)}\n\n${wordsOf(it, packages)}`,
    ...it.copies.map(
      ({ name, license_text }) =>
        `${name}\na copy within ${it.name} ${it.version}\n\n${license_text}`,
    ),
  ])
  return `${[HEAD, BUN_NOTICE, ...parts].join(`\n\n${RULE}\n`)}\n`
}

const heading = ({ name, version, license }: Bundled) => `${name} ${version}\n${license}`

function wordsOf(it: Bundled, packages: ReadonlyMap<string, Bundled>): string {
  if (it.license_text !== null) return it.license_text
  const same = [...packages.values()].find(
    ({ license, license_text }) => license === it.license && license_text !== null,
  )
  if (same === undefined)
    throw new Error(
      `${it.name} comes without its licence, ${it.license}, and nothing else has its words`,
    )
  return `The package comes without the words of its licence${it.author === null ? '' : `; its author is ${it.author}`}.\nThey are those that stand under ${same.name}, but for whose copyright it is.`
}

const HEAD = `What is in the executable of forumd that others have made, and by which licence.
forumd itself is under the MIT licence: see LICENSE.`

const BUN_NOTICE = `Bun ${BUN}
MIT, and those of what it links

The runtime that the executable is made of, unchanged. Its own licence is MIT. It links JavaScriptCore and other parts of
WebKit (LGPL-2), TinyCC (LGPL-2.1), and libraries under MIT, BSD, Apache-2.0 and zlib licences; the list, with where each
one's source is, stands in LICENSE.md of https://github.com/oven-sh/bun, at the tag bun-v${BUN}.
Whoever wants another JavaScriptCore in forumd builds Bun with it, as is told there, and then forumd from its source by
that Bun: PATH_TO_THAT_BUN scripts/build.ts.`
