// The thread of the checkpoints. It has a connection of its own, and reads and writes no rows.
import { Database } from 'bun:sqlite'
import { parentPort } from 'node:worker_threads'

import type { CheckpointMessage, CheckpointReply } from './checkpoints.ts'

let db: Database | null = null

function checkpoint(path: string): void {
  if (db === null) {
    db = new Database(path, { create: false, readwrite: true })
    db.run('PRAGMA busy_timeout = 0')
    db.run('PRAGMA synchronous = FULL')
  }
  db.run('PRAGMA wal_checkpoint(PASSIVE)')
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
const reply = (it: CheckpointReply): void => parentPort?.postMessage(it)

parentPort?.on('message', (message: CheckpointMessage) => {
  if ('close' in message) {
    db?.close()
    reply('closed')
    parentPort?.close()
    return
  }
  try {
    checkpoint(message.path)
  } catch {
    // The log grows until a commit makes the checkpoint itself, and reports the error.
  }
  reply('done')
})
