import { expect, test } from 'bun:test'

// The platform's own words. `num_comments` is not among them: contract 5 made it a word of our search's sort_type.
const NATIVE =
  /reddit|selftext|modhash|author_fullname|author_flair|link_flair|gallery_data|media_metadata|morechildren|raw_json|url_overridden|removed_by_category|crosspost_parent|subscribers_count|\bsr_detail\b/i

/**
 * The rooms that speak the platform's language, their unit tests, the tests that talk to a whole platform, and of
 * the benches the platform and what is read of it.
 */
const FLUENT =
  /^src\/platforms\/reddit\/|^sandbox\/|^test\/unit\/(platforms|sandbox)\/|^test\/(browser|clients|conformance|integration|support|world)\/|^scripts\/bench\/(upstream|bench-trees)\.ts$/

const root = `${import.meta.dir}/../../`

/** Native words of a text as `line: text`. The adapter's folder may be named in a path. */
function nativeWords(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, at) =>
      NATIVE.test(line.replaceAll('platforms/reddit', ''))
        ? [`${at + 1}: ${line.trim().slice(0, 80)}`]
        : [],
    )
}

test("the platform's own words stand in its two rooms only", async () => {
  const found: string[] = []
  let files = 0
  for await (const file of new Bun.Glob('{src,sandbox,test,scripts}/**/*.{ts,tsx,css,sql}').scan(
    root,
  )) {
    if (FLUENT.test(file) || file === 'test/unit/platform-words.test.ts') continue
    // What tools fetch for themselves is none of ours.
    if (file.includes('/node_modules/')) continue
    files += 1
    const text = await Bun.file(root + file).text()
    found.push(...nativeWords(text).map((place) => `${file}:${place}`))
  }
  // Not README: people look for what this is in the words they know.
  for (const file of ['config.example.toml', 'package.json'])
    found.push(...nativeWords(await Bun.file(root + file).text()).map((at) => `${file}:${at}`))

  expect(found).toEqual([])
  expect(files).toBeGreaterThan(50)
})

test.each([
  'const r = data.selftext',
  "'https://www.reddit.example'",
  'SELECT subreddit FROM posts',
])('a native word is seen in %p', (line) => {
  expect(nativeWords(`\n${line}`)).toEqual([`2: ${line}`])
})

// The words of time, chance and the network come in through one door; the lint rules say so too, but not of `new Date()`.
test('nobody asks the machine for the time behind the back of the clock', async () => {
  const found: string[] = []
  for await (const file of new Bun.Glob('src/**/*.{ts,tsx}').scan(root)) {
    // A browser has a door of its own.
    if (file === 'src/runtime/runtime.ts' || file === 'src/page/lib/runtime.ts') continue
    const text = await Bun.file(root + file).text()
    for (const [at, line] of text.split('\n').entries())
      if (/new Date\(\)|\bDate\.now\b|\bMath\.random\b|\bBun\.sleep\b|performance\.now/.test(line))
        found.push(`${file}:${at + 1}: ${line.trim()}`)
  }

  expect(found).toEqual([])
})
