import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { runCommand } from './run-command.ts'

const root = join(import.meta.dir, '../..')

const DOC = 'share/doc/forumd'
/** Files of the checkout that are packed with the executable. */
const DOCUMENTS: readonly string[] = ['LICENSE', 'README.md', 'CHANGELOG.md', 'config.example.toml']

/** Output of the program by the path at which it is packed; these are the places that Homebrew links. */
const PRINTED: Readonly<Record<string, readonly string[]>> = {
  'share/man/man1/forumd.1': ['man'],
  'share/bash-completion/completions/forumd': ['completion', 'bash'],
  'share/zsh/site-functions/_forumd': ['completion', 'zsh'],
  'share/fish/vendor_completions.d/forumd.fish': ['completion', 'fish'],
}

type Packing = { name: string; executable: string; notices: string; created_at: Date; out: string }

/**
 * Packs an executable with its manual, completions and documents: NAME.tar.gz in `out`, with a folder NAME whose
 * content can be unpacked into any prefix, such as /usr/local. Owners, times and order are fixed. Returns the path.
 */
export async function pack({
  name,
  executable,
  notices,
  created_at,
  out,
}: Packing): Promise<string> {
  const folder = join(out, name)
  const put = (path: string, content: string | Uint8Array) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o755 })
    writeFileSync(join(folder, path), content)
    chmodSync(join(folder, path), 0o644)
  }
  for (const path of DOCUMENTS) put(join(DOC, basename(path)), readFileSync(join(root, path)))
  put(join(DOC, 'THIRD-PARTY-NOTICES'), notices)
  // The source prints the same for every target, and this machine cannot run every executable.
  for (const [path, args] of Object.entries(PRINTED))
    put(
      path,
      await runCommand([process.execPath, join(root, 'src/main.ts'), ...args], { cwd: root }),
    )
  mkdirSync(join(folder, 'bin'), { mode: 0o755 })
  copyFileSync(executable, join(folder, 'bin/forumd'))
  chmodSync(join(folder, 'bin/forumd'), 0o755)
  const tar = join(out, `${name}.tar`)
  const fixed = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu']
  await runCommand([
    'tar',
    ...fixed,
    // Independent of the umask of the build.
    '--mode=u+w,go-w,a+rX',
    `--mtime=@${created_at.getTime() / 1000}`,
    '-C',
    out,
    '-cf',
    tar,
    name,
  ])
  // Without a name and a timestamp inside.
  await runCommand(['gzip', '-9', '--no-name', '--force', tar])
  return `${tar}.gz`
}
