import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/sandbox.ts'

/** Noon of a day like any other. */
export const NOON = Date.UTC(2026, 10, 20, 12)

/** A sandbox whose clock stands still until it is told to move. */
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
export type Visit = { status: number; headers: Headers; text: string; json: any }

type Asking = {
  cookie?: string
  /** A token: the bearer host is asked. */
  bearer?: string
  method?: string
  /** A form to post. */
  form?: Record<string, string>
  headers?: Record<string, string>
}

/** Asks as a visitor would; redirects are looked at, not followed. */
export async function visit(
  sandbox: Sandbox,
  path: string,
  { cookie, bearer, form, method = form ? 'POST' : 'GET', headers = {} }: Asking = {},
): Promise<Visit> {
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

/** A listing's page, which it has to be. */
export async function page(sandbox: Sandbox, path: string, options: Asking = {}): Promise<Page> {
  const { status, json } = await visit(sandbox, path, options)
  if (status !== 200 || json?.kind !== 'Listing') throw new Error(`${path}: ${status}, no listing`)
  return json
}

export const names = ({ data }: Page): string[] => data.children.map((row) => row.data['name'])
export const titles = ({ data }: Page): string[] => data.children.map((row) => row.data['title'])

/** Every page of a listing until `after` is null, at most `most` of them. */
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

/** The cookies of one of the seeded accounts, as a header. */
export function cookieOf(sandbox: Sandbox, username: string): string {
  const account = sandbox.overview().accounts.find((it) => it.username === username)
  if (account === undefined) throw new Error(`no account ${username}`)
  return headerOf(account.cookies)
}

/** Cookies as a header. */
export const headerOf = (cookies: Record<string, string>): string =>
  Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')

/** Signs somebody in: the Cookie header, and a form call of theirs with the token it needs. */
export function signedIn(sandbox: Sandbox, username: string) {
  const { cookies } = sandbox.session({ username })
  const cookie = headerOf(cookies)
  const uh = sandbox.world.sessions.get(cookies['reddit_session'] ?? '')?.modhash ?? ''
  const post = (path: string, form: Record<string, string>) =>
    visit(sandbox, path, { cookie, form: { api_type: 'json', uh, ...form } })
  return { cookie, uh, post }
}
