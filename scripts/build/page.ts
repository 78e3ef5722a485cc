import type { BunPlugin } from 'bun'

import { buildPage } from '../../src/page/build.ts'

/**
 * Plugin that embeds the page in the executable. The page is built first: a nested build may deadlock.
 * `onInputs` receives the source files of the page.
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
