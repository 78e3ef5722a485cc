import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import type { Sample } from './figures.ts'

const MIB = 1024 ** 2

/** Samples a process and its data folder; null if the process has exited. */
export function sample(pid: number, data: string, at_ms: number): Sample | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    // One that has exited and is not waited for yet has no memory.
    if (!status.includes('VmRSS:')) return null
    const metric = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? NaN)
    return {
      at_ms,
      rss_mib: metric('VmRSS') / 1024,
      own_mib: (metric('RssAnon') + metric('RssShmem')) / 1024,
      threads: metric('Threads'),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      files: readdirSync(data, { withFileTypes: true }).filter((it) => it.isFile()).length,
      db_mib: sizeOf(join(data, 'forumd.sqlite')),
      wal_mib: sizeOf(join(data, 'forumd.sqlite-wal')),
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && GONE.has(String(error.code))) return null
    throw error
  }
}

/** Errors of a process that exits between two system calls. */
const GONE = new Set(['ENOENT', 'ESRCH', 'EACCES'])

const sizeOf = (path: string) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / MIB
