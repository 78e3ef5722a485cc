import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The bucket of the replicas. */
export const BUCKET = 'replicas'

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const xml = (text: string) =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>${text}`, {
    headers: { 'content-type': 'application/xml' },
  })

/**
 * An object store for replicas, with the calls of Amazon's S3 that Litestream makes, over plain HTTP: none was found that
 * runs here. Objects are files of `dir`. It checks no signature and lists without pages.
 */
export function startReplicaStore(dir: string, hostname: string) {
  const base = join(dir, 'objects')
  mkdirSync(base, { recursive: true })
  const uploads = new Map<string, Map<number, Uint8Array>>()
  let bytes = 0

  function keys(prefix: string): string[] {
    const found = readdirSync(base, { recursive: true, withFileTypes: true })
    return found
      .filter((it) => it.isFile())
      .map((it) => join(it.parentPath, it.name).slice(base.length + 1))
      .filter((key) => key.startsWith(prefix))
      .toSorted()
  }
  function list(search: URLSearchParams): Response {
    const prefix = search.get('prefix') ?? ''
    const delimiter = search.get('delimiter') ?? ''
    const after = search.get('marker') ?? search.get('start-after') ?? ''
    const common = new Set<string>()
    const contents: string[] = []
    for (const key of keys(prefix)) {
      if (key <= after) continue
      const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
      if (end >= 0) {
        common.add(key.slice(0, end + 1))
        continue
      }
      const { size, mtime } = statSync(join(base, key))
      contents.push(
        `<Contents><Key>${escape(key)}</Key><LastModified>${mtime.toISOString()}</LastModified><ETag>"0"</ETag><Size>${size}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
      )
    }
    const prefixes = [...common].map(
      (it) => `<CommonPrefixes><Prefix>${escape(it)}</Prefix></CommonPrefixes>`,
    )
    return xml(
      `<ListBucketResult><Name>${BUCKET}</Name><Prefix>${escape(prefix)}</Prefix><KeyCount>${contents.length + common.size}</KeyCount><MaxKeys>100000</MaxKeys><IsTruncated>false</IsTruncated>${contents.join('')}${prefixes.join('')}</ListBucketResult>`,
    )
  }
  async function put(key: string, body: Uint8Array): Promise<Response> {
    bytes += body.byteLength
    mkdirSync(dirname(join(base, key)), { recursive: true })
    await Bun.write(join(base, key), body)
    return new Response(null, { headers: { etag: '"0"' } })
  }
  async function post(key: string, search: URLSearchParams, request: Request): Promise<Response> {
    if (search.has('delete')) {
      const gone = [...(await request.text()).matchAll(/<Key>([^<]+)<\/Key>/g)].map(
        (it) => it[1] ?? '',
      )
      for (const it of gone) rmSync(join(base, it), { force: true })
      return xml(
        `<DeleteResult>${gone.map((it) => `<Deleted><Key>${it}</Key></Deleted>`).join('')}</DeleteResult>`,
      )
    }
    if (search.has('uploads')) {
      const id = crypto.randomUUID()
      uploads.set(id, new Map())
      return xml(
        `<InitiateMultipartUploadResult><Bucket>${BUCKET}</Bucket><Key>${key}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      )
    }
    const parts = uploads.get(search.get('uploadId') ?? '')
    if (parts === undefined) return new Response(null, { status: 404 })
    uploads.delete(search.get('uploadId') ?? '')
    await request.arrayBuffer()
    const whole = [...parts].toSorted(([a], [b]) => a - b).map(([, part]) => part)
    await put(key, Buffer.concat(whole))
    return xml(
      `<CompleteMultipartUploadResult><Key>${key}</Key><ETag>"0"</ETag></CompleteMultipartUploadResult>`,
    )
  }
  const server = Bun.serve({
    hostname,
    port: 0,
    maxRequestBodySize: 64 << 20,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const key = decodeURIComponent(pathname).slice(`/${BUCKET}/`.length)
      const upload = uploads.get(searchParams.get('uploadId') ?? '')
      if (request.method === 'POST') return post(key, searchParams, request)
      if (request.method === 'PUT') {
        const body = new Uint8Array(await request.arrayBuffer())
        if (upload === undefined) return put(key, body)
        upload.set(Number(searchParams.get('partNumber')), body)
        return new Response(null, { headers: { etag: '"0"' } })
      }
      if (request.method === 'DELETE') {
        rmSync(join(base, key), { force: true })
        return new Response(null, { status: 204 })
      }
      if (key === '') return list(searchParams)
      try {
        return new Response(request.method === 'HEAD' ? null : readFileSync(join(base, key)))
      } catch {
        return new Response('<Error><Code>NoSuchKey</Code></Error>', { status: 404 })
      }
    },
  })
  return {
    port: server.port ?? 0,
    /** Bytes that were put so far. */
    bytes: () => bytes,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
