import { Elysia } from 'elysia'

import { ApiError, type ErrorCode, invalid } from '../../core/base/errors.ts'
import { viewerTermIn } from '../../core/filter/search-query.ts'
import { OWN_TABS } from '../../core/forum/listing.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { isViewerName, VIEWER_NAME_REFUSAL } from '../../core/forum/permalink.ts'
import type { Proxy } from '../../core/forum/proxy.ts'
import {
  NEEDED_PARTS,
  neededNames,
  proxyHeader,
  readSession,
  type Session,
  SESSION_FORMS,
  SESSION_PARTS,
  sessionField,
  sessionHeader,
  type SessionUse,
} from '../../core/forum/session.ts'
import { notSupported } from './errors.ts'
import { queryOf } from './routes.ts'

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

/** Use of a session by a read, by its route alone, so that no route lacks one. */
function sessionUseOf(words: Naming, route: string): SessionUse {
  const path = route.startsWith(words.api) ? route.slice(words.api.length) : ''
  if (OPTIONAL.includes(path)) return 'optional'
  if (REQUIRED.includes(path)) return 'required'
  return OWN.includes(path) ? 'own' : 'none'
}

/** Query parameters of an own listing. Every other field becomes a cookie. */
const OWN_FIELDS = ['sort', 't', 'limit', 'after']

export type SessionDeps = {
  words: Naming
  session_cookie: string
  /** The proxy with its name resolved once; null if it must not be dialled. */
  guardProxy: (proxy: Proxy) => Promise<Proxy | null>
  /** Name of the source of the routes; null: `home`, the only one with sessions. */
  source?: string | null
}

export function createSessions({ words, session_cookie, guardProxy, source: of }: SessionDeps) {
  const header_names = [
    proxyHeader(words),
    ...SESSION_PARTS.map((part) => sessionHeader(words, part)),
  ]
  // A name may be percent-encoded.
  const query_marks = ['%', 'proxy', ...SESSION_PARTS.map((part) => sessionField(words, part))]
  const uses = new Map<string, SessionUse>()

  /** Use of a session by a route; each is looked up once. */
  function useOf(route: string): SessionUse {
    const use = uses.get(route) ?? sessionUseOf(words, route)
    uses.set(route, use)
    return use
  }

  /** True unless a call surely carries neither a part of a session nor a proxy. */
  const maySend = ({ url, headers }: Request): boolean =>
    header_names.some((name) => headers.has(name)) ||
    query_marks.some((mark) => url.includes(mark, url.indexOf('?')))

  async function sessionOf(request: Request, route: string): Promise<Session | null> {
    const use = useOf(route)
    const is_open = use === 'optional' || use === 'none'
    if (of != null && !is_open) throw notSupported('session')
    // Most calls send none; the checks below take a tenth of a cached read.
    if (is_open && !maySend(request)) return null
    const source = {
      header: (name: string) => request.headers.get(name),
      query: queryOf(request.url),
    }
    const session = readSession(source, { use, words, session_cookie, reserved_fields: OWN_FIELDS })
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
    /** Adds `session`; null if none was sent or the route uses none. */
    optional_session: new Elysia({ name: 'visiting' }).derive(
      { as: 'scoped' },
      async ({ request, route, params, query }) => {
        const session = await sessionOf(request, route)
        if (session === null) refuseViewerNames(words, query, params)
        return { session }
      },
    ),
    /** Adds `session`; the route is not reached without one. */
    required_session: new Elysia({ name: 'owning' }).derive(
      { as: 'scoped' },
      async ({ request, route }) => {
        const session = await sessionOf(request, route)
        // A route that needs an account but is missing in the table is an internal error.
        if (session === null) throw new Error('a route was reached without its session')
        return { session }
      },
    ),
  }
}
export type Sessions = ReturnType<typeof createSessions>

/**
 * Refuses a read whose parameters refer to the account that sends it, since that is one of the
 * pool. It runs for every read that works without a session, so that a new route needs no check of
 * its own.
 * @throws {ApiError} INVALID_REQUEST naming the parameter
 */
function refuseViewerNames(words: Naming, query: Parameters, params: Parameters = {}): void {
  for (const field of ['name', words.community, 'q']) {
    const given = params[field] ?? query[field]
    if (given === undefined) continue
    for (const value of [given].flat()) {
      if (typeof value !== 'string') continue
      const viewer = field === 'q' ? viewerTermIn(value) : isViewerName(value) ? value : null
      if (viewer !== null) throw invalid(field, `${field}: ${viewer} ${VIEWER_NAME_REFUSAL}`)
    }
  }
}

type Parameters = Readonly<Record<string, unknown>>

type SessionDocs = { parameters: Record<string, unknown>[]; refusals: ErrorCode[] }

/** Documentation of a route's session: its fields and errors; empty if it takes none. */
export function sessionDocs(words: Naming, route: string): SessionDocs {
  const use = sessionUseOf(words, route)
  if (use === 'none') return { parameters: [], refusals: [] }
  const schema = { type: 'string' }
  const pair_note = `${neededNames(SESSION_FORMS.header, words)} must be sent together.`
  const headers = SESSION_PARTS.map((part) => ({
    name: sessionHeader(words, part),
    in: 'header',
    required: false,
    description: `The cookie ${sessionField(words, part)} of your own account. ${pair_note}`,
    schema,
  }))
  if (use === 'own')
    return {
      parameters: [
        ...headers,
        ...([...NEEDED_PARTS, 'csrf_token'] as const).map((part) => ({
          name: sessionField(words, part),
          in: 'query',
          required: false,
          description: `Instead of the header ${sessionHeader(words, part)}, which takes precedence.`,
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
          'The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed.',
        schema,
      },
    ],
    refusals: [
      ...REFUSALS,
      ...(use === 'required' ? (['SESSION_REQUIRED'] as const) : []),
      'PROXY_WITHOUT_SESSION',
      'INVALID_FIELD',
      'INVALID_PROXY',
    ],
  }
}

const REFUSALS: readonly ErrorCode[] = ['INCOMPLETE_SESSION', 'REAUTH_REQUIRED']
