/**
 * Checks that the time to refuse a key does not reveal how close a guess was (method: dudect). Guesses of two
 * kinds are timed in random order, and Welch's t test compares the two distributions. A comparison that stops
 * at the first wrong character is timed as a control and must be detected. Then the tests of isolation and of
 * secrets run. Exit code 0 only if |t| stays below 4.5 for every pair, exceeds it for the control, and the
 * tests pass.
 *
 *     bun scripts/bars/isolation.ts [--samples 20000] [--seed N]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { createSeededRandom } from '../../sandbox/world/random.ts'
import { createAuthenticate, createFailedAuth } from '../../src/api/http/auth.ts'
import { createMetrics } from '../../src/api/metrics/registry.ts'
import { ApiError } from '../../src/core/base/errors.ts'
import { apiKey } from '../../src/core/base/ids.ts'
import { insertCustomer } from '../../src/store/customers/customers.ts'
import { insertKey } from '../../src/store/customers/keys.ts'
import { openDb } from '../../src/store/db/connection.ts'
import { SEED } from './seed.ts'

const { values } = parseArgs({
  options: {
    samples: { type: 'string', default: '20000' },
    seed: SEED,
  },
})
const SAMPLES = Number(values.samples)
const T_MAX = 4.5
/** Share of the slowest samples that is dropped as machine noise. */
const CUT = 0.1
const WARM_UP = 2000
const KEYS = 200
const chance = createSeededRandom(Number(values.seed))
const bytes = (count: number) => Uint8Array.from({ length: count }, () => chance.whole(0, 255))

const db = openDb(':memory:', { create: true })
insertCustomer(db, {
  id: 'cus_1',
  name: 'ann',
  plan: 'entry',
  created_at: 0,
  starting_credit_micros: 0,
  payment_id: 'pay_1',
})
const tokens = Array.from({ length: KEYS }, () => apiKey('customer', bytes(32)))
for (const [n, token] of tokens.entries())
  insertKey(db, {
    id: `key_${n}`,
    customer_id: 'cus_1',
    token,
    name: null,
    scopes: ['read'],
    created_at: 0,
    expires_at: null,
  })
const clock = { now: () => 1, mono: () => 0, sleep: () => Promise.resolve() }
// Without the rate limit of failures: the lookup of a key is timed, not the limit.
const failed_auth = createFailedAuth({
  clock,
  random: { bytes },
  limits: { failed_auth_per_minute: 0 },
  log: () => {},
  metrics: createMetrics({}),
})
const authenticate = createAuthenticate(db, clock, failed_auth)

const real = () => chance.pick(tokens)
const other = (character: string | undefined) => (character === 'a' ? 'b' : 'a')
/** Guesses with the length of a key, by their distance from a real one. */
const GUESSES = {
  anything: () => apiKey('customer', bytes(32)),
  'right but for the last character': () => {
    const token = real()
    return token.slice(0, -1) + other(token.at(-1))
  },
  'right in its visible prefix': () => real().slice(0, 8) + apiKey('customer', bytes(32)).slice(8),
} as const
type Guess = () => string

/** Welch's t between the times of two kinds of guesses, all of them wrong. */
function compare(refuse: (token: string) => void, a: Guess, b: Guess): number {
  // All guesses are created beforehand and in the same way, so that their creation is not timed.
  const guesses = Array.from({ length: WARM_UP + SAMPLES }, () => {
    const kind = chance.whole(0, 1) === 0 ? 0 : 1
    return { kind, token: Buffer.from((kind === 0 ? a : b)()).toString('latin1') } as const
  })
  const times: [number[], number[]] = [[], []]
  for (const [n, { kind, token }] of guesses.entries()) {
    const before = Bun.nanoseconds()
    refuse(token)
    const took = Bun.nanoseconds() - before
    if (n >= WARM_UP) times[kind].push(took)
  }
  const slowest =
    times.flat().toSorted((x, y) => x - y)[Math.floor(SAMPLES * (1 - CUT))] ?? Infinity
  const [x, y] = times.map((all) => momentsOf(all.filter((it) => it <= slowest)))
  return x && y ? (x.mean - y.mean) / Math.sqrt(x.variance / x.count + y.variance / y.count) : NaN
}

function momentsOf(all: readonly number[]) {
  const mean = all.reduce((sum, it) => sum + it, 0) / all.length
  const variance = all.reduce((sum, it) => sum + (it - mean) ** 2, 0) / (all.length - 1)
  return { mean, variance, count: all.length }
}

function refused(token: string): void {
  try {
    authenticate(token, () => 'here')
  } catch (error) {
    if (error instanceof ApiError) return
    throw error
  }
  throw new Error('a guess was right')
}

/** The control: an early-exit comparison. */
function naive(token: string): void {
  for (const other_token of tokens) {
    let at = 0
    while (at < other_token.length && other_token[at] === token[at]) at += 1
    if (at === other_token.length) throw new Error('a guess was right')
  }
}

console.log(`${SAMPLES} samples a pair, seed ${values.seed}`)
const { anything, ...near } = GUESSES
let good = true
for (const [name, guess] of Object.entries(near)) {
  const t = compare(refused, anything, guess)
  console.log(`a guess that is ${name}: |t| ${Math.abs(t).toFixed(2)}, at most ${T_MAX}`)
  good &&= Math.abs(t) < T_MAX
}
const control = compare(naive, anything, near['right but for the last character'])
console.log(
  `a comparison that stops early: |t| ${Math.abs(control).toFixed(2)}, must be above ${T_MAX}`,
)
good &&= Math.abs(control) > T_MAX
db.close()

const tests = Bun.spawn(
  [
    process.execPath,
    'test',
    'test/integration/isolation.test.ts',
    'test/integration/secrets.test.ts',
  ],
  { cwd: join(import.meta.dir, '../..'), stdout: 'inherit', stderr: 'inherit' },
)
process.exit((await tests.exited) === 0 && good ? 0 : 1)
