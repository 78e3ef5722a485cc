// Goal: a program that knows nothing but docs/certificate.md and the RFCs verifies what is signed here. Method: a verifier in
// Python, with arithmetic of its own, on a certificate, on changed ones, and on keys that did not sign it.
import { expect, test } from 'bun:test'
import { join } from 'node:path'

import { certify, publicKeyOf, thumbprintOf } from '../../../src/core/certificate/signed.ts'
import { toJwk } from '../../../src/store/certificate/keys.ts'
import { tempFolder } from '../../support/folder.ts'

const SEED = new Uint8Array(32).fill(7)
const ISSUED_AT = '2026-10-31T12:00:00.000Z'
const STATEMENT = {
  issued_at: ISSUED_AT,
  monitor: { name: 'Grüße "a\\b" \u0007 🦓\u2028', '\ufb33': 1, '😀': 2 },
  coverage: { complete_s: 86_400, verified_until: null, worst: false },
  days: [],
}

const keyOf = (seed: Uint8Array, fields: { retired_at?: number; revoked_at?: number } = {}) => {
  const public_key = publicKeyOf(seed)
  return toJwk({
    id: thumbprintOf(public_key),
    public_key,
    created_at: Date.parse(ISSUED_AT) - 1000,
    retired_at: fields.retired_at ?? null,
    revoked_at: fields.revoked_at ?? null,
  })
}

const without_python = Bun.which('python3') === null
if (without_python) console.warn('skipped: python3 is not installed')

/** Exit code and output of the verifier. */
async function verdictOf(certificate: unknown, keys: object[]): Promise<[number, string]> {
  using folder = tempFolder()
  const [file, key_file] = [folder.file('certificate.json'), folder.file('keys.json')]
  await Bun.write(file, JSON.stringify(certificate))
  await Bun.write(key_file, JSON.stringify({ keys }))
  const run = Bun.spawn(['python3', join(import.meta.dir, 'verify.py'), file, key_file])
  return [await run.exited, (await new Response(run.stdout).text()).trim()]
}

test.skipIf(without_python)('a certificate is verified by an independent program', async () => {
  const certificate = certify(SEED, STATEMENT)
  expect(await verdictOf(certificate, [keyOf(new Uint8Array(32)), keyOf(SEED)])).toEqual([0, 'ok'])
  const retired_at = Date.parse(ISSUED_AT) + 1000
  expect(await verdictOf(certificate, [keyOf(SEED, { retired_at })])).toEqual([0, 'ok'])
})

test.skipIf(without_python)(
  'a changed one, and one of a key that did not sign it, is not',
  async () => {
    const certificate = certify(SEED, STATEMENT)
    const { statement } = certificate
    const changed = { ...certificate, statement: { ...statement, days: [1] } }
    const retired_at = Date.parse(ISSUED_AT) - 600_000
    expect(await verdictOf(changed, [keyOf(SEED)])).toEqual([
      1,
      'changed, or signed by another key',
    ])
    expect((await verdictOf(certificate, [keyOf(new Uint8Array(32))]))[0]).toBe(1)
    expect((await verdictOf(certificate, [keyOf(SEED, { retired_at })]))[0]).toBe(1)
    expect((await verdictOf(certificate, [keyOf(SEED, { revoked_at: retired_at })]))[0]).toBe(1)
    expect((await verdictOf({ statement }, [keyOf(SEED)]))[0]).toBe(2)
  },
)
