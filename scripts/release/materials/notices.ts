import { BUN } from '../runtimes.ts'
import type { Bundled } from './bundled.ts'

const RULE = '-'.repeat(80)

/**
 * Licences of all third-party code in the executable.
 *
 * @throws {Error} if neither a package nor another one under the same licence contains the text
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
      `${it.name} contains no text of its licence, ${it.license}, and no other package does`,
    )
  return `The package contains no text of its licence${it.author === null ? '' : `; its author is ${it.author}`}.\nThe text is that of ${same.name}, except for the copyright holder.`
}

const HEAD = `Third-party software in the executable of forumd, with its licences.
forumd itself is under the MIT licence: see LICENSE.`

const BUN_NOTICE = `Bun ${BUN}
MIT, and the licences of the linked libraries

The runtime that the executable is made of, unchanged. Its own licence is MIT. It links JavaScriptCore and other parts of
WebKit (LGPL-2), TinyCC (LGPL-2.1), and libraries under MIT, BSD, Apache-2.0 and zlib licences; the list, with the source
of each, is in LICENSE.md of https://github.com/oven-sh/bun, at the tag bun-v${BUN}.
To use another JavaScriptCore in forumd, build Bun with it as described there, and then forumd from its source by
that Bun: PATH_TO_THAT_BUN scripts/build/build.ts.`
