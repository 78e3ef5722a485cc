// Goal: the samples for asymmetric signatures accept what forumd signs and nothing else. Method: each
// is run with the headers of a delivery, then with one of them, or the body, changed.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { newTargetSecret, signedHeaders, toPublicKey } from '../../src/core/delivery/signature.ts'
import { installsAll, isLongForm } from '../support/long-form.ts'
import { root } from './documentation.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'forumd-asymmetric-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const sample = (name: string) => join(root, 'examples/asymmetric', name)
const binary = join(folder, 'verify')
const COMMANDS: Record<string, string[]> = {
  node: ['node', sample('verify.mjs')],
  python3: ['python3', sample('verify.py')],
  go: [binary],
}
const HAS = {
  python3: ['python3', '-c', 'import cryptography'],
  go: ['go', 'build', '-o', binary, sample('verify.go')],
}
const works = (command: string[]) =>
  Bun.which(command[0] ?? '') !== null &&
  Bun.spawnSync(command, {
    env: { ...process.env, GOFLAGS: '-mod=mod', GOCACHE: join(folder, 'cache') },
  }).exitCode === 0
// Go compiles its standard library first.
const wanted = Object.keys(COMMANDS).filter((it) => it !== 'go' || isLongForm)
const here = wanted.filter((it) => works(Reflect.get(HAS, it) ?? ['node', '--version']))
const absent = wanted.filter((it) => !here.includes(it))
if (absent.length > 0 && installsAll) throw new Error(`not installed: ${absent.join(', ')}`)
if (absent.length > 0) console.log(`samples not run, for want of: ${absent.join(', ')}`)

const random = { bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)) }

test.each(here)(
  'the sample for %s verifies a delivery and refuses every change of it',
  (language) => {
    const [mine, other] = [newTargetSecret(random, true), newTargetSecret(random, true)]
    const keyOf = ({ public_key }: typeof mine) => toPublicKey(public_key ?? new Uint8Array())
    const body = new TextEncoder().encode('{"title":"A quiet grinder — für „zuhause“? ☕"}')
    const now_s = Math.floor(Date.now() / 1000)
    const given = (at_s = now_s, { stored } = mine, old: string | null = null) => {
      const signature = signedHeaders(stored, 'dlv_1', at_s, body, old)['webhook-signature'] ?? ''
      return { key: keyOf(mine), id: 'dlv_1', at: String(at_s), signature, body }
    }
    const accepts = ({ key, id, at, signature, body: sent }: ReturnType<typeof given>) =>
      Bun.spawnSync([...(COMMANDS[language] ?? []), key, id, at, signature], {
        stdin: Buffer.from(sent),
      }).exitCode === 0
    const valid = given()

    expect(accepts(valid)).toBe(true)
    // During a rotation the receiver may still have the old key.
    expect(accepts(given(now_s, other, mine.stored))).toBe(true)
    for (const change of [
      { body: new TextEncoder().encode('{"title":"another"}') },
      { id: 'dlv_2' },
      { at: String(now_s + 1) },
      { key: keyOf(other) },
      { key: '' },
      { signature: '' },
      { signature: valid.signature.replace('v1a,', 'v1,') },
      given(now_s - 400),
      given(now_s + 400),
    ])
      expect(accepts({ ...valid, ...change })).toBe(false)
  },
)
