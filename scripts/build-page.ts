import type { BunPlugin } from 'bun'

import { buildPage } from '../src/page/build.ts'

/**
 * Puts the page into the executable. It is made first: a build that is asked for within another may wait for it for ever.
 * `told` hears which files the page was made of.
 */
export async function embedPage(onInputs?: (inputs: string[]) => void): Promise<BunPlugin> {
  const page = await buildPage(onInputs)
  const contents = `const page = ${JSON.stringify(page)}\nexport const embeddedPage = () => Promise.resolve(page)\n`
  return {
    name: 'page',
    setup(build) {
      build.onLoad({ filter: /\/src\/page\/embedded\.ts$/ }, () => ({ loader: 'js', contents }))
    },
  }
}
