import { accessSync, constants, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'

import { errorCode } from '../core/base/errors.ts'
import { openLibc, type SystemUser } from '../runtime/libc.ts'
import { type Controller, walkPath } from '../runtime/path-control.ts'

declare global {
  namespace NodeJS {
    interface Process {
      /** Bun has it, and its types do not. */
      initgroups?(user: string | number, group: number): void
    }
  }
}

/** Root does not act in this folder. The message says why, and what to do. */
class FolderRefused extends Error {
  override name = 'FolderRefused'
}

export function describeControl(controller: Controller): string {
  const { path, by } = controller
  switch (by) {
    case 'owner':
      return `${path} belongs to ${userOf(controller.uid).name}`
    case 'group':
      return `${path} may be written by its group`
    case 'others':
      return `${path} may be written by every user`
  }
}

export function isForeign(controller: Controller, uid: number): boolean {
  switch (controller.by) {
    case 'owner':
      return controller.uid !== uid
    case 'group':
      return !isPrivateGroup(controller.gid, uid)
    case 'others':
      return true
  }
}

/** Many systems give each user a group of the same name, and let it write what the user makes. */
function isPrivateGroup(gid: number, uid: number): boolean {
  const user = userOf(uid)
  const group = openLibc()?.findGroup(gid)
  return (
    gid === user.gid &&
    group?.name === user.name &&
    group.members.every((member) => member === user.name)
  )
}

/** A user without an entry in the user database, as in a container, has a number for a name and a group of that number. */
export const userOf = (uid: number): SystemUser =>
  openLibc()?.findUser(uid) ?? { name: String(uid), uid, gid: uid }

/**
 * Gives up root for good, and becomes the user that owns a folder, with that user's groups: what the owner has planted in
 * it can then do no more than the owner can. Makes the folder where `create` says so and root alone controls its place.
 * Returns the user's name; null where nothing changes, because the caller is not root or the folder is root's. Throws
 * FolderRefused where another user could exchange the folder, or its owner may not reach it.
 */
export function becomeOwner(dir: string, { create }: { create: boolean }): string | null {
  if (process.getuid?.() !== 0) return null
  const uid = ownerOf(dir, create)
  if (uid === 0) return null
  const { name, gid } = userOf(uid)
  become(uid, gid)
  if (!canEnter(dir))
    throw new FolderRefused(
      `the data folder ${dir} belongs to ${name}, as whom root acts there, and ${name} may not reach it: let that user pass the folders on the way (chmod o+x)`,
    )
  return name
}

function become(uid: number, gid: number) {
  process.setgroups?.([gid])
  try {
    process.initgroups?.(uid, gid)
  } catch {
    // A user that the user database does not know has no further groups.
  }
  // The group first: without root it can no longer be changed.
  process.setgid?.(gid)
  process.setuid?.(uid)
  if (process.geteuid?.() !== uid || process.getegid?.() !== gid)
    throw new FolderRefused(`this process cannot become user ${uid}: run it as that user`)
}

/** False when this user may not pass the way to a folder that is there. */
function canEnter(dir: string): boolean {
  try {
    accessSync(dir, constants.X_OK)
    return true
  } catch (error) {
    return errorCode(error) !== 'EACCES'
  }
}

/** More parts than a path can have: another process that removes what is made ends this as well. */
const PARTS_MAX = 4096

function ownerOf(dir: string, create: boolean): number {
  for (let made = 0; made < PARTS_MAX; made++) {
    const { controllers, end, missing } = walkPath(dir)
    const owner = end?.stat.uid ?? controllers.find((it) => it.by === 'owner')?.uid ?? 0
    const other = controllers.find(
      (it) =>
        isForeign(it, owner) &&
        // A user may let others write into its own folder. A path that is not there yet is walked again once it is.
        (it.by === 'owner' || (end !== null && (owner === 0 || it.path !== end.path))),
    )
    if (other !== undefined) throw unsafe(dir, other, owner)
    // The target of a link is not made: it may be a disk that is not mounted.
    const is_ours = missing !== null && `${resolve(dir)}/`.startsWith(`${missing}/`)
    if (owner !== 0 || !create || !is_ours) return owner
    makeFolder(missing)
  }
  throw new FolderRefused(`${dir} changes while it is being made: name another [storage].dir`)
}

/** Follows no link. An entry that another process has made meanwhile stays: the next walk judges it. */
function makeFolder(path: string) {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

const unsafe = (dir: string, controller: Controller, owner: number): FolderRefused =>
  new FolderRefused(
    `root does not work in the data folder ${dir}: ${describeControl(controller)}, who could put another folder in its place. ` +
      (owner === 0
        ? 'Give it to the user that the daemon runs as (chown -R), or let root alone write there.'
        : `Run this as the folder's owner: sudo -u ${userOf(owner).name} forumd …`),
  )
