import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** A file system of its own, for as long as a test lasts. */
export type Mounted = { path: string; [Symbol.asyncDispose](): Promise<void> }

/** The system does not let us mount; its message is what was refused. */
export class MountRefused extends Error {
  override name = 'MountRefused'
}

/** Runs a command to its end, and gives what it printed. Throws MountRefused with what it said when it fails. */
async function sure(...command: string[]): Promise<string> {
  let child
  try {
    child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' })
  } catch (error) {
    throw new MountRefused(
      `${command[0]}: ${error instanceof Error ? error.message : 'no such command'}`,
    )
  }
  const [printed, said] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new MountRefused(`${command.join(' ')}: ${said.trim()}`)
  return printed.trim()
}

/** A file system in memory that is full after so many MiB. Throws MountRefused. */
export async function mountMemory(mib: number): Promise<Mounted> {
  const dir = await mkdtemp(join(tmpdir(), 'forumd-disk-'))
  const path = join(dir, 'disk')
  await mkdir(path)
  try {
    await sure('mount', '-t', 'tmpfs', '-o', `size=${mib}m`, 'forumd-test', path)
  } catch (error) {
    await rm(dir, { recursive: true })
    throw error
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      await sure('umount', path)
      await rm(dir, { recursive: true })
    },
  }
}

/** An XFS file system on a file, whose power can be cut. */
export type Powered = Mounted & {
  /** Everything that was not synced is gone, as when the power fails; nothing can be written any more. */
  cut(): Promise<void>
  /** As after the power has come back: the journal is replayed and the file system is there again. */
  restore(): Promise<void>
}

const IMAGE_MIB = 400

/** An XFS file system of its own. Throws MountRefused. */
export async function mountPowered(): Promise<Powered> {
  const dir = await mkdtemp(join(tmpdir(), 'forumd-power-'))
  const path = join(dir, 'disk')
  const image = join(dir, 'image')
  await mkdir(path)
  await using undone = new AsyncDisposableStack()
  undone.defer(() => rm(dir, { recursive: true }))
  await sure('truncate', '-s', `${IMAGE_MIB}M`, image)
  await sure('mkfs.xfs', '-q', image)
  const device = await sure('losetup', '--find', '--show', image)
  undone.defer(async () => void (await sure('losetup', '--detach', device)))
  const mount = () => sure('mount', '-t', 'xfs', device, path)
  await mount()
  undone.defer(async () => void (await sure('umount', path)))
  const kept = undone.move()
  return {
    path,
    // Without the flag that would flush the journal first.
    cut: async () => void (await sure('xfs_io', '-x', '-c', 'shutdown', path)),
    async restore() {
      await sure('umount', path)
      await gone(`/sys/fs/xfs/${basename(device)}`)
      await mount()
      await sure('mountpoint', '-q', path)
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/**
 * Until a file system that was unmounted is gone: whoever began a mount namespace meanwhile holds a copy of it, and to mount it
 * then is to be given the dead one again.
 */
async function gone(path: string): Promise<void> {
  while (existsSync(path)) await Bun.sleep(10)
}

/** Why this cannot be mounted here; null when it can. */
export async function whyNot(mount: () => Promise<Mounted>): Promise<string | null> {
  try {
    await using _ = await mount()
    return null
  } catch (error) {
    if (error instanceof MountRefused) return error.message
    throw error
  }
}
