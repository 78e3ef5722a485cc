import type { Ring } from '../../core/base/secrets.ts'
import { type Jwk, publicKeyOf, thumbprintOf } from '../../core/certificate/signed.ts'
import { type Db, transact } from '../db/connection.ts'

const SEED_BYTES = 32

const placeOf = (id: string) => `signing_keys.private_key:${id}`

type KeyDeps = { db: Db; ring: Ring; random: { bytes(count: number): Uint8Array }; now: number }

/** A key that signs: its id, and its seed of 32 bytes. */
type SigningKey = { id: string; seed: Uint8Array }

/** The key that signs now; made and stored on first use. */
export const currentKey = (deps: KeyDeps): SigningKey =>
  transact(deps.db, () => {
    const row = deps.db
      .query<{ id: string; private_key: Uint8Array }, []>(
        'SELECT id, private_key FROM signing_keys WHERE retired_at IS NULL',
      )
      .get()
    if (row === null) return insertKey(deps)
    const seed = Buffer.from(deps.ring.unseal(placeOf(row.id), row.private_key), 'base64')
    return { id: row.id, seed }
  })

function insertKey({ db, ring, random, now }: KeyDeps): SigningKey {
  const seed = random.bytes(SEED_BYTES)
  const public_key = publicKeyOf(seed)
  const id = thumbprintOf(public_key)
  db.query(
    `INSERT INTO signing_keys (id, public_key, private_key, created_at)
     VALUES ($id, $public_key, $private_key, $now)`,
  ).run({
    id,
    public_key: new Uint8Array(public_key),
    private_key: ring.seal(placeOf(id), Buffer.from(seed).toString('base64')),
    now,
  })
  return { id, seed }
}

/** Most keys of an instance; each stays in the published set. */
export const KEYS_MAX = 100

/**
 * Replaces the key that signs. The former one stays published as retired, or revoked, so that what it signed is no longer
 * accepted; its private part is deleted. Null: there are {@link KEYS_MAX} keys.
 */
export const rotateKey = (
  deps: KeyDeps,
  { revoke }: { revoke: boolean },
): { id: string; former: string | null } | null =>
  transact(deps.db, () => {
    const { db, now } = deps
    if (listSigningKeys(db).length >= KEYS_MAX) return null
    const former = retireKey(db, now, revoke ? now : null)
    return { id: insertKey(deps).id, former }
  })

/** Ends the key that signs, and deletes its private part. Returns its id; null: there was none. */
export const retireKey = (db: Db, now: number, revoked_at: number | null = null): string | null =>
  db
    .query<{ id: string }, [{ now: number; revoked_at: number | null }]>(
      `UPDATE signing_keys SET private_key = NULL, retired_at = max($now, created_at), revoked_at = $revoked_at
        WHERE retired_at IS NULL RETURNING id`,
    )
    .get({ now, revoked_at })?.id ?? null

/** A published key. Epoch ms; null: still signs, not revoked. */
export type PublishedKey = {
  id: string
  public_key: Uint8Array
  created_at: number
  retired_at: number | null
  revoked_at: number | null
}

/** Every key of the instance, newest first. */
export const listSigningKeys = (db: Db): PublishedKey[] =>
  db
    .query<PublishedKey, []>(
      `SELECT id, public_key, created_at, retired_at, revoked_at FROM signing_keys
        ORDER BY retired_at IS NOT NULL, created_at DESC, id`,
    )
    .all()

const seconds = (at: number): number => Math.floor(at / 1000)

/**
 * A key as a JSON Web Key.
 * @see https://www.rfc-editor.org/rfc/rfc8037
 */
export const toJwk = ({
  id,
  public_key,
  created_at,
  retired_at,
  revoked_at,
}: PublishedKey): Jwk => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: Buffer.from(public_key).toString('base64url'),
  kid: id,
  use: 'sig',
  alg: 'EdDSA',
  iat: seconds(created_at),
  ...(retired_at !== null && { retired_at: seconds(retired_at) }),
  ...(revoked_at !== null && { revoked_at: seconds(revoked_at) }),
})
