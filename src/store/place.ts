import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The folder has held an instance, and its database is gone. Exit 78: a restart would not help. */
export class DatabaseMissing extends Error {
  override name = 'DatabaseMissing'
}

/** There is a database, but it is broken or somebody else's. Exit 78: a restart would not help. */
export class DatabaseDamaged extends Error {
  override name = 'DatabaseDamaged'
}

/** The key that this instance's secrets were sealed with is not there. Exit 78: a restart would not help. */
export class KeyMissing extends Error {
  override name = 'KeyMissing'
}

/** The folder of an instance, as the configuration names it, and what an instance is made of. */
export type Place = {
  dir: string
  /** Empty: the credential `secrets.key`, else `secrets.key` in the folder. */
  key_file: string
  clock: { now(): number }
  random: { uuid(): string; bytes(count: number): Uint8Array }
  /** Where systemd puts credentials; its own variable says so unless told otherwise. */
  credentials_dir?: string | undefined
}

/** The files of an instance: its database, the marker that there was one, and the key of its secrets. */
export type Paths = { dir: string; db: string; marker: string; key: string }

/** Where the parts of an instance lie. */
export function pathsOf({
  dir,
  key_file,
  credentials_dir = Bun.env['CREDENTIALS_DIRECTORY'],
}: Pick<Place, 'dir' | 'key_file' | 'credentials_dir'>): Paths {
  const credential = credentials_dir ? join(credentials_dir, 'secrets.key') : null
  const own = join(dir, 'secrets.key')
  const key = key_file || (credential && existsSync(credential) ? credential : own)
  return { dir, db: join(dir, 'forumd.sqlite'), marker: join(dir, 'instance.id'), key }
}

/** What to say of a database that is gone. */
export const missing = ({ db, marker }: Paths) =>
  new DatabaseMissing(
    `${db} is missing although ${marker} says that this folder held one: put the newest backup back in its place; to begin with nothing, move ${marker} away`,
  )

/** What to say of a database that cannot be used, and why. */
export const damaged = ({ db, marker }: Paths, what: string) =>
  new DatabaseDamaged(
    `${db} cannot be used: ${what}. Put the newest backup in its place, or save what can be saved with: sqlite3 ${db} .recover; to begin with nothing, move it and ${marker} away`,
  )
