// Goal: a user can verify with public tools who released the files, and what they are made of.
import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'

import { provenanceOf } from '../../../../scripts/release/materials/provenance.ts'
import { signed } from '../../../../scripts/release/materials/signature.ts'
import { runtimeSha512 } from '../../../../scripts/release/runtimes.ts'
import { tempFolder } from '../../../support/folder.ts'

const pem = (type: 'ed25519' | 'x25519') => {
  const { privateKey } =
    type === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('x25519')
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

test('openssl verifies the signature of the checksums with the public key alone, and no other text', () => {
  using folder = tempFolder()
  const sums = 'aa  forumd.tar.gz\n'
  const { signature, public_key } = signed(sums, pem('ed25519'))
  writeFileSync(folder.file('SHA256SUMS.sig'), signature)
  writeFileSync(folder.file('release.pub'), public_key)
  const verify = (text: string) => {
    writeFileSync(folder.file('SHA256SUMS'), text)
    const args = '-verify -rawin -pubin -inkey release.pub -sigfile SHA256SUMS.sig -in SHA256SUMS'
    return Bun.spawnSync(['openssl', 'pkeyutl', ...args.split(' ')], { cwd: folder.path }).exitCode
  }

  expect(public_key).toStartWith('-----BEGIN PUBLIC KEY-----')
  expect(verify(sums)).toBe(0)
  expect(verify(sums.replace('aa', 'ab'))).toBe(1)
})

test('a key of another kind is refused', () => {
  expect(() => signed('x', pem('x25519'))).toThrow('the key must be ed25519, not x25519')
})

test('a statement names each file with its digest, the revision and the runtimes', () => {
  const name = '@oven/bun-linux-x64'
  const text = provenanceOf(
    [{ name: 'forumd.tar.gz', sha256: 'ab'.repeat(32) }],
    { revision: 'c0ffee', is_clean: true, lock_sha256: 'cd'.repeat(32) },
    new Map([[name, runtimeSha512(name)]]),
  )
  const { _type, subject, predicate } = JSON.parse(text)
  const { resolvedDependencies, internalParameters } = predicate.buildDefinition

  expect(_type).toBe('https://in-toto.io/Statement/v1')
  expect(subject).toEqual([{ name: 'forumd.tar.gz', digest: { sha256: 'ab'.repeat(32) } }])
  expect(internalParameters).toEqual({ bun: '1.4.4', clean_checkout: true })
  expect(resolvedDependencies).toEqual([
    { name: 'forumd', digest: { gitCommit: 'c0ffee' } },
    { name: 'bun.lock', digest: { sha256: 'cd'.repeat(32) } },
    {
      uri: 'pkg:npm/%40oven/bun-linux-x64@1.4.4',
      digest: { sha512: runtimeSha512(name) },
    },
  ])
})
