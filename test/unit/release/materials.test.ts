// Goal: what is told to be in an executable is what is in it: by bun.lock, with its checksum and its licence.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'

import * as z from 'zod'

import lock from '../../../bun.lock'
import { version } from '../../../package.json'
import { type Bundled, bundledOf } from '../../../scripts/release/bundled.ts'
import { noticesOf } from '../../../scripts/release/notices.ts'
import { BUN, runtimeSha512 } from '../../../scripts/release/runtimes.ts'
import { sbomOf } from '../../../scripts/release/sbom.ts'
import { TARGETS } from '../../../scripts/release/targets.ts'

// The schema of CycloneDX is compiled each time: a second of work, and many where others work too.
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

/** A package as it may be, without one in node_modules. */
const given = (change: Partial<Bundled>): Bundled => ({
  name: 'some',
  version: '1.2.3',
  sha512: 'ab'.repeat(64),
  license: 'MIT',
  license_text: 'Do as you like.',
  author: null,
  asks: [],
  copies: [],
  ...change,
})
const some = (...packages: Partial<Bundled>[]) =>
  new Map(packages.map((it) => [it.name ?? 'some', given(it)]))

describe('the packages of a build', () => {
  test('are those that its files come from, each once, by name', () => {
    expect([...bundledOf(INPUTS).keys()]).toEqual([
      '@scalar/api-reference',
      'https-proxy-agent',
      'tldts',
      'tldts-core',
      'tough-cookie',
    ])
  })

  test('have the version and the checksum that bun.lock pins', () => {
    const cookies = bundledOf(INPUTS).get('tough-cookie')
    const [pinned, , , integrity] = z
      .tuple([z.string(), z.string(), z.unknown(), z.string()])
      .parse(lock.packages['tough-cookie'])

    expect(`${cookies?.name}@${cookies?.version}`).toBe(pinned)
    expect(`sha512-${Buffer.from(cookies?.sha512 ?? '', 'hex').toString('base64')}`).toBe(integrity)
  })

  test('ask for those of the others that they need', () => {
    expect(bundledOf(INPUTS).get('tough-cookie')?.asks).toEqual(['tldts'])
    expect(bundledOf(INPUTS).get('tldts')?.asks).toEqual(['tldts-core'])
  })

  test('tell of what their makers have copied into them, by which licence', () => {
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
      'left-alone is in the executable and not pinned in bun.lock',
    )
  })

  test('are refused when one is not there in the version that is pinned', () => {
    const pins = { ...lock.packages, tldts: ['tldts@1.0.0', '', {}, 'sha512-AAAA'] }

    expect(() => bundledOf(INPUTS, pins)).toThrow(
      /^tldts is in the executable as \S+; bun.lock pins 1.0.0$/,
    )
  })
})

const Told = z.object({
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
    const told = Told.parse(JSON.parse(await sbomOf(bundledOf(INPUTS), RUNTIMES, DAY)))

    expect(told.metadata).toMatchObject({
      timestamp: '2026-11-20T00:00:00.000Z',
      component: { name: 'forumd', version },
    })
    const cookies = told.components.find((it) => it['bom-ref'] === 'tough-cookie')
    expect(cookies?.purl).toMatch(/^pkg:npm\/tough-cookie@\d/)
    expect(cookies?.hashes?.[0]).toMatchObject({
      alg: 'SHA-512',
      content: bundledOf(INPUTS).get('tough-cookie')?.sha512 ?? '',
    })
    const bun = told.components.find((it) => it.purl === `pkg:npm/bun@${BUN}`)
    expect(bun?.components?.map(({ purl }) => purl).toSorted()).toEqual(
      TARGETS.map(({ runtime }) => `pkg:npm/${runtime.replace('@', '%40')}@${BUN}`).toSorted(),
    )
  })

  test('names what a package holds a copy of, and so do the notices', async () => {
    const packages = some({ copies: [{ name: 'mitt', license_text: 'Words of mitt.' }] })
    const told = Told.parse(JSON.parse(await sbomOf(packages, RUNTIMES, DAY)))

    expect(told.components.flatMap((it) => it.components ?? []).map(({ name }) => name)).toContain(
      'mitt',
    )
    expect(noticesOf(packages)).toContain('\nmitt\na copy within some 1.2.3\n\nWords of mitt.\n')
  })

  test('tells which package asks for which', async () => {
    const { dependencies } = Told.parse(JSON.parse(await sbomOf(bundledOf(INPUTS), RUNTIMES, DAY)))

    expect(dependencies.find(({ ref }) => ref === 'tough-cookie')?.dependsOn).toEqual(['tldts'])
    expect(dependencies.find(({ ref }) => ref === `forumd@${version}`)?.dependsOn).toHaveLength(6)
  })

  test('has the same bytes for the same materials, and another number for others', async () => {
    const once = await sbomOf(bundledOf(INPUTS), RUNTIMES, DAY)
    const turned = new Map([...bundledOf(INPUTS)].toReversed())
    const again = await sbomOf(turned, new Map([...RUNTIMES].toReversed()), DAY)
    const other = await sbomOf(bundledOf(INPUTS.slice(2)), RUNTIMES, DAY)

    expect(createHash('sha256').update(again).digest('hex')).toBe(
      createHash('sha256').update(once).digest('hex'),
    )
    expect(Told.parse(JSON.parse(other)).serialNumber).not.toBe(
      Told.parse(JSON.parse(once)).serialNumber,
    )
  })

  test.each([
    ['a checksum that is none', { sha512: 'short' }, 'short is no SHA-512'],
    ['a licence that SPDX does not know', { license: 'MIT-ish' }, 'MIT-ish is no licence'],
    ['what its schema forbids', { version: '1'.repeat(2000) }, 'breaks its schema'],
  ])('is refused with %s', async (_, change, reason) => {
    expect(sbomOf(some(change), RUNTIMES, DAY)).rejects.toThrow(reason)
  })
})

describe('the notices', () => {
  test('have the words of each licence under the name of the package', () => {
    const told = noticesOf(some({ name: 'one', license_text: 'Words of one.' }))

    expect(told).toContain('\none 1.2.3\nMIT\n\nWords of one.\n')
    expect(told).toContain(`\nBun ${BUN}\n`)
  })

  test('of a package without the words say where they stand, and whose it is', () => {
    const told = noticesOf(
      some({ name: 'bare', license_text: null, author: 'Ann' }, { name: 'full' }),
    )

    expect(told).toContain(
      'bare 1.2.3\nMIT\n\nThe package comes without the words of its licence; its author is Ann.\nThey are those that stand under full,',
    )
  })

  test('are refused when nothing has the words', () => {
    const packages = some({ name: 'bare', license: 'ISC', license_text: null }, { name: 'full' })

    expect(() => noticesOf(packages)).toThrow('bare comes without its licence, ISC')
  })
})

test('the runtimes are pinned in the version that everything is made for', () => {
  expect([...RUNTIMES.values()].every((it) => /^[0-9a-f]{128}$/.test(it))).toBe(true)
  expect(() => runtimeSha512('@oven/bun-linux-mips')).toThrow('not at all')
  expect(() => runtimeSha512('@oven/bun-linux-x64', '9.9.9')).toThrow(
    `has @oven/bun-linux-x64 ${BUN}, and this is made for Bun 9.9.9`,
  )
})
