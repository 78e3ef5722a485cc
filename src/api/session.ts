import { Elysia } from 'elysia'

import { ApiError, type Code } from '../core/errors.ts'
import { OWN_TABS } from '../core/listing.ts'
import type { Proxy } from '../core/proxy.ts'
import {
  proxyHeader,
  readSession,
  type Session,
  SESSION_PARTS,
  sessionField,
  sessionHeader,
  type SessionUse,
} from '../core/session.ts'
import type { Words } from '../core/wire.ts'
import { queryOf } from './table.ts'

const OPTIONAL = [
  '/posts',
  '/search',
  '/sub/:name/top',
  '/sub/:name/comments',
  '/comments',
  '/post/:id/comments',
  '/comments/:postId',
]
const REQUIRED = ['/feed', '/sub/:name/moderators']
const OWN = OWN_TABS.map((tab) => `/user/:name/${tab}`)

/** What a read does with a session, by its route alone, so that no route can forget to ask for one. */
function sessionUseOf(words: Words, route: string): SessionUse {
  const path = route.startsWith(words.api) ? route.slice(words.api.length) : ''
  if (OPTIONAL.includes(path)) return 'optional'
  if (REQUIRED.includes(path)) return 'required'
  return OWN.includes(path) ? 'own' : 'none'
}

/** What an own listing takes from its query for itself. Every other field becomes a cookie. */
const OWN_FIELDS = ['sort', 't', 'limit', 'after']

export type SessionDeps = {
  words: Words
  /** What the platform calls its session cookie. */
  session_cookie: string
  /** The proxy as it may be dialled, its name resolved once for all; null when it may not be. */
  guardProxy: (proxy: Proxy) => Promise<Proxy | null>
}

/** The two plugins that put a session into a route's context. */
export function createSessions({ words, session_cookie, guardProxy }: SessionDeps) {
  async function sessionOf(request: Request, route: string): Promise<Session | null> {
    const carried = {
      header: (name: string) => request.headers.get(name),
      query: queryOf(request.url),
    }
    const use = sessionUseOf(words, route)
    const session = readSession(carried, { use, words, session_cookie, known: OWN_FIELDS })
    if (session?.proxy == null) return session
    const proxy = await guardProxy(session.proxy)
    if (proxy !== null) return { ...session, proxy }
    const field = proxyHeader(words)
    throw new ApiError('INVALID_PROXY', {
      message: `${field} must name a proxy on the public internet`,
      field,
    })
  }

  return {
    /** `session`, or null where none was sent or none is looked for. */
    visiting: new Elysia({ name: 'visiting' }).derive(
      { as: 'scoped' },
      async ({ request, route }) => ({ session: await sessionOf(request, route) }),
    ),
    /** `session`, without which the route is not reached. */
    owning: new Elysia({ name: 'owning' }).derive({ as: 'scoped' }, async ({ request, route }) => {
      const session = await sessionOf(request, route)
      // A route that asks for an account and stands in no table of those that need one is our fault.
      if (session === null) throw new Error('a route was reached without its session')
      return { session }
    }),
  }
}
export type Sessions = ReturnType<typeof createSessions>

type Told = { parameters: Record<string, unknown>[]; refusals: Code[] }

/** What the document tells of a route's session: its fields, and the errors they bring; nothing where it takes none. */
export function tellsSession(words: Words, route: string): Told {
  const use = sessionUseOf(words, route)
  if (use === 'none') return { parameters: [], refusals: [] }
  const schema = { type: 'string' }
  const together = `${sessionHeader(words, 'session')} and ${sessionHeader(words, 'loid')} go together.`
  const headers = SESSION_PARTS.map((part) => ({
    name: sessionHeader(words, part),
    in: 'header',
    required: false,
    description: `The cookie ${sessionField(words, part)} of your own account. ${together}`,
    schema,
  }))
  if (use === 'own')
    return {
      parameters: [
        ...headers,
        ...(['session', 'loid', 'csrf_token'] as const).map((part) => ({
          name: sessionField(words, part),
          in: 'query',
          required: false,
          description: `Instead of the header ${sessionHeader(words, part)}, which wins.`,
          schema,
        })),
      ],
      refusals: [
        ...REFUSALS,
        'SESSION_REQUIRED',
        'INVALID_FIELD',
        'PROXY_AS_COOKIE',
        'UPSTREAM_ERROR',
      ],
    }
  return {
    parameters: [
      ...headers,
      {
        name: proxyHeader(words),
        in: 'header',
        required: false,
        description:
          'The way out of this read, with a session only: scheme://user:password@host:port.',
        schema,
      },
    ],
    refusals: [
      ...REFUSALS,
      use === 'required' ? 'SESSION_REQUIRED' : 'PROXY_WITHOUT_SESSION',
      'INVALID_FIELD',
      'INVALID_PROXY',
    ],
  }
}

const REFUSALS: readonly Code[] = ['INCOMPLETE_SESSION', 'REAUTH_REQUIRED']
