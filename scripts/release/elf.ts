import { runCommand } from './run-command.ts'

/** System requirements of an executable. `needed`: names of the required shared libraries. */
export type Elf = {
  machine: 'x86-64' | 'aarch64'
  interpreter: string
  needed: readonly string[]
  /** Newest glibc version it requires; empty for none. */
  glibc: string
}

const MACHINES: Readonly<Record<string, Elf['machine']>> = {
  'Advanced Micro Devices X86-64': 'x86-64',
  AArch64: 'aarch64',
}

/** Section in which Bun stores its bundle; eight bytes long in a bare runtime. */
const BUNDLE = /^ +\[ *\d+\] \.bun +\S+ +\S+ +\S+ +([0-9a-f]+) /m
const BUNDLE_BYTES = 1_000_000

/**
 * Reads an executable with readelf.
 *
 * @throws {Error} if it is not a 64-bit program or contains no bundle
 */
export async function readElf(file: string): Promise<Elf> {
  const flags = [
    '--wide',
    '--file-header',
    '--program-headers',
    '--section-headers',
    '--dynamic',
    '--version-info',
  ]
  return elfIn(await runCommand(['readelf', ...flags, file], { env: { LC_ALL: 'C' } }))
}

/** Parses the output of readelf. */
export function elfIn(printed: string): Elf {
  const one = (what: string, pattern: RegExp) => {
    const found = pattern.exec(printed)?.[1]
    if (found === undefined) throw new Error(`readelf prints no ${what}`)
    return found
  }
  const kind = `${one('class', /^ +Class: +(\S+)/m)} ${one('type', /^ +Type: +(\S+)/m)}`
  if (kind !== 'ELF64 EXEC') throw new Error(`it is ${kind}, not a 64-bit program`)
  const machine = MACHINES[one('machine', /^ +Machine: +(.+?) *$/m)]
  if (machine === undefined) throw new Error('it is for a machine without a release')
  const bytes = Number.parseInt(one('bundle', BUNDLE), 16)
  if (bytes < BUNDLE_BYTES) throw new Error(`its bundle has ${bytes} bytes: it is a bare runtime`)
  return {
    machine,
    interpreter: one('interpreter', /\[Requesting program interpreter: (.+?)\]/),
    needed: [...printed.matchAll(/\(NEEDED\) +Shared library: \[(.+?)\]/g)]
      .map((it) => it[1] ?? '')
      .toSorted(),
    glibc: newest([...printed.matchAll(/\bGLIBC_(\d+\.[\d.]*\d)\b/g)].map((it) => it[1] ?? '')),
  }
}

const newest = (versions: readonly string[]) =>
  versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? ''

/** Differences between an executable and its target; empty if there are none. */
export function elfFaults(found: Elf, wanted: Elf): string[] {
  const summary = (it: Elf) => ({ ...it, needed: it.needed.toSorted().join(' ') })
  const [was, should] = [summary(found), summary(wanted)]
  return (['machine', 'interpreter', 'needed', 'glibc'] as const)
    .filter((key) => was[key] !== should[key])
    .map((key) => `${key} is ${was[key] || 'none'}, expected ${should[key] || 'none'}`)
}
