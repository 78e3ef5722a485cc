import { type Answer, json, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { encode } from './json.ts'
import { signIn } from './login.ts'
import type { Application, User } from './model.ts'
import { openBearer } from './sessions.ts'

const LASTS_S = 86_400
const INSTALLED = 'https://oauth.reddit.com/grants/installed_client'

/** `POST /api/v1/access_token`: a bearer for an application that says who it is, by HTTP Basic. */
export function accessToken(ask: Ask): Answer {
  const { query, world } = ask
  const client = clientOf(ask)
  if (client === null) return refusal(401)
  switch (query.get('grant_type') ?? '') {
    case 'password': {
      if (client === 'public')
        return oauthError('unauthorized_client', 'Only script apps may use password auth')
      const user = signIn(ask, query.get('username') ?? '', query.get('password') ?? '')
      return user === null ? oauthError('invalid_grant') : issue(ask, user)
    }
    case 'refresh_token': {
      const refresh_token = query.get('refresh_token') ?? ''
      const user = world.grants.get(refresh_token)
      return user === undefined ? refusal(400) : issue(ask, user, { refresh_token })
    }
    case 'client_credentials':
      return client === 'public' ? oauthError('unauthorized_client') : issue(ask, null)
    case INSTALLED: {
      const device_id = query.get('device_id') ?? ''
      if (!/^.{20,30}$/.test(device_id)) return oauthError('invalid_request', 'bad device_id')
      return issue(ask, null, { device_id })
    }
    default:
      return oauthError('unsupported_grant_type')
  }
}

/** `POST /api/v1/revoke_token`: what nobody knows is revoked as well. */
export function revokeToken(ask: Ask): Answer {
  const { query, world } = ask
  if (clientOf(ask) === null) return refusal(401)
  const token = query.get('token') ?? ''
  world.grants.delete(token)
  world.bearers.delete(token)
  return json('', 200)
}

/** The application that asks. One without a secret may have been registered elsewhere, by the author of a program. */
function clientOf({ headers, world }: Ask): Application | 'public' | null {
  const [, basic = ''] = /^basic (.+)$/i.exec(headers.get('authorization') ?? '') ?? []
  const [client_id = '', ...secret] = Buffer.from(basic, 'base64').toString().split(':')
  const known = world.applications.get(client_id)
  if (known !== undefined) return secret.join(':') === known.client_secret ? known : null
  return client_id !== '' && secret.join(':') === '' ? 'public' : null
}

function issue(ask: Ask, user: User | null, more: Record<string, string> = {}): Answer {
  const { world, noise, query } = ask
  const { token } = openBearer(world, { user, chance: noise, lasts_s: LASTS_S })
  return json(
    JSON.stringify({
      access_token: token,
      token_type: 'bearer',
      ...more,
      expires_in: LASTS_S,
      scope: query.get('scope') ?? '*',
    }),
  )
}

const oauthError = (error: string, error_description?: string): Answer =>
  json(encode({ ...(error_description !== undefined && { error_description }), error }))
