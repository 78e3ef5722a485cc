// Goal: the bill of materials lists exactly the content of an executable, with the checksums of bun.lock and the
// licences.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'

import * as z from 'zod'

import lock from '../../../../bun.lock'
import { version } from '../../../../package.json'
import { type Bundled, bundledOf } from '../../../../scripts/release/materials/bundled.ts'
import { noticesOf } from '../../../../scripts/release/materials/notices.ts'
import { sbomOf } from '../../../../scripts/release/materials/sbom.ts'
import { BUN, runtimeSha512 } from '../../../../scripts/release/runtimes.ts'
import { TARGETS } from '../../../../scripts/release/targets.ts'

// The CycloneDX schema is compiled each time: a second of work, and many on a busy machine.
setDefaultTimeout(60_000)

const INPUTS = [
  'src/main.ts',
  'node_modules/tough-cookie/dist/index.js',
  '../elsewhere/node_modules/tldts/dist/index.js',
  'node_modules/tldts-core/dist/index.js',
  'node_modules/@scalar/api-reference/dist/browser/standalone.js',
  'node_modules/https-proxy-agent/dist/index.js',
]
const DAY = new Date('2026-11-20T00:00:00Z')
const RUNTIMES = new Map(TARGETS.map(({ runtime }) => [runtime, runtimeSha512(runtime)]))

/** A package with given fields, absent from node_modules. */
const given = (change: Partial<Bundled>): Bundled => ({
  name: 'some',
  version: '1.2.3',
  sha512: 'ab'.repeat(64),
  license: 'MIT',
  license_text: 'Do as you like.',
  author: null,
  dependencies: [],
  copies: [],
  ...change,
})
const some = (...packages: Partial<Bundled>[]) =>
  new Map(packages.map((it) => [it.name ?? 'some', given(it)]))

describe('the packages of a build', () => {
  test('are those of its files, each once, by name', () => {
    expect([...bundledOf(INPUTS).keys()]).toEqual([
      '@scalar/api-reference',
      'https-proxy-agent',
      'tldts',
      'tldts-core',
      'tough-cookie',
    ])
  })

  test('have the version and checksum pinned in bun.lock', () => {
    const cookies = bundledOf(INPUTS).get('tough-cookie')
    const [pinned, , , integrity] = z
      .tuple([z.string(), z.string(), z.unknown(), z.string()])
      .parse(lock.packages['tough-cookie'])

    expect(`${cookies?.name}@${cookies?.version}`).toBe(pinned)
    expect(`sha512-${Buffer.from(cookies?.sha512 ?? '', 'hex').toString('base64')}`).toBe(integrity)
  })

  test('list their dependencies among the others', () => {
    expect(bundledOf(INPUTS).get('tough-cookie')?.dependencies).toEqual(['tldts'])
    expect(bundledOf(INPUTS).get('tldts')?.dependencies).toEqual(['tldts-core'])
  })

  test('list the code that their authors copied into them, with its licence', () => {
    const copied = bundledOf([
      'node_modules/puppeteer-core/lib/third_party/mitt/mitt.js',
      'node_modules/puppeteer-core/lib/puppeteer/puppeteer-core.js',
    ]).get('puppeteer-core')?.copies

    expect(copied?.map(({ name }) => name)).toEqual(['mitt'])
    expect(copied?.[0]?.license_text).toStartWith(
      'MIT License\n\nCopyright (c) 2021 Jason Miller\n',
    )
  })

  test('are refused when one is not pinned', () => {
    expect(() => bundledOf(['node_modules/left-alone/index.js'])).toThrow(
      'left-alone is in the executable but not pinned in bun.lock',
    )
  })

  test('are refused when one is not installed in the pinned version', () => {
    const pins = { ...lock.packages, tldts: ['tldts@1.0.0', '', {}, 'sha512-AAAA'] }

    expect(() => bundledOf(INPUTS, pins)).toThrow(
      /^tldts is in the executable as \S+; bun.lock pins 1.0.0$/,
    )
  })
})

const ParsedSbom = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.6'),
  serialNumber: z.string(),
  metadata: z.object({
    timestamp: z.string(),
    component: z.object({ name: z.string(), version: z.string() }),
  }),
  components: z.array(
    z.object({
      'bom-ref': z.string(),
      purl: z.string(),
      hashes: z.array(z.object({ alg: z.string(), content: z.string() })).optional(),
      components: z.array(z.object({ name: z.string(), purl: z.string().optional() })).optional(),
    }),
  ),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()).optional() })),
})

