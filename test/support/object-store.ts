import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { freePort } from './port.ts'

const START_MS = 60_000
const LOOPBACK = '127.0.0.1'
const BUCKET = 'replicas'

/** True if SeaweedFS is installed, a real object store with conditional writes. */
export const hasObjectStore = (): boolean => Bun.which('weed') !== null

const identity = {
  name: 'test',
  credentials: [{ accessKey: 'id', secretKey: 'secret' }],
  actions: ['Admin', 'Read', 'Write', 'List'],
}

/** Starts the SeaweedFS of this machine, empty. `addressAt` is the address of a folder in it, also through another endpoint. */
export async function startObjectStore() {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-weed-'))
  const config = join(dir, 's3.json')
  writeFileSync(config, JSON.stringify({ identities: [identity] }))
  const names = ['master', 'volume', 'filer', 's3'].flatMap((it) => [
    `${it}.port`,
    `${it}.port.grpc`,
  ])
  const ports = names.map(() => freePort())
  const child = Bun.spawn(
    [
      'weed',
      'server',
      `-dir=${dir}`,
      `-ip=${LOOPBACK}`,
      `-ip.bind=${LOOPBACK}`,
      ...names.map((name, at) => `-${name}=${ports[at]}`),
      '-master.telemetry=false',
      '-master.volumeSizeLimitMB=64',
      '-volume.max=100',
      '-s3',
      '-s3.iam=false',
      '-s3.port.iceberg=0',
      '-s3.port.lance=0',
      `-s3.config=${config}`,
    ],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
  )
  const endpoint = `http://${LOOPBACK}:${ports[names.indexOf('s3.port')]}`
  const client = new Bun.S3Client({
    bucket: BUCKET,
    endpoint,
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  })
  for (const began = performance.now(); ; await Bun.sleep(50)) {
    try {
      // Creates the bucket too.
      await client.write('ready', 'ready')
      break
    } catch (error) {
      if (performance.now() - began > START_MS || child.exitCode !== null) throw error
    }
  }
  return {
    client,
    endpoint,
    pid: child.pid,
    addressAt: (folder: string, at = endpoint) =>
      `s3://id:secret@${BUCKET}/${folder}?endpoint=${encodeURIComponent(at)}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.exited
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export type ObjectStore = Awaited<ReturnType<typeof startObjectStore>>
