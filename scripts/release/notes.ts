import { BUN } from './runtimes.ts'
import { GLIBC_LEAST } from './targets.ts'
import type { Run } from './try-run.ts'

/** A file of a release, with where it runs and whether it was tried. */
export type Artifact = { file: string; bytes: number; run: Run }

/** What is said of a release, in Markdown: what is new, what there is, and what of it was never run. */
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

Run means: it told its version, judged the example configuration, and its demo read, matched and delivered. Of each executable
the machine, the loader and the libraries it asks for were looked at, and it was made twice, with the same bytes.
All are made of Bun ${BUN}. Those for glibc want ${GLIBC_LEAST} or later; those for musl want \`libstdc++\` (\`apk add libstdc++\`).

\`forumd-${version}.cdx.json\` is the bill of materials (CycloneDX 1.6), \`THIRD-PARTY-NOTICES\` the licences of what is in the
executable. \`sha256sum --check --ignore-missing SHA256SUMS\` holds what you have fetched to what was made; docs/install.md has
the rest.
`
}
