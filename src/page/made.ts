import { buildPage, type BuiltPage } from './build.ts'

/**
 * The page, made from its source as it stands. In the executable `scripts/build-page.ts` puts in the place of this file
 * what it made when the executable was: nothing lies in between that could be old.
 */
export const madePage = (): Promise<BuiltPage> => buildPage()
