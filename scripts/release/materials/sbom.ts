import { Enums, Models, Serialize, SPDX, Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { PackageURL } from 'packageurl-js'

import { license, version } from '../../../package.json'
import { BUN } from '../runtimes.ts'
import type { Bundled } from './bundled.ts'

/** Notes on packages that their authors bundled into one file: bun.lock does not list the contents. */
const BUNDLED_BY_ITS_MAKERS: Readonly<Record<string, string>> = {
  '@scalar/api-reference':
    'One file for browsers, bundled by its authors; its contents are not listed here.',
}

/** The library accepts unknown SPDX identifiers as plain names. */
function licensed(id: string): Models.LicenseRepository {
  const is_known: boolean = SPDX.isSupportedSpdxId(id)
  if (!is_known) throw new Error(`${id} is not in the SPDX licence list`)
  return new Models.LicenseRepository([new Models.SpdxLicense(id)])
}

const purl = (name: string, of: string) => {
  const [bare = name, group] = name.split('/').toReversed()
  return new PackageURL('npm', group, bare, of).toString()
}

/** Runtimes of a release: npm package to SHA-512 in hex. */
export type Runtimes = ReadonlyMap<string, string>

/**
 * Bill of materials of the executables, as CycloneDX 1.6 in JSON: the packages they contain, from bun.lock, and
 * their runtimes. The same input gives the same bytes.
 *
 * @throws {Error} if the result violates the schema
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
    description: `A copy within ${key}, of unknown version.`,
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
      'The runtime of the executables, one of its packages each. It links JavaScriptCore, SQLite, BoringSSL and others, which are not listed here: see its LICENSE.md.',
    components: new Models.ComponentRepository(parts),
  })
}

/** The library silently omits malformed checksums. */
function hash(sha512: string): Models.HashDictionary {
  if (!/^[0-9a-f]{128}$/.test(sha512)) throw new Error(`${sha512} is no SHA-512`)
  return new Models.HashDictionary([[Enums.HashAlgorithm['SHA-512'], sha512]])
}

const serializer = new Serialize.JsonSerializer(
  new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6),
)
const written = (bom: Models.Bom) => serializer.serialize(bom, { sortLists: true, space: 2 })

/** A UUID derived from the content (RFC 9562, version 8). */
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
