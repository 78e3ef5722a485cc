import type { Config } from '../../config/schema.ts'
import type { Desk } from '../desk.ts'
import { bad, type Check, doubtful, type Finding, fine } from './finding.ts'

const MEND = 'apt-get install chromium, or name one in [browser].executable'

/** Whether the browser starts, which logins and comments by browser need and nothing else. */
export function browserChecks({ browser, features }: Config, desk: Desk): Check[] {
  if (!features.login && !features.comment)
    return [
      {
        title: 'looking at the browser',
        look: () => [fine('browser', 'none is needed: login and comment are switched off')],
      },
    ]
  return [{ title: 'starting the browser', look: async () => [await start(browser, desk)] }]
}

async function start({ executable }: Config['browser'], desk: Desk): Promise<Finding> {
  const tried = await desk.tryBrowser()
  if (!tried.ok)
    // One that is named is meant to be there; without one only what needs a browser answers 503.
    return (executable === '' ? doubtful : bad)('browser', tried.why, MEND)
  return tried.bare
    ? doubtful(
        'browser',
        `${tried.version} starts, but without its own sandbox`,
        'do not run forumd as root; let its user have namespaces, or run it apart from all else',
      )
    : fine('browser', `${tried.version} starts`)
}
