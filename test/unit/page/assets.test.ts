import { expect, test } from 'bun:test'

import { embedPage } from '../../../scripts/build-page.ts'
import { pageFiles } from '../../../src/page/assets.ts'
import { tempFolder } from '../../support/folder.ts'

const PAINT_MAX_BYTES = 100 * 1024

test('the document links what there is, by names that change with it', async () => {
  const { shell, files } = await pageFiles()
  const linked = [...shell.matchAll(/\/dashboard\/assets\/([^"]+)"/g)].map(([, name = '']) => name)

  expect(linked.length).toBe(4)
  expect(linked.filter((name) => !files.has(name))).toEqual([])
  expect(
    [...files.keys()].filter((name) => !/^[\w.-]+-[a-z0-9]{8}\.(js|css|svg)$/.test(name)),
  ).toEqual([])
})

test('no script and no style stands in the document, and nothing of another host', async () => {
  const { shell, files } = await pageFiles()
  const texts = [shell, ...[...files.values()].map(({ body }) => new TextDecoder().decode(body))]

  expect(shell.match(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/g)).toBeNull()
  expect(
    texts.flatMap(
      (text) => text.match(/(?:src|href)=["']?(?:https?:)?\/\/|url\(["']?https?:/g) ?? [],
    ),
  ).toEqual([])
})

test('what is loaded before anything is painted takes less than 100 KB', async () => {
  const { shell, files } = await pageFiles()
  const first = [...files].filter(([name]) => shell.includes(name)).map(([, { body }]) => body)
  const bytes = [new TextEncoder().encode(shell), ...first].map((it) => Bun.gzipSync(it).length)

  expect(bytes.reduce((sum, it) => sum + it, 0)).toBeLessThan(PAINT_MAX_BYTES)
})

test('what draws charts is in a file of its own, which nothing asks for before there is one', async () => {
  const { shell, files } = await pageFiles()
  const scripts = [...files].filter(([name]) => name.endsWith('.js'))
  const drawing = scripts.filter(([, { body }]) =>
    new TextDecoder().decode(body).includes('u-cursor'),
  )

  expect(drawing.map(([name]) => [name.split('-')[0], shell.includes(name)])).toEqual([
    ['draw', false],
  ])
})

test('the same source makes the same files, whoever makes them: a program that is built holds them', async () => {
  using folder = tempFolder()
  const { outputs } = await Bun.build({
    entrypoints: [`${import.meta.dir}/../../../src/page/assets.ts`],
    outdir: folder.path,
    target: 'bun',
    plugins: [await embedPage()],
  })
  const built: { pageFiles: typeof pageFiles } = await import(outputs[0]?.path ?? '')
  const [held, made] = [await built.pageFiles(), await pageFiles()]

  expect(held).toEqual(made)
  expect(await Bun.file(outputs[0]?.path ?? '').text()).not.toContain('Bun.build')
})
