// Goal: an unpacked archive is a prefix that runs, and the formula installs it. Method: the archive of a program that
// starts the one of the suite instead of containing it; the formula under ruby, with the parts of Homebrew that it uses.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { version } from '../../../../package.json'
import { pack } from '../../../../scripts/release/archive.ts'
import { formulaOf } from '../../../../scripts/release/formula.ts'
import { type Folder, tempFolder } from '../../../support/folder.ts'
import { PROGRAM } from '../../../support/process.ts'

setDefaultTimeout(60_000)

const created_at = new Date('2026-11-20T00:00:00Z')
const NAME = 'forumd-1.0.0-linux-x64'

async function packed(out: string): Promise<string> {
  mkdirSync(out)
  const executable = join(out, 'some-program')
  const program = `#!/bin/sh\nexec ${PROGRAM.join(' ')} "$@"\n`
  writeFileSync(executable, program, { mode: 0o700 })
  return pack({ name: NAME, executable, notices: 'by which licence\n', created_at, out })
}

let folder: Folder
let archive = ''
beforeAll(async () => {
  folder = tempFolder()
  archive = await packed(folder.file('out'))
})
afterAll(() => folder[Symbol.dispose]())

function run(...command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: folder.path })
  const output = stdout.toString() + stderr.toString()
  if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${output}`)
  return output
}

test('an archive has executable, manual, completions and documents, owned by root and dated to the release day', () => {
  const lines = run('tar', '--utc', '--full-time', '--numeric-owner', '-tvzf', archive)
    .trim()
    .split('\n')

  expect(archive).toEndWith(`/out/${NAME}.tar.gz`)
  const [folders, files] = [/^drwxr-xr-x 0\/0 .*\/$/, /\/$/].map((pattern, index) =>
    lines.filter((line) => pattern.test(line) === (index === 0)),
  )
  expect(folders?.length).toBe(lines.length - (files?.length ?? 0))
  expect(files?.map((line) => line.replace(/^(\S+) +(\S+) +\d+ /, '$1 $2 '))).toEqual(
    [
      '-rwxr-xr-x bin/forumd',
      '-rw-r--r-- share/bash-completion/completions/forumd',
      '-rw-r--r-- share/doc/forumd/CHANGELOG.md',
      '-rw-r--r-- share/doc/forumd/LICENSE',
      '-rw-r--r-- share/doc/forumd/README.md',
      '-rw-r--r-- share/doc/forumd/THIRD-PARTY-NOTICES',
      '-rw-r--r-- share/doc/forumd/config.example.toml',
      '-rw-r--r-- share/fish/vendor_completions.d/forumd.fish',
      '-rw-r--r-- share/man/man1/forumd.1',
      '-rw-r--r-- share/zsh/site-functions/_forumd',
    ].map((line) => line.replace(' ', ` 0/0 2026-11-20 00:00:00 ${NAME}/`)),
  )
})

test('packing again gives the same bytes under any umask', async () => {
  const before = process.umask(0o077)
  const again = await packed(folder.file('again')).finally(() => process.umask(before))

  expect(readFileSync(again).equals(readFileSync(archive))).toBe(true)
  // No name and no time in its gzip header (RFC 1952), which would differ later.
  expect([...readFileSync(archive).subarray(3, 8)]).toEqual([0, 0, 0, 0, 0])
})

/** The parts of Homebrew that the formula uses: downloads, checks, unpacks, installs into a prefix, runs the test. */
const HOMEBREW = `
require "digest"; require "fileutils"; require "open3"; require "uri"
class Prefix
  def initialize(path) = @path = path
  def to_s = @path
  def install(*names) = names.each { |it| FileUtils.cp_r(it, "#{@path}/") }
end
class Formula
  class << self
    attr_reader :from, :sum, :body
    def desc(text) = (raise "desc" if text.length > 80 || text.end_with?("."))
    def homepage(url) = URI(url)
    def version(text = nil) = text ? @version = text : @version
    def license(_) = nil
    def depends_on(what) = (raise "depends_on" unless what == :linux)
    def on_intel = yield
    def on_arm = nil
    def url(text) = @from = text
    def sha256(text) = @sum = text
    def test(&body) = @body = body
  end
  def prefix = Prefix.new(ARGV[1])
  def bin = "#{ARGV[1]}/bin"
  def version = self.class.version
  def shell_output(command) = Open3.capture2(command).first
  def assert_match(wanted, text) = (raise "#{text} lacks #{wanted}" unless text.include?(wanted))
end
load ARGV[0]
file = URI(Forumd.from).path
raise "sha256 of #{file}" unless Digest::SHA256.file(file).hexdigest == Forumd.sum
system("tar", "-xzf", file, "-C", ARGV[2], "--strip-components=1", exception: true)
Dir.chdir(ARGV[2]) { Forumd.new.install }
Forumd.new.instance_eval(&Forumd.body)
`

const ruby = Bun.which('ruby')
if (ruby === null) console.log('the formula is not loaded here: there is no ruby')

test.skipIf(ruby === null)(
  'the formula is valid ruby, and installs a prefix whose program runs',
  () => {
    const bytes = readFileSync(archive)
    const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
    const bottles = [
      { cpu: 'intel' as const, file: basename(archive), sha256 },
      { cpu: 'arm' as const, file: 'absent.tar.gz', sha256: '0'.repeat(64) },
    ]
    writeFileSync(folder.file('brew.rb'), HOMEBREW)
    writeFileSync(
      folder.file('forumd.rb'),
      formulaOf(version, bottles, `file://${folder.path}/out/`),
    )
    for (const name of ['prefix', 'unpacked']) mkdirSync(folder.file(name))

    expect(run('ruby', '-wc', 'forumd.rb')).toBe('Syntax OK\n')
    run('ruby', 'brew.rb', folder.file('forumd.rb'), folder.file('prefix'), folder.file('unpacked'))
    expect(run('prefix/bin/forumd', 'man')).toBe(
      readFileSync(folder.file('prefix/share/man/man1/forumd.1'), 'utf8'),
    )
    expect(run('prefix/bin/forumd', 'completion', 'zsh')).toBe(
      readFileSync(folder.file('prefix/share/zsh/site-functions/_forumd'), 'utf8'),
    )
  },
)