describe('the bill of materials', () => {
  test('names forumd, every package with its checksum, and every runtime', async () => {
    const sbom = ParsedSbom.parse(JSON.parse(await sbomOf(bundledOf(INPUTS), RUNTIMES, DAY)))

    expect(sbom.metadata).toMatchObject({
      timestamp: '2026-11-20T00:00:00.000Z',
      component: { name: 'forumd', version },
    })
    const cookies = sbom.components.find((it) => it['bom-ref'] === 'tough-cookie')
    expect(cookies?.purl).toMatch(/^pkg:npm\/tough-cookie@\d/)
    expect(cookies?.hashes?.[0]).toMatchObject({
      alg: 'SHA-512',
      content: bundledOf(INPUTS).get('tough-cookie')?.sha512 ?? '',
    })
    const bun = sbom.components.find((it) => it.purl === `pkg:npm/bun@${BUN}`)
    expect(bun?.components?.map(({ purl }) => purl).toSorted()).toEqual(
      TARGETS.map(({ runtime }) => `pkg:npm/${runtime.replace('@', '%40')}@${BUN}`).toSorted(),
    )
  })

  test('lists copied code within a package, and so do the notices', async () => {
    const packages = some({ copies: [{ name: 'mitt', license_text: 'Words of mitt.' }] })
    const sbom = ParsedSbom.parse(JSON.parse(await sbomOf(packages, RUNTIMES, DAY)))

    expect(sbom.components.flatMap((it) => it.components ?? []).map(({ name }) => name)).toContain(
      'mitt',
    )
    expect(noticesOf(packages)).toContain('\nmitt\na copy within some 1.2.3\n\nWords of mitt.\n')
  })

  test('lists the dependencies of each package', async () => {
    const { dependencies } = ParsedSbom.parse(
      JSON.parse(await sbomOf(bundledOf(INPUTS), RUNTIMES, DAY)),
    )

    expect(dependencies.find(({ ref }) => ref === 'tough-cookie')?.dependsOn).toEqual(['tldts'])
    expect(dependencies.find(({ ref }) => ref === `forumd@${version}`)?.dependsOn).toHaveLength(6)
  })

  test('has the same bytes for the same materials, and another serial number for others', async () => {
    const once = await sbomOf(bundledOf(INPUTS), RUNTIMES, DAY)
    const turned = new Map([...bundledOf(INPUTS)].toReversed())
    const again = await sbomOf(turned, new Map([...RUNTIMES].toReversed()), DAY)
    const other = await sbomOf(bundledOf(INPUTS.slice(2)), RUNTIMES, DAY)

    expect(createHash('sha256').update(again).digest('hex')).toBe(
      createHash('sha256').update(once).digest('hex'),
    )
    expect(ParsedSbom.parse(JSON.parse(other)).serialNumber).not.toBe(
      ParsedSbom.parse(JSON.parse(once)).serialNumber,
    )
  })

  test.each([
    ['an invalid checksum', { sha512: 'short' }, 'short is no SHA-512'],
    [
      'a licence that SPDX does not know',
      { license: 'MIT-ish' },
      'MIT-ish is not in the SPDX licence list',
    ],
    ['a value that its schema forbids', { version: '1'.repeat(2000) }, 'breaks its schema'],
  ])('is refused with %s', async (_, change, reason) => {
    expect(sbomOf(some(change), RUNTIMES, DAY)).rejects.toThrow(reason)
  })
})

describe('the notices', () => {
  test('contain each licence under the name of the package', () => {
    const notices = noticesOf(some({ name: 'one', license_text: 'Words of one.' }))

    expect(notices).toContain('\none 1.2.3\nMIT\n\nWords of one.\n')
    expect(notices).toContain(`\nBun ${BUN}\n`)
  })

  test('refer a package without a licence text to an equal one, and name its author', () => {
    const notices = noticesOf(
      some({ name: 'bare', license_text: null, author: 'Ann' }, { name: 'full' }),
    )

    expect(notices).toContain(
      'bare 1.2.3\nMIT\n\nThe package contains no text of its licence; its author is Ann.\nThe text is that of full,',
    )
  })

  test('are refused when no licence text is available', () => {
    const packages = some({ name: 'bare', license: 'ISC', license_text: null }, { name: 'full' })

    expect(() => noticesOf(packages)).toThrow('bare contains no text of its licence, ISC')
  })
})

test('the runtimes are pinned in the version of the build', () => {
  expect([...RUNTIMES.values()].every((it) => /^[0-9a-f]{128}$/.test(it))).toBe(true)
  expect(() => runtimeSha512('@oven/bun-linux-mips')).toThrow('not at all')
  expect(() => runtimeSha512('@oven/bun-linux-x64', '9.9.9')).toThrow(
    `has @oven/bun-linux-x64 ${BUN}, but forumd needs Bun 9.9.9`,
  )
})
