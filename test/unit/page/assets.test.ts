import { expect, test } from 'bun:test'

import { embedPage } from '../../../scripts/build/page.ts'
import { pageFiles } from '../../../src/page/assets.ts'
import { tempFolder } from '../../support/folder.ts'

const PAINT_MAX_BYTES = 100 * 1024

test('the document links existing files by content-hashed names', async () => {
  const { shell, files } = await pageFiles()
  const linked = [...shell.matchAll(/\/dashboard\/assets\/([^"]+)"/g)].map(([, name = '']) => name)

  expect(linked.length).toBe(4)
  expect(linked.filter((name) => !files.has(name))).toEqual([])
  expect(
    [...files.keys()].filter((name) => !/^[\w.-]+-[a-z0-9]{8}\.(js|css|svg)$/.test(name)),
  ).toEqual([])
})

test('the document has no inline script or style and no external resource', async () => {
  const { shell, files } = await pageFiles()
  const texts = [shell, ...[...files.values()].map(({ body }) => new TextDecoder().decode(body))]

  expect(shell.match(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/g)).toBeNull()
  expect(
    texts.flatMap(
      (text) => text.match(/(?:src|href)=["']?(?:https?:)?\/\/|url\(["']?https?:/g) ?? [],
    ),
  ).toEqual([])
})

test('the files of the first paint take less than 100 KB', async () => {
  const { shell, files } = await pageFiles()
  const first = [...files].filter(([name]) => shell.includes(name)).map(([, { body }]) => body)
  const bytes = [new TextEncoder().encode(shell), ...first].map((it) => Bun.gzipSync(it).length)

  expect(bytes.reduce((sum, it) => sum + it, 0)).toBeLessThan(PAINT_MAX_BYTES)
})

test('the chart library is a separate file that loads with the first chart', async () => {
  const { shell, files } = await pageFiles()
  const scripts = [...files].filter(([name]) => name.endsWith('.js'))
  const drawing = scripts.filter(([, { body }]) =>
    new TextDecoder().decode(body).includes('u-cursor'),
  )

  expect(drawing.map(([name]) => [name.split('-')[0], shell.includes(name)])).toEqual([
    ['draw', false],
  ])
})

test('the same source builds the same files in any process', async () => {
  using folder = tempFolder()
  const { outputs } = await Bun.build({
    entrypoints: [`${import.meta.dir}/../../../src/page/assets.ts`],
    outdir: folder.path,
    target: 'bun',
    plugins: [await embedPage()],
  })
  const built: { pageFiles: typeof pageFiles } = await import(outputs[0]?.path ?? '')
  const [embedded, built_files] = [await built.pageFiles(), await pageFiles()]

  expect(embedded).toEqual(built_files)
  expect(await Bun.file(outputs[0]?.path ?? '').text()).not.toContain('Bun.build')
})
