import type { Face, UploadedFile } from './ask.ts'

/** One request as it came, before anybody has looked at who sent it. */
export type Read = {
  request: Request
  face: Face
  method: string
  path: string
  /** With its question mark; empty where there was none. */
  search: string
  /** The address's and the form's together. */
  query: URLSearchParams
  /** Names of the form's fields. */
  form: string[]
  body: string
  files: Map<string, UploadedFile>
  segments: string[]
  /** Asked for with `.json`. */
  as_json: boolean
  cookies: Map<string, string>
  origin: string
  address: string
}

/** Reads what there is without waiting: all of it, but for a body. */
export function read(request: Request, { face, address }: { face: Face; address: string }): Read {
  const url = new URL(request.url)
  const as_json = url.pathname.endsWith('.json')
  const bare = as_json ? url.pathname.slice(0, -'.json'.length) : url.pathname
  return {
    request,
    face,
    method: request.method,
    path: url.pathname,
    search: url.search,
    query: url.searchParams,
    form: [],
    body: '',
    files: new Map(),
    segments: bare.split('/').flatMap((part) => (part === '' ? [] : [decode(part)])),
    as_json,
    cookies: cookiesOf(request.headers.get('cookie')),
    origin: url.origin,
    address,
  }
}

/** Adds a body to what was read. A form's fields stand behind those of the address. */
export function withBody(asked: Read, body: string): Read {
  const type = asked.request.headers.get('content-type') ?? ''
  if (!type.startsWith('application/x-www-form-urlencoded')) return { ...asked, body }
  const query = new URLSearchParams(asked.query)
  const fields = new URLSearchParams(body)
  for (const [name, value] of fields) query.append(name, value)
  return { ...asked, body, query, form: [...new Set(fields.keys())] }
}

/** Whether a request brings a form with files. */
export const hasFiles = (request: Request): boolean =>
  /^multipart\/form-data\b/i.test(request.headers.get('content-type') ?? '')

/** Adds a form with files to what was read. What is no form brings nothing. */
export async function withFiles(asked: Read): Promise<Read> {
  const form = await asked.request.formData().catch(() => new FormData())
  const query = new URLSearchParams(asked.query)
  const files = new Map<string, UploadedFile>()
  const names = [...new Set(form.keys())]
  for (const name of names)
    for (const value of form.getAll(name))
      if (typeof value === 'string') query.append(name, value)
      else files.set(name, { name: value.name, type: value.type, bytes: await value.bytes() })
  return { ...asked, query, files, form: names }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function cookiesOf(header: string | null): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header?.split(';') ?? []) {
    const [name = '', ...value] = pair.trim().split('=')
    if (name !== '') cookies.set(name, value.join('='))
  }
  return cookies
}
