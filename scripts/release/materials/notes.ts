import { BUN } from '../runtimes.ts'
import { GLIBC_LEAST, MACOS_LEAST } from '../targets.ts'
import type { Run } from '../try-run.ts'

/** A file of a release, with its target and its test run. */
export type Artifact = { file: string; bytes: number; run: Run }

/** Release notes in Markdown: the changes, the files, and which of them were run. */
export function notesOf(version: string, news: string, artifacts: readonly Artifact[]): string {
  const rows = artifacts.map(
    ({ file, bytes, run }) =>
      `| \`${file}\` | ${(bytes / 1e6).toFixed(1)} MB | ${run.ran ? 'yes' : '**no**'} | ${run.how} |`,
  )
  return `# forumd ${version}

${news}

## What there is

| File | Size | Was its executable run? | How, or why not |
| ---- | ---- | ----------------------- | --------------- |
${rows.join('\n')}

Run means: it printed its version, checked the example configuration, and its demo read, matched and delivered. For each executable
the machine, the loader and the required libraries were checked, and two builds had the same bytes.
All are made of Bun ${BUN}. Those for glibc want ${GLIBC_LEAST} or later; those for musl want \`libstdc++\` (\`apk add libstdc++\`); those for macOS
want ${MACOS_LEAST} or later, have a signature without an identity, and were not run: no machine that builds a release is a Mac.

\`forumd-${version}.cdx.json\` is the bill of materials (CycloneDX 1.6), \`forumd-${version}.provenance.json\` says of which
sources and runtimes the files are made (SLSA 1.0), \`THIRD-PARTY-NOTICES\` has the licences of what is in the executable. \`sha256sum --check --ignore-missing SHA256SUMS\` holds what you have fetched to what was made; docs/install.md has
the rest.
`
}
