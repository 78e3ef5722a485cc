import type { Session, User, World } from './model.ts'
import { SESSION_FIELDS } from './sessions.ts'

/** Somebody the sandbox can be signed in as. Everything here is invented. */
export type AccountSheet = {
  username: string
  password: string
  totp_secret: string | null
  /** By the platform's own names. */
  cookies: Record<string, string>
  /** Renews an application's token in this user's name. */
  refresh_token: string | null
  flags: { suspended: boolean; curated: boolean; premium: boolean; verified: boolean }
}

/** What there is: the seed, the clock, the places, the accounts, how much of everything. */
export function overview(world: World, seed: number, session_cookie: string) {
  return {
    seed,
    now: new Date(world.now()).toISOString(),
    session_cookie,
    subforums: [...world.subforums.values()].map(({ name }) => name),
    application: [...world.applications.values()][0] ?? null,
    accounts: [...world.users.values()].flatMap((user) => sheet(world, user)),
    counts: {
      users: world.users.size,
      subforums: world.subforums.size,
      posts: [...world.things.values()].filter(({ kind }) => kind === 't3').length,
      comments: [...world.things.values()].filter(({ kind }) => kind === 't1').length,
    },
  }
}

function sheet(world: World, user: User): AccountSheet[] {
  const session = [...world.sessions.values()].find((it) => it.user === user && !it.revoked)
  if (user.password === null || session === undefined) return []
  return [
    {
      username: user.name,
      password: user.password,
      totp_secret: user.totp_secret,
      cookies: cookiesOf(session),
      refresh_token: refreshTokenOf(world, user),
      flags: {
        suspended: user.standing === 'suspended',
        curated: user.curated,
        premium: user.premium,
        verified: user.verified,
      },
    },
  ]
}

/** The newest that was granted in somebody's name. */
const refreshTokenOf = ({ grants }: World, user: User): string | null =>
  [...grants].findLast(([, owner]) => owner === user)?.[0] ?? null

/** What a browser holds of a session, by the platform's own names. */
export const cookiesOf = (session: Session): Record<string, string> =>
  Object.fromEntries(SESSION_FIELDS.map(([cookie, field]) => [cookie, session[field]]))
