import { buildPage, type BuiltPage } from './build.ts'

/**
 * The page, built from its current source. In the executable `scripts/build/page.ts` replaces this module with the page
 * built at compile time, so no intermediate file can be out of date.
 */
export const embeddedPage = (): Promise<BuiltPage> => buildPage()
