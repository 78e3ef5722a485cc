import { license, version } from '../../../package.json'
import { BUN } from '../runtimes.ts'
import type { Runtimes } from './sbom.ts'

/** Inputs of a build: the checkout and the SHA-256 of its lock file. `revision`: null without a repository. */
export type Sources = { revision: string | null; is_clean: boolean; lock_sha256: string }

/** A file of a release and its SHA-256 in hex. */
export type Subject = { name: string; sha256: string }

/** Documentation of the parameters below. */
const BUILD_TYPE = 'https://forumd.example/docs/install.md#verify-a-download'

/**
 * Provenance of the files as a statement of in-toto with a predicate of SLSA, in JSON: which sources and runtimes they are
 * made of, by which command. The same build gives the same bytes. It is unsigned; the checksum of its file is in SHA256SUMS, which is signed.
 *
 * @see https://slsa.dev/spec/v1.0/provenance
 */
export function provenanceOf(
  subjects: readonly Subject[],
  { revision, is_clean, lock_sha256 }: Sources,
  runtimes: Runtimes,
): string {
  const sources = revision === null ? {} : { digest: { gitCommit: revision } }
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { command: 'bun run release', version, license },
        internalParameters: { bun: BUN, clean_checkout: is_clean },
        resolvedDependencies: [
          { name: 'forumd', ...sources },
          { name: 'bun.lock', digest: { sha256: lock_sha256 } },
          ...[...runtimes].map(([name, sha512]) => ({
            uri: `pkg:npm/${name.replace('@', '%40')}@${BUN}`,
            digest: { sha512 },
          })),
        ],
      },
      runDetails: {
        builder: { id: 'https://forumd.example/scripts/packages/release.ts' },
      },
    },
  }
  return `${JSON.stringify(statement, null, 2)}\n`
}
