import { license } from '../../package.json'

/** Archive of a release as the formula names it. */
type Bottle = { cpu: 'intel' | 'arm'; file: string; sha256: string }

// Homebrew refuses one above 80 characters.
const DESCRIPTION = 'Read, act on and watch a forum platform through your own accounts'
/** Where a release is published that names no address. */
const NOWHERE = 'https://downloads.example'

/**
 * A Homebrew formula of the archives for glibc, which are downloaded from the folder `url`.
 *
 * @see https://docs.brew.sh/Formula-Cookbook
 */
export function formulaOf(version: string, bottles: readonly Bottle[], url = NOWHERE): string {
  const blocks = bottles.map(
    ({ cpu, file, sha256 }) => `  on_${cpu} do
    url "#{DOWNLOADS}/${file}"
    sha256 "${sha256}"
  end
`,
  )
  return `class Forumd < Formula
  DOWNLOADS = "${url.replace(/\/$/, '')}".freeze

  desc "${DESCRIPTION}"
  homepage DOWNLOADS
  version "${version}"
  license "${license}"

  depends_on :linux

${blocks.join('\n')}
  def install
    prefix.install "bin", "share"
  end

  test do
    assert_match "forumd #{version} ", shell_output("#{bin}/forumd version")
  end
end
`
}
