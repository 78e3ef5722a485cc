import type { BunPlugin } from 'bun'

import { buildPage } from '../src/page/build.ts'

/** Puts the page into the executable, made at the same moment from the same source. */
export const embeddedPage: BunPlugin = {
  name: 'page',
  setup(build) {
    build.onLoad({ filter: /\/src\/page\/made\.ts$/ }, async () => ({
      loader: 'js',
      contents: `const page = ${JSON.stringify(await buildPage())}\nexport const madePage = () => Promise.resolve(page)\n`,
    }))
  },
}
