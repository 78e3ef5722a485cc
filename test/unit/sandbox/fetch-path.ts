import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/server/sandbox.ts'

/** Noon of a fixed day. */
export const NOON = Date.UTC(2026, 10, 20, 12)

/** Sandbox with a clock that only advances on request. */
export const open = (options: Partial<SandboxOptions> = {}): Promise<Sandbox> =>
  startSandbox({ port: 0, seed: 7, speed: 0, world: 'empty', now: () => NOON, ...options })

export type Row = { kind: string; data: Record<string, any> }
export type Page = {
  kind: string
  data: {
    children: Row[]
    after: string | null
    before: string | null
    dist: number | null
    modhash: string
  }
}
export type SandboxReply = { status: number; headers: Headers; text: string; json: any }

type FetchOptions = {
  cookie?: string
  /** Bearer token; the request goes to the bearer host. */
  bearer?: string
  method?: string
  /** Form to post. */
  form?: Record<string, string>
  headers?: Record<string, string>
}

/** Sends an anonymous request by default; does not follow redirects. */
export async function fetchPath(
  sandbox: Sandbox,
  path: string,
  { cookie, bearer, form, method = form ? 'POST' : 'GET', headers = {} }: FetchOptions = {},
): Promise<SandboxReply> {
  const host = bearer === undefined ? sandbox.url : sandbox.bearer_url
  const response = await fetch(host + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(cookie !== undefined && { cookie }),
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...headers,
    },
    ...(form && { body: new URLSearchParams(form) }),
  })
  const text = await response.text()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: response.status, headers: response.headers, text, json }
}

/** Fetches a page of a listing; throws for any other response. */
export async function page(
  sandbox: Sandbox,
  path: string,
  options: FetchOptions = {},
): Promise<Page> {
  const { status, json } = await fetchPath(sandbox, path, options)
  if (status !== 200 || json?.kind !== 'Listing')
    throw new Error(`${path}: ${status}, not a listing`)
  return json
}

export const names = ({ data }: Page): string[] => data.children.map((row) => row.data['name'])
export const titles = ({ data }: Page): string[] => data.children.map((row) => row.data['title'])

/** Fetches every page of a listing until `after` is null, at most `most` of them. */
export async function walk(sandbox: Sandbox, path: string, most = 40): Promise<Page[]> {
  const pages: Page[] = []
  let after: string | null = null
  for (let turn = 0; turn < most; turn++) {
    const next: Page = await page(sandbox, after === null ? path : `${path}&after=${after}`)
    pages.push(next)
    after = next.data.after
    if (after === null) return pages
  }
  throw new Error(`${path} did not end after ${most} pages`)
}

/** Cookie header of a seeded account. */
export function cookieOf(sandbox: Sandbox, username: string): string {
  const account = sandbox.overview().accounts.find((it) => it.username === username)
  if (account === undefined) throw new Error(`no account ${username}`)
  return headerOf(account.cookies)
}

/** Formats cookies as a header. */
export const headerOf = (cookies: Record<string, string>): string =>
  Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')

/** Opens a session: the Cookie header, and a form call with its write token. */
export function signedIn(sandbox: Sandbox, username: string) {
  const { cookies } = sandbox.session({ username })
  const cookie = headerOf(cookies)
  const uh = sandbox.world.sessions.get(cookies['reddit_session'] ?? '')?.modhash ?? ''
  const post = (path: string, form: Record<string, string>) =>
    fetchPath(sandbox, path, { cookie, form: { api_type: 'json', uh, ...form } })
  return { cookie, uh, post }
}
