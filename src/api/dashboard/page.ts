import { Elysia } from 'elysia'

import { version } from '../../../package.json'
import { ApiError } from '../../core/base/errors.ts'

/** Files of the dashboard: the HTML document, and assets by their hashed names. */
export type PageFiles = {
  shell: string
  files: ReadonlyMap<string, { type: string; body: Uint8Array<ArrayBuffer> }>
}

const PACKINGS = ['br', 'gzip'] as const
type Packing = (typeof PACKINGS)[number]
const PACKED_FROM_BYTES = 1024
const YEAR_S = 31_536_000

/** Paths under /dashboard that are not pages. */
const RESERVED_PATHS = ['api', 'assets', 'live', 'session']

/** Pages for people and programs, as `/` names them to a program. */
const ENTRANCE = {
  name: 'forumd',
  version,
  docs: '/docs',
  openapi: '/openapi.json',
  dashboard: '/dashboard',
  health: '/health',
}

/** True if an Accept header names HTML, as that of every browser does. */
const isBrowser = ({ headers }: Request): boolean =>
  (headers.get('accept') ?? '').toLowerCase().includes('text/html')

/**
 * `/dashboard` and its files, loaded and compressed at the first request so that the start is not
 * delayed. `/` leads a browser there.
 */
export function dashboardPage(load: () => Promise<PageFiles>) {
  let loading: Promise<PageFiles> | null = null
  const loadOnce = () =>
    (loading ??= load().catch((error: unknown) => {
      // A later request tries again.
      loading = null
      throw error
    }))
  // Blobs: responses share their bytes, whereas the bytes of an array are copied for each.
  const packed = new Map<string, Promise<Blob>>()

  async function answer(name: string, type: string, body: Uint8Array<ArrayBuffer>, wanted: string) {
    const headers = { 'content-type': type, vary: 'accept-encoding' }
    const worth = body.byteLength >= PACKED_FROM_BYTES
    const packing = worth ? PACKINGS.find((it) => accepts(wanted, it)) : undefined
    const key = `${packing ?? 'identity'} ${name}`
    const blob =
      packed.get(key) ?? (packing ? pack(packing, body) : Promise.resolve(new Blob([body])))
    packed.set(key, blob)
    if (packing === undefined) return new Response(await blob, { headers })
    return new Response(await blob, { headers: { ...headers, 'content-encoding': packing } })
  }

  async function shell(wanted: string) {
    const page = await loadOnce()
    const body = new TextEncoder().encode(page.shell)
    return answer('', 'text/html; charset=utf-8', body, wanted)
  }

  return new Elysia({ name: 'dashboard page', detail: { hide: true } })
    .get('/', ({ request, set }) => {
      set.headers['vary'] = 'accept'
      if (!isBrowser(request)) return ENTRANCE
      set.headers['location'] = '/dashboard'
      set.status = 303
      return ''
    })
    .get('/dashboard', async ({ request, set }) => {
      const page = await shell(acceptedEncodings(request))
      set.headers['cache-control'] = 'no-cache'
      return page
    })
    .get('/dashboard/assets/:name', async ({ params, request, set }) => {
      const { files } = await loadOnce()
      const file = files.get(params.name)
      if (!file) throw absent()
      set.headers['cache-control'] = `public, max-age=${YEAR_S}, immutable`
      return answer(params.name, file.type, file.body, acceptedEncodings(request))
    })
    .get('/dashboard/*', async ({ params, request, set }) => {
      if (RESERVED_PATHS.includes(params['*'].split('/')[0] ?? '')) throw absent()
      const page = await shell(acceptedEncodings(request))
      set.headers['cache-control'] = 'no-cache'
      return page
    })
}

/**
 * Compresses outside the event loop. The module is loaded at the first file, because the start does
 * not need it.
 */
async function pack(packing: Packing, body: Uint8Array): Promise<Blob> {
  const { brotliCompress, gzip } = await import('node:zlib')
  const { promise, resolve, reject } = Promise.withResolvers<Blob>()
  const packer = packing === 'br' ? brotliCompress : gzip
  packer(body, (error, bytes) =>
    error ? reject(error) : resolve(new Blob([new Uint8Array(bytes)])),
  )
  return promise
}

const acceptedEncodings = ({ headers }: Request) => headers.get('accept-encoding') ?? ''
const absent = () => new ApiError('NOT_FOUND', { message: 'there is no such file' })

/** True if an Accept-Encoding header lists the encoding with a weight above 0. */
function accepts(header: string, packing: Packing): boolean {
  return header
    .toLowerCase()
    .split(',')
    .map((part) => part.replaceAll(' ', '').split(';q='))
    .some(([name, weight]) => name === packing && (weight === undefined || Number(weight) > 0))
}
