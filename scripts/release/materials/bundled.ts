import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import lock from '../../../bun.lock'

const root = join(import.meta.dir, '../../..')

/** A package inside the executable, from bun.lock and its own folder. */
export type Bundled = {
  name: string
  version: string
  /** SHA-512 of the registry's tarball, in hex. */
  sha512: string
  /** SPDX identifier. */
  license: string
  /** Text of its licence; null if the package contains none. */
  license_text: string | null
  author: string | null
  /** Its dependencies in the executable, by their names in bun.lock. */
  dependencies: string[]
  /** Third-party code copied into it by its authors, of unknown version, that is in the executable too. */
  copies: Copy[]
}

type Copy = { name: string; license_text: string }

/** Entries of bun.lock by package name. */
type Pins = Readonly<Record<string, unknown>>

const COPY = /\/third_party\/([^/]+)\//
const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/
const About = z.object({
  license: z.string().optional(),
  author: z
    .union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)])
    .optional(),
})

/**
 * Packages of the files in a build, by their names in bun.lock.
 *
 * @throws {Error} if bun.lock lacks one or pins another version: the executable then differs from what is
 * pinned
 */
export function bundledOf(
  inputs: readonly string[],
  pins: Pins = lock.packages,
): Map<string, Bundled> {
  const files = inputs.flatMap((path) => {
    const folder = PACKAGE.exec(path)?.[0]
    return folder === undefined ? [] : [{ key: keyOf(folder), file: path.slice(folder.length + 1) }]
  })
  const by_key = Map.groupBy(files, ({ key }) => key)
  const keys = [...by_key.keys()].toSorted()
  return new Map(
    keys.map((key) => {
      const own = by_key.get(key) ?? []
      return [key, bundled(key, new Set(own.map(({ file }) => file)), pins, (it) => by_key.has(it))]
    }),
  )
}

/** `a/node_modules/b` is called `a/b` in bun.lock. */
const keyOf = (folder: string) =>
  folder
    .slice(folder.indexOf('node_modules/') + 'node_modules/'.length)
    .replaceAll('/node_modules/', '/')

const Locked = z.tuple([
  z.string(),
  z.string(),
  z.object({
    dependencies: z.record(z.string(), z.string()).optional(),
    optionalDependencies: z.record(z.string(), z.string()).optional(),
    peerDependencies: z.record(z.string(), z.string()).optional(),
  }),
  z.string().startsWith('sha512-'),
])

function bundled(
  key: string,
  files: ReadonlySet<string>,
  pins: Pins,
  is_bundled: (key: string) => boolean,
): Bundled {
  const entry = Locked.safeParse(pins[key])
  if (!entry.success) throw new Error(`${key} is in the executable but not pinned in bun.lock`)
  const [pinned, , metadata, integrity] = entry.data
  const at = pinned.lastIndexOf('@')
  const [name, version] = [pinned.slice(0, at), pinned.slice(at + 1)]
  const folder = join(root, 'node_modules', folderOf(key))
  const package_json: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const { version: installed } = z.object({ version: z.string() }).parse(package_json)
  if (installed !== version)
    throw new Error(`${key} is in the executable as ${installed}; bun.lock pins ${version}`)
  const about = About.parse(package_json)
  const license_text = licenseIn(folder)
  const license = about.license ?? idOf(license_text)
  if (license === null) throw new Error(`${key} names no licence`)
  const dependencies = Object.keys({
    ...metadata.dependencies,
    ...metadata.optionalDependencies,
    ...metadata.peerDependencies,
  })
  return {
    name,
    version,
    sha512: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex'),
    license,
    license_text,
    author: about.author ?? null,
    dependencies: dependencies.map((it) => nearest(key, it, pins)).filter(is_bundled),
    copies: [...files].toSorted().flatMap((file) => copyIn(folder, file) ?? []),
  }
}

/** The package that `name` resolves to inside a package: its own copy, or the top-level one. */
const nearest = (key: string, name: string, pins: Pins) =>
  `${key}/${name}` in pins ? `${key}/${name}` : name

/** Folder of the bun.lock names `a/b`, `@x/a/b` and `a/@x/b`. */
const folderOf = (key: string) => (key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? []).join('/node_modules/')

/** Copied code starts with its licence in a comment. */
function copyIn(folder: string, file: string): Copy | null {
  const name = COPY.exec(`/${file}`)?.[1]
  if (name === undefined) return null
  const text = /^\/\*\*([\s\S]+?)\*\//.exec(readFileSync(join(folder, file), 'utf8'))?.[1]
  if (text === undefined) throw new Error(`${file} of ${folder} is copied code without a licence`)
  return { name, license_text: text.trim() }
}

function licenseIn(folder: string): string | null {
  const names = readdirSync(folder).filter((it) =>
    /^(licen[cs]e|copying|notice)(\.(md|txt))?$/i.test(it),
  )
  const texts = names.toSorted().map((it) => readFileSync(join(folder, it), 'utf8').trim())
  return texts.length === 0 ? null : texts.join('\n\n')
}

const idOf = (text: string | null) => (/^(The )?MIT License/i.test(text ?? '') ? 'MIT' : null)
