import { expect, test } from 'bun:test'

// The platform's own words. `num_comments` is not one of them: it is a value of the public parameter sort_type.
const NATIVE =
  /reddit|selftext|modhash|author_fullname|author_flair|link_flair|gallery_data|media_metadata|morechildren|raw_json|url_overridden|removed_by_category|crosspost_parent|subscribers_count|\bsr_detail\b/i

/**
 * Folders that may use the platform's words: the adapter and the sandbox, their unit tests, the tests against a whole
 * platform, and the platform of the benches.
 */
const FLUENT =
  /^src\/platforms\/(?:reddit\/|feed\/(?:discovery|opml)\.ts|(?:items|list)\.ts)|^sandbox\/|^src\/(?:cli\/demo\/kinds|wiring\/sources)\.ts$|^test\/unit\/(platforms|sandbox)\/|^test\/(browser|clients|conformance|integration|support|world)\/|^scripts\/(?:bars\/(?:flood|fuzz)\/|bench\/(?:load\/upstream|floors\/server|trees)\.ts$)/

const root = `${import.meta.dir}/../../`

/** Words of the platforms that are sources only. */
const OF_SOURCES =
  /discourse|hacker ?news|algolia|firebaseio|lemmy|piefed|post_stream|latest_posts|topic_slug|\bap_id\b|actor_id|objectID/i

/** Adapters and simulations of these platforms, and the files that list them. */
const SPEAKERS =
  /^sandbox\/|^src\/platforms\/(?:(?:discourse|feed|hackernews|lemmy|piefed)\/|(?:list|kind)\.ts)|^src\/wiring\/sources\.ts$|^src\/cli\/(?:demo\/kinds|account\/source|init\/answers)\.ts$|^test\/(unit\/(?:sandbox|platforms|config)|conformance|integration)\/|^test\/simulation\/sources\.test\.ts$|^test\/support\/(?:hostile-site|mutations)\.ts$|^test\/world\/sources\/|^scripts\/bars\/(?:flood\/|fuzz\/|sources\/(?:sources|scenarios)\.ts$)/

/** Names of kinds are values of the configuration and of answers, and of folders. */
const KIND =
  /platforms\/(?:reddit|discourse|hackernews|lemmy)|Reddit-style|of the kind reddit|['"](?:reddit|discourse|hackernews|lemmy|piefed)['"]/g

/** Native words of a text as `line: text`. The names of kinds may occur everywhere. */
function nativeWords(text: string, words = NATIVE): string[] {
  return text
    .split('\n')
    .flatMap((line, at) =>
      words.test(line.replaceAll(KIND, '')) ? [`${at + 1}: ${line.trim().slice(0, 80)}`] : [],
    )
}

test("the platform's own words appear only in the adapter and the sandbox", async () => {
  const found: string[] = []
  let files = 0
  for await (const file of new Bun.Glob('{src,sandbox,test,scripts}/**/*.{ts,tsx,css,sql}').scan(
    root,
  )) {
    if (FLUENT.test(file) || file === 'test/unit/platform-words.test.ts') continue
    // Packages of the tools are not part of the project.
    if (file.includes('/node_modules/')) continue
    files += 1
    const text = await Bun.file(root + file).text()
    found.push(...nativeWords(text).map((place) => `${file}:${place}`))
  }
  // Not README: people search for the platform by name.
  for (const file of ['config.example.toml', 'package.json'])
    found.push(...nativeWords(await Bun.file(root + file).text()).map((at) => `${file}:${at}`))

  expect(found).toEqual([])
  expect(files).toBeGreaterThan(50)
})

test('the words of a source are in its adapter and its simulation only', async () => {
  const found: string[] = []
  let files = 0
  for await (const file of new Bun.Glob('{src,sandbox,test,scripts}/**/*.{ts,tsx,css,sql}').scan(
    root,
  )) {
    if (file.includes('/node_modules/') || file === 'test/unit/platform-words.test.ts') continue
    if (SPEAKERS.test(file)) continue
    files += 1
    const text = await Bun.file(root + file).text()
    found.push(...nativeWords(text, OF_SOURCES).map((place) => `${file}:${place}`))
  }

  expect(found).toEqual([])
  expect(files).toBeGreaterThan(50)
})

// One kind's words stay out of the rooms of the others, and of what they share.
test.each([
  ['sandbox/discourse', /lemmy|hacker ?news|algolia|subreddit/i],
  ['sandbox/hackernews', /discourse|lemmy|subreddit/i],
  ['sandbox/lemmy', /discourse|hacker ?news|algolia|subreddit/i],
  ['sandbox/sources', /post_stream|actor_id|objectID|subreddit/i],
])('%s does not speak of the other platforms', async (folder, words) => {
  const found: string[] = []
  for await (const file of new Bun.Glob(`${folder}/*.ts`).scan(root))
    found.push(
      ...nativeWords(await Bun.file(root + file).text(), words).map((at) => `${file}:${at}`),
    )

  expect(found).toEqual([])
})

test.each([
  'const r = data.selftext',
  "'https://www.reddit.example'",
  'SELECT subreddit FROM posts',
])('a native word is detected in %p', (line) => {
  expect(nativeWords(`\n${line}`)).toEqual([`2: ${line}`])
})

// Clock, randomness and network are reached through `Runtime` only; the lint rules check it too, except for `new Date()`.
test('only the runtime reads the system clock', async () => {
  const found: string[] = []
  for await (const file of new Bun.Glob('src/**/*.{ts,tsx}').scan(root)) {
    // The dashboard has its own runtime.
    if (file === 'src/runtime/runtime.ts' || file === 'src/page/lib/runtime.ts') continue
    const text = await Bun.file(root + file).text()
    for (const [at, line] of text.split('\n').entries())
      if (/new Date\(\)|\bDate\.now\b|\bMath\.random\b|\bBun\.sleep\b|performance\.now/.test(line))
        found.push(`${file}:${at + 1}: ${line.trim()}`)
  }

  expect(found).toEqual([])
})
