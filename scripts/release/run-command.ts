/**
 * Runs a command and returns its output.
 *
 * @throws {Error} with its stderr if it fails
 */
export async function runCommand(
  command: readonly string[],
  { cwd, env }: { cwd?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  if (code !== 0)
    throw new Error(`${command.join(' ')} ended with ${child.signalCode ?? code}:\n${err || out}`)
  return out
}
