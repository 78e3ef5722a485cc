import { Enums, Models, Serialize, SPDX, Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { PackageURL } from 'packageurl-js'

import { license, version } from '../../package.json'
import type { Bundled } from './bundled.ts'
import { BUN } from './runtimes.ts'

/** What is told of a package that its makers have bundled into one file: what they put into it is not known to the lock. */
const BUNDLED_BY_ITS_MAKERS: Readonly<Record<string, string>> = {
  '@scalar/api-reference':
    'One file for browsers that its makers have bundled; what they have put into it is not listed here.',
}

/** The library writes down what SPDX does not know as a mere name. */
function licensed(id: string): Models.LicenseRepository {
  const is_known: boolean = SPDX.isSupportedSpdxId(id)
  if (!is_known) throw new Error(`${id} is no licence of SPDX's list`)
  return new Models.LicenseRepository([new Models.SpdxLicense(id)])
}

const purl = (name: string, of: string) => {
  const [bare = name, group] = name.split('/').toReversed()
  return new PackageURL('npm', group, bare, of).toString()
}

/** The runtimes of a release by their npm packages, with SHA-512 in hex. */
export type Runtimes = ReadonlyMap<string, string>

/**
 * The bill of materials of the executables, as CycloneDX 1.6 in JSON: the packages that are in them by bun.lock, and the
 * runtimes that they are made of. The same input gives the same bytes. Throws where its schema has something against it.
 */
export async function sbomOf(
  packages: ReadonlyMap<string, Bundled>,
  runtimes: Runtimes,
  made_at: Date,
): Promise<string> {
  const forumd = new Models.Component(Enums.ComponentType.Application, 'forumd', {
    version,
    bomRef: `forumd@${version}`,
    purl: new PackageURL('generic', undefined, 'forumd', version).toString(),
    licenses: licensed(license),
  })
  const bom = new Models.Bom({
    metadata: new Models.Metadata({ component: forumd, timestamp: made_at }),
  })
  const components = new Map([...packages].map(([key, it]) => [key, componentOf(key, it)]))
  for (const [key, component] of components) {
    bom.components.add(component)
    for (const dependency of packages.get(key)?.dependencies ?? []) {
      const other = components.get(dependency)
      if (other !== undefined) component.dependencies.add(other.bomRef)
    }
  }
  const bun = runtimeComponent(runtimes)
  bom.components.add(bun)
  for (const it of [bun, ...components.values()]) forumd.dependencies.add(it.bomRef)
  bom.serialNumber = `urn:uuid:${uuidOf(written(bom))}`
  const text = `${written(bom)}\n`
  await check(text)
  return text
}

function componentOf(key: string, it: Bundled) {
  const [name = it.name, group] = it.name.split('/').toReversed()
  return new Models.Component(Enums.ComponentType.Library, name, {
    ...(group !== undefined && { group }),
    version: it.version,
    bomRef: key,
    purl: purl(it.name, it.version),
    scope: Enums.ComponentScope.Required,
    licenses: licensed(it.license),
    hashes: hash(it.sha512),
    ...(it.author !== null && { author: it.author }),
    components: new Models.ComponentRepository(
      it.copies.map(({ name: copied }) => copyComponent(key, copied)),
    ),
    ...(BUNDLED_BY_ITS_MAKERS[it.name] && { description: BUNDLED_BY_ITS_MAKERS[it.name] }),
  })
}

const copyComponent = (key: string, name: string) =>
  new Models.Component(Enums.ComponentType.Library, name, {
    bomRef: `${key}/third_party/${name}`,
    description: `A copy within ${key}, of a version that it does not tell.`,
  })

function runtimeComponent(runtimes: Runtimes) {
  const parts = [...runtimes].map(
    ([name, sha512]) =>
      new Models.Component(Enums.ComponentType.Platform, name.replace('@oven/', ''), {
        group: '@oven',
        version: BUN,
        bomRef: `${name}@${BUN}`,
        purl: purl(name, BUN),
        licenses: licensed('MIT'),
        hashes: hash(sha512),
      }),
  )
  return new Models.Component(Enums.ComponentType.Platform, 'bun', {
    version: BUN,
    bomRef: `bun@${BUN}`,
    purl: purl('bun', BUN),
    licenses: licensed('MIT'),
    description:
      'What the executables are made of, one of its parts each. It links JavaScriptCore, SQLite, BoringSSL and others, which are not listed here: see its own LICENSE.md.',
    components: new Models.ComponentRepository(parts),
  })
}

/** The library leaves out what is no checksum. */
function hash(sha512: string): Models.HashDictionary {
  if (!/^[0-9a-f]{128}$/.test(sha512)) throw new Error(`${sha512} is no SHA-512`)
  return new Models.HashDictionary([[Enums.HashAlgorithm['SHA-512'], sha512]])
}

const serializer = new Serialize.JsonSerializer(
  new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6),
)
const written = (bom: Models.Bom) => serializer.serialize(bom, { sortLists: true, space: 2 })

/** A number that names what is told and nothing else (RFC 9562, version 8). */
function uuidOf(text: string): string {
  const hex = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

async function check(text: string): Promise<void> {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
  const fault = await validator.validate(text)
  if (fault !== null)
    throw new Error(`the bill of materials breaks its schema: ${JSON.stringify(fault)}`)
}
