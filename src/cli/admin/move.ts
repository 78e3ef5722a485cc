import { existsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

import { newFileKey, readFileKey, writeFileKey } from '../../core/moving/file.ts'
import { createSources, FROM } from '../account/credentials.ts'
import { command, type CommandContext, CommandRefusal, EXIT, JSON_OPTION } from '../command.ts'
import { openConfig, type OpenInstance, withInstance } from '../configuration.ts'
import { openBar } from '../progress.ts'
import { customerNamed } from './customer.ts'

const MIB = 2 ** 20
/** Longest wait for what is under way when a customer is frozen. An attempt ends within its deadline. */
const WAIT_MS = 120_000
const LOOK_EVERY_MS = 200
/**
 * Most rows that are imported beside a running daemon: the import is one transaction, and until its end the daemon writes
 * nothing. A row takes 11 µs of the processor (scripts/bench/matching/move.ts), so that these take about half a second.
 */
const ROWS_BESIDE_MAX = 50_000

export const customerExport = command({
  name: 'customer export',
  summary: 'moves a customer away: freezes it, writes a file',
  operands: ['NAME'],
  options: {
    output: {
      type: 'string',
      value: 'FILE',
      help: 'the file (default: NAME.customer in this folder)',
    },
    undo: {
      type: 'boolean',
      help: 'unfreezes it here; only if the file was not imported, and will not be',
    },
    finish: {
      type: 'string',
      value: 'RECEIPT',
      help: 'deletes it here; RECEIPT was printed by the import',
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd customer export acme --output /mnt/acme.customer > acme.key',
    'forumd customer export acme --finish 0193b2c4',
    'forumd customer export acme --undo',
  ],
  notes:
    'The daemon may be running. From this command on nothing is matched, sent or written for the customer here, its keys are answered with 503 customer_moving, and it stays so until --finish or --undo. The file is encrypted, and the key of the file alone goes to standard output: it cannot be printed again, but the export can be repeated. Take the file and the key to the other instance, by different ways, and run forumd customer import there. The archive, sign-ins to the dashboard and signing keys do not move.',
  async run({ values, operands: [name = ''], ...context }) {
    const { undo, finish } = values
    if (undo && finish !== undefined)
      throw new CommandRefusal('--undo and --finish exclude each other')
    if (undo) return undoMove(context, name)
    if (finish !== undefined) return finishMove(context, name, finish.trim())
    const file = resolve(values.output ?? `${name}.customer`)
    openConfig(context)
    if (existsSync(file)) throw new CommandRefusal(`${file} exists: name another file`)
    if (!existsSync(dirname(file))) throw new CommandRefusal(`there is no folder ${dirname(file)}`)
    await freeze(context, name)
    const { rows, bytes, key } = await writeFile(context, name, file)
    const key_text = writeFileKey(key)
    if (values.json)
      context.stdout.write(`${JSON.stringify({ file, bytes, rows, key: key_text })}\n`)
    else {
      context.stdout.write(`${key_text}\n`)
      context.warn(
        `${name} is frozen here, and ${file} holds everything of it: ${rows} rows, ${(bytes / MIB).toFixed(1)} MiB. The line on standard output is the key of the file. On the other instance: forumd customer import ${basename(file)}. Then here: forumd customer export ${name} --finish RECEIPT`,
      )
    }
    return EXIT.done
  },
})

/** Freezes a customer and waits until nothing of it is under way any more. */
async function freeze(context: CommandContext, name: string): Promise<void> {
  const { clock } = await context.factories.createRuntime(
    openConfig(context).config.log,
    context.stdout,
  )
  const { freezeCustomer, countUnderWay } = await import('../../store/moving/freeze.ts')
  const { isLeaving } = await import('../../store/moving/frozen.ts')
  const customer_id = await withInstance(context, ({ db, now, random }) => {
    const { id } = customerNamed(db, name)
    if (isLeaving(db, id)) throw leaving(name)
    freezeCustomer(db, {
      customer_id: id,
      receipt: Buffer.from(random.bytes(8)).toString('hex'),
      now,
    })
    return id
  })
  using bar = openBar(context.screen)
  for (let waited_ms = 0; ; waited_ms += LOOK_EVERY_MS) {
    const left = await withInstance(context, ({ db }) => countUnderWay(db, customer_id))
    if (left.attempts + left.calls + left.drafts === 0) return
    if (await endDead(context, customer_id)) return
    bar.update(
      `waiting for ${left.attempts} attempts, ${left.calls} calls and ${left.drafts} drafts to end`,
      null,
    )
    if (waited_ms >= WAIT_MS)
      throw new CommandRefusal(
        `${left.attempts} attempts, ${left.calls} calls and ${left.drafts} drafts of ${name} have not ended after ${WAIT_MS / 1000} s. It stays frozen: run the command again, or with --undo`,
      )
    await clock.sleep(LOOK_EVERY_MS, new AbortController().signal)
  }
}

/** Ends what a dead daemon has left; false while one runs, which ends it itself. */
async function endDead(context: CommandContext, customer_id: string): Promise<boolean> {
  const { endDeadWork } = await import('../../store/moving/freeze.ts')
  const lock = await lockOf(context)
  if (lock === null) return false
  try {
    await withInstance(context, ({ db, now }) =>
      endDeadWork(db, { customer_id, unknown: { error: 'OUTCOME_UNKNOWN' }, now }),
    )
    return true
  } finally {
    lock.release()
  }
}

/** The lock of the data folder; null while a daemon has it. */
async function lockOf(context: CommandContext) {
  const { takeLock, InstanceLocked } = await import('../../store/maintenance/paths.ts')
  try {
    return takeLock(join(openConfig(context).storage.dir, 'lock.db'))
  } catch (error) {
    if (error instanceof InstanceLocked) return null
    throw error
  }
}

async function writeFile(
  context: CommandContext,
  name: string,
  file: string,
): Promise<{ rows: number; bytes: number; key: Uint8Array }> {
  const { exportCustomer } = await import('../../store/moving/export.ts')
  const { recordExport } = await import('../../store/moving/freeze.ts')
  const { openFolder } = await import('../../store/maintenance/folder.ts')
  using bar = openBar(context.screen)
  using folder = openFolder(dirname(file))
  const part = `${basename(file)}.part`
  folder.remove(part)
  try {
    return await withInstance(context, ({ db, ring, random, now }) => {
      const { id: customer_id } = customerNamed(db, name)
      const key = newFileKey((count) => random.bytes(count))
      using output = folder.create(part)
      const { rows, bytes } = exportCustomer(db, {
        customer_id,
        ring,
        key,
        now,
        write: (block) => output.write(block),
        on_progress: (share) => bar.update('writing the file', share),
      })
      output.sync()
      // Fails if the name was taken meanwhile: another file is never replaced.
      folder.link(part, basename(file))
      folder.remove(part)
      folder.sync()
      recordExport(db, customer_id, now)
      return { rows, bytes, key }
    })
  } catch (error) {
    folder.remove(part)
    context.warn(`${name} stays frozen: run the command again, or with --undo`)
    throw error
  }
}

const leaving = (name: string) =>
  new CommandRefusal(
    `the deletion of ${name} here has begun, because its import has printed the receipt: it is at the other instance. End it with forumd customer export ${name} --finish RECEIPT`,
  )

async function undoMove(context: CommandContext, name: string): Promise<number> {
  const { unfreezeCustomer } = await import('../../store/moving/freeze.ts')
  const { isLeaving } = await import('../../store/moving/frozen.ts')
  const done = await withInstance(context, ({ db, now }) => {
    const { id } = customerNamed(db, name)
    if (isLeaving(db, id)) throw leaving(name)
    return unfreezeCustomer(db, id, now)
  })
  if (!done) throw new CommandRefusal(`${name} is not frozen`)
  context.stdout.write(
    `${name} goes on here, from where its monitors stopped. Delete the file: if it is imported now, two instances act for ${name}.\n`,
  )
  return EXIT.done
}

async function finishMove(context: CommandContext, name: string, receipt: string): Promise<number> {
  const { findMove } = await import('../../store/moving/freeze.ts')
  const { forgetCustomer } = await import('../../store/moving/forget.ts')
  const rows = await withInstance(context, ({ db, now }) => {
    const { id } = customerNamed(db, name)
    const move = findMove(db, id)
    if (move === null) throw new CommandRefusal(`${name} is not frozen: export it first`)
    if (move.exported_at === null || move.receipt !== receipt)
      throw new CommandRefusal(
        `this is not the receipt of the file of ${name}, which forumd customer import prints. Nothing was deleted`,
      )
    return forgetCustomer(db, id, now)
  })
  context.stdout.write(`${name} is deleted here, with ${rows} rows. Its audit lines stay.\n`)
  return EXIT.done
}

export const customerImport = command({
  name: 'customer import',
  summary: 'takes a customer over from a file',
  operands: ['FILE'],
  options: {
    'key-file': {
      type: 'string',
      value: FROM,
      help: 'where the key of the file is (default: asked for, or standard input)',
    },
    name: { type: 'string', value: 'NAME', help: 'another name for it here' },
    plan: { type: 'string', value: 'NAME', help: 'another plan, one of [plans] here' },
    json: JSON_OPTION,
  },
  examples: [
    'forumd customer import acme.customer',
    'forumd customer import acme.customer --key-file acme.key --plan pro',
  ],
  notes: `The file is checked first: its schema, which must be that of this build, and the digest of all bytes. Then everything is written in one transaction: a kill leaves all of it or nothing. Until its end a running daemon writes nothing, so that beside one at most ${ROWS_BESIDE_MAX} rows are taken; for more, stop the daemon. Keys, ids of deliveries and cursors of the pull API stay the same. It prints the receipt that the former instance asks for before it deletes the customer.`,
  async run({ values, operands: [name = ''], ...context }) {
    const path = resolve(name)
    const sources = createSources(context, values)
    const from = values['key-file']
    const text =
      from === undefined
        ? ((await sources.prompt('Key of the file (fx_…): ')) ?? (await context.readStdin()))
        : await sources.secret('key-file', from)
    const key = readFileKey(text)
    if (key === null)
      throw new CommandRefusal(
        'the key of the file is fx_ and 43 characters, as customer export printed it',
      )
    openConfig(context)
    if (!statSync(path, { throwIfNoEntry: false })?.isFile())
      throw new CommandRefusal(`there is no file ${path}`)
    const { openMoveFile } = await import('../../store/moving/reader.ts')
    const { importCustomer } = await import('../../store/moving/import.ts')
    using file = openMoveFile(path)
    const lock = await lockOf(context)
    try {
      if (lock === null && file.header.rows > ROWS_BESIDE_MAX)
        throw new CommandRefusal(
          `the file has ${file.header.rows} rows, which are written in one transaction, and a running daemon could write nothing until its end: stop the daemon first. Beside it at most ${ROWS_BESIDE_MAX} rows are taken`,
        )
      using bar = openBar(context.screen)
      const imported = await withInstance(context, (opened: OpenInstance) =>
        importCustomer(
          opened.db,
          file,
          { ring: opened.ring, now: opened.now },
          {
            key,
            name: values.name,
            plan: values.plan,
            plans: Object.keys(opened.config.plans),
            sources: opened.config.source.map((it) => it.name),
            on_progress: (share) => bar.update('writing the customer', share),
          },
        ),
      )
      bar[Symbol.dispose]()
      const { name: here, rows, receipt, live_feeds } = imported
      context.stdout.write(
        values.json
          ? `${JSON.stringify(imported)}\n`
          : `${here} is a customer of this instance, with ${rows} rows. Its monitors go on where they stopped.\n` +
              (live_feeds === 0
                ? ''
                : `${live_feeds} of its feeds were watched here already: certificates of the time before the move are those of the former instance.\n`) +
              `Receipt: ${receipt}\nOn the former instance: forumd customer export NAME --finish ${receipt}. Then delete the file.\n`,
      )
      return EXIT.done
    } finally {
      lock?.release()
    }
  },
})
