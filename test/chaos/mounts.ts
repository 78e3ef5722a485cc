import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** A temporary file system for one test. */
export type Mounted = { path: string; [Symbol.asyncDispose](): Promise<void> }

/** The system does not permit mounts; the message is that of the failed command. */
export class MountRefused extends Error {
  override name = 'MountRefused'
}

/**
 * Runs a command and returns its output.
 *
 * @throws {MountRefused} the command failed; the message is its error output
 */
async function runCommand(...command: string[]): Promise<string> {
  let child
  try {
    child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' })
  } catch (error) {
    throw new MountRefused(
      `${command[0]}: ${error instanceof Error ? error.message : 'no such command'}`,
    )
  }
  const [printed, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new MountRefused(`${command.join(' ')}: ${stderr.trim()}`)
  return printed.trim()
}

/**
 * A tmpfs limited to a size in MiB or a number of files.
 *
 * @throws {MountRefused} the system does not permit mounts
 */
export async function mountMemory(mib: number, inodes?: number): Promise<Mounted> {
  const dir = await mkdtemp(join(tmpdir(), 'forumd-disk-'))
  const path = join(dir, 'disk')
  await mkdir(path)
  try {
    const bounds =
      inodes === undefined ? `size=${mib}m,mode=755` : `size=${mib}m,mode=755,nr_inodes=${inodes}`
    await runCommand('mount', '-t', 'tmpfs', '-o', bounds, 'forumd-test', path)
  } catch (error) {
    await rm(dir, { recursive: true })
    throw error
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      await runCommand('umount', path)
      await rm(dir, { recursive: true })
    },
  }
}

/** An XFS file system in a file, with simulated power cuts. */
export type Powered = Mounted & {
  /** Discards all unsynced data and blocks writes, like a power failure. */
  cut(): Promise<void>
  /** Mounts the file system again, with a replay of its journal. */
  restore(): Promise<void>
}

const IMAGE_MIB = 400

/**
 * Creates an XFS file system.
 *
 * @throws {MountRefused} the system does not permit mounts
 */
export async function mountPowered(): Promise<Powered> {
  const dir = await mkdtemp(join(tmpdir(), 'forumd-power-'))
  const path = join(dir, 'disk')
  const image = join(dir, 'image')
  await mkdir(path)
  await using undone = new AsyncDisposableStack()
  undone.defer(() => rm(dir, { recursive: true }))
  await runCommand('truncate', '-s', `${IMAGE_MIB}M`, image)
  await runCommand('mkfs.xfs', '-q', image)
  const device = await runCommand('losetup', '--find', '--show', image)
  undone.defer(async () => void (await runCommand('losetup', '--detach', device)))
  const mount = () => runCommand('mount', '-t', 'xfs', device, path)
  await mount()
  undone.defer(async () => void (await runCommand('umount', path)))
  const mount_copy = undone.move()
  return {
    path,
    // Without the flag that flushes the journal first.
    cut: async () => void (await runCommand('xfs_io', '-x', '-c', 'shutdown', path)),
    async restore() {
      await runCommand('umount', path)
      await gone(`/sys/fs/xfs/${basename(device)}`)
      await mount()
      await runCommand('mountpoint', '-q', path)
    },
    [Symbol.asyncDispose]: () => mount_copy.disposeAsync(),
  }
}

/**
 * Waits until an unmounted file system is released: a mount namespace created meanwhile keeps a copy, and a new mount
 * would return the dead one.
 */
async function gone(path: string): Promise<void> {
  while (existsSync(path)) await Bun.sleep(10)
}

/** The reason why mounts are impossible here; null: possible. */
export async function unavailableReason(mount: () => Promise<Mounted>): Promise<string | null> {
  try {
    await using _ = await mount()
    return null
  } catch (error) {
    if (error instanceof MountRefused) return error.message
    throw error
  }
}
