import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/**
 * A right of a user other than root to redirect a path: the user owns, or may write, a part of it.
 */
export type Controller =
  | { path: string; by: 'owner'; uid: number }
  | { path: string; by: 'group'; gid: number }
  | { path: string; by: 'others' }

export type PathWalk = {
  controllers: Controller[]
  /** The file or folder at the end of the path; null if it does not exist. */
  end: { path: string; stat: Stats } | null
  /** The first missing part of the path; null if all exist. */
  missing: string | null
}

const GROUP_WRITES = 0o020
const OTHERS_WRITE = 0o002
const STICKY = 0o1000
/** The kernel's limit of links in one path. */
const LINKS_MAX = 40

/** Rights to write a file or a folder without owning it. The group of root counts as root. */
export function writersOf(path: string, { mode, gid }: Stats): Controller[] {
  const writers: Controller[] = []
  if (mode & GROUP_WRITES && gid !== 0) writers.push({ path, by: 'group', gid })
  if (mode & OTHERS_WRITE) writers.push({ path, by: 'others' })
  return writers
}

/**
 * Follows a path part by part, including links, and collects every right of other users to redirect
 * it. Without any, no other user can change it between this walk and a use of the path.
 * @throws {Error} the error of lstat, except for a missing part; `ELOOP` after too many links
 */
export function walkPath(path: string): PathWalk {
  const controllers: Controller[] = []
  const rest = resolve(path).split('/').filter(Boolean)
  let at = '/'
  let stat = lstatSync(at)
  let links = 0
  for (;;) {
    if (stat.uid !== 0) controllers.push({ path: at, by: 'owner', uid: stat.uid })
    const writers = writersOf(at, stat)
    const name = rest.shift()
    // In a sticky folder only the owner of an entry can replace it; a missing entry and the folder
    // itself are not protected.
    if (name === undefined) {
      controllers.push(...writers)
      return { controllers, end: { path: at, stat }, missing: null }
    }
    const next = name === '..' ? dirname(at) : join(at, name)
    const found = lstatSync(next, { throwIfNoEntry: false })
    if (found === undefined || (stat.mode & STICKY) === 0) controllers.push(...writers)
    if (found === undefined) return { controllers, end: null, missing: next }
    if (found.isSymbolicLink()) {
      if (++links > LINKS_MAX)
        throw Object.assign(new Error(`too many links: ${path}`), { code: 'ELOOP' })
      if (found.uid !== 0) controllers.push({ path: next, by: 'owner', uid: found.uid })
      const target = readlinkSync(next)
      rest.unshift(...target.split('/').filter((part) => part !== '' && part !== '.'))
      if (target.startsWith('/')) {
        at = '/'
        stat = lstatSync(at)
      }
      continue
    }
    at = next
    stat = found
  }
}
