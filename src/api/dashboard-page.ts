import { Elysia } from 'elysia'

import { ApiError } from '../core/errors.ts'

/** The dashboard as a browser loads it: its one document, and the files that it links by their hashed names. */
export type PageFiles = {
  shell: string
  files: ReadonlyMap<string, { type: string; body: Uint8Array<ArrayBuffer> }>
}

/** What the page is packed with, the best first. */
const PACKINGS = ['br', 'gzip'] as const
type Packing = (typeof PACKINGS)[number]
const PACKED_FROM_BYTES = 1024
const YEAR_S = 31_536_000

/** Places under /dashboard that are no pages. */
const TAKEN = ['api', 'assets', 'live', 'session']

/** `/dashboard` and its files. Loaded and packed when first asked for: a start should not wait for it. */
export function dashboardPage(load: () => Promise<PageFiles>) {
  let loading: Promise<PageFiles> | null = null
  const loaded = () =>
    (loading ??= load().catch((error: unknown) => {
      // What failed once may go well the next time.
      loading = null
      throw error
    }))
  const packed = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()

  /** A file as the browser takes it: packed, if it is worth it. */
  async function answer(name: string, type: string, body: Uint8Array<ArrayBuffer>, wanted: string) {
    const headers = { 'content-type': type, vary: 'accept-encoding' }
    const packing = PACKINGS.find((it) => accepts(wanted, it))
    if (packing === undefined || body.byteLength < PACKED_FROM_BYTES)
      return new Response(body, { headers })
    const key = `${packing} ${name}`
    const bytes = packed.get(key) ?? pack(packing, body)
    packed.set(key, bytes)
    return new Response(await bytes, { headers: { ...headers, 'content-encoding': packing } })
  }

  async function shell(wanted: string) {
    const page = await loaded()
    const body = new TextEncoder().encode(page.shell)
    return answer('', 'text/html; charset=utf-8', body, wanted)
  }

  return new Elysia({ name: 'dashboard page', detail: { hide: true } })
    .get('/dashboard', async ({ request, set }) => {
      const page = await shell(wantedBy(request))
      set.headers['cache-control'] = 'no-cache'
      return page
    })
    .get('/dashboard/assets/:name', async ({ params, request, set }) => {
      const { files } = await loaded()
      const file = files.get(params.name)
      if (!file) throw absent()
      set.headers['cache-control'] = `public, max-age=${YEAR_S}, immutable`
      return answer(params.name, file.type, file.body, wantedBy(request))
    })
    .get('/dashboard/*', async ({ params, request, set }) => {
      if (TAKEN.includes(params['*'].split('/')[0] ?? '')) throw absent()
      const page = await shell(wantedBy(request))
      set.headers['cache-control'] = 'no-cache'
      return page
    })
}

/** Packs off the loop. What it takes to pack is loaded at the first file: a start has no use for it. */
async function pack(packing: Packing, body: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { brotliCompress, gzip } = await import('node:zlib')
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer>>()
  const packer = packing === 'br' ? brotliCompress : gzip
  packer(body, (error, bytes) => (error ? reject(error) : resolve(new Uint8Array(bytes))))
  return promise
}

const wantedBy = ({ headers }: Request) => headers.get('accept-encoding') ?? ''
const absent = () => new ApiError('NOT_FOUND', { message: 'there is no such file' })

/** Whether an Accept-Encoding header takes a packing: named, and not with a weight of nothing. */
function accepts(header: string, packing: Packing): boolean {
  return header
    .toLowerCase()
    .split(',')
    .map((part) => part.replaceAll(' ', '').split(';q='))
    .some(([name, weight]) => name === packing && (weight === undefined || Number(weight) > 0))
}
