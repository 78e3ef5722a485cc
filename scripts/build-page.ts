import type { BunPlugin } from 'bun'

import { buildPage } from '../src/page/build.ts'

/** Puts the page into the executable. It is made first: a build that is asked for within another may wait for it for ever. */
export async function embedPage(): Promise<BunPlugin> {
  const page = await buildPage()
  const contents = `const page = ${JSON.stringify(page)}\nexport const madePage = () => Promise.resolve(page)\n`
  return {
    name: 'page',
    setup(build) {
      build.onLoad({ filter: /\/src\/page\/made\.ts$/ }, () => ({ loader: 'js', contents }))
    },
  }
}
