import type { Session, User, World } from './model.ts'
import type { Read } from './read.ts'
import { findBearer, findSession, SESSION_COOKIE } from './sessions.ts'
import type { Weather } from './weather.ts'

/** Who sent a request. */
export type Identity = {
  user: User | null
  session: Session | null
  modhash: string | null
  /** Whether it was let in at all: the bearer host lets nobody in without a living token. */
  let_in: boolean
  /** Whose calls are counted together. */
  bucket: string
}

/** Knows a request by its cookie, or on the bearer host by its token. A dead session is like none, and nobody says so. */
export function identify(world: World, read: Read, weather: Weather | null): Identity {
  return read.face === 'www' ? byCookie(world, read, weather) : byBearer(world, read, weather)
}

function byCookie(world: World, { cookies, address }: Read, weather: Weather | null): Identity {
  const found = dropped(weather) ? null : findSession(world, cookies.get(SESSION_COOKIE) ?? '')
  if (found === null)
    return { user: null, session: null, modhash: '', let_in: true, bucket: `address ${address}` }
  if (revokes(weather)) found.revoked = true
  const { user, modhash, cookie } = found
  return { user, session: found, modhash, let_in: true, bucket: `session ${cookie}` }
}

function byBearer(world: World, { request, address }: Read, weather: Weather | null): Identity {
  const [, token = ''] = /^bearer (.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
  const user = dropped(weather) ? undefined : findBearer(world, token)
  if (user === undefined)
    return { user: null, session: null, modhash: null, let_in: false, bucket: `address ${address}` }
  if (revokes(weather)) world.bearers.delete(token)
  return { user, session: null, modhash: null, let_in: true, bucket: `bearer ${token}` }
}

const dropped = (weather: Weather | null) => weather?.input.fault === 'drop_session'

/** After its last request in this weather, a session is gone. */
const revokes = (weather: Weather | null) =>
  weather?.input.fault === 'revoke_after_n' && weather.struck >= (weather.input.count ?? 1)
