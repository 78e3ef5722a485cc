import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/server/sandbox.ts'

/** Noon of a fixed day. */
export const NOON = Date.UTC(2026, 10, 20, 12)

/** Sandbox with a clock that only advances on request. */
export const open = (options: Partial<SandboxOptions> = {}): Promise<Sandbox> =>
  startSandbox({ port: 0, seed: 7, speed: 0, world: 'empty', now: () => NOON, ...options })

type Row = { kind: string; data: Record<string, any> }
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
