import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file system of its own, for as long as a test lasts. */
export type Mounted = { path: string; [Symbol.asyncDispose](): Promise<void> }

/** The system does not let us mount; its message is what was refused. */
export class MountRefused extends Error {
  override name = 'MountRefused'
}

/** Runs a command to its end. Throws MountRefused with what it said when it fails. */
export async function sure(...command: string[]): Promise<void> {
  let child
  try {
    child = Bun.spawn(command, { stdout: 'ignore', stderr: 'pipe' })
  } catch (error) {
    throw new MountRefused(
      `${command[0]}: ${error instanceof Error ? error.message : 'no such command'}`,
    )
  }
  const said = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new MountRefused(`${command.join(' ')}: ${said.trim()}`)
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

/** Whether something can be mounted here; null when it can, else what was refused. */
export async function whyNoMount(): Promise<string | null> {
  try {
    await using _ = await mountMemory(1)
    return null
  } catch (error) {
    if (error instanceof MountRefused) return error.message
    throw error
  }
}
