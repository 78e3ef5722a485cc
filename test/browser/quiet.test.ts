import { expect, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'

import { realClock } from '../../src/outside.ts'
import { findChromium } from '../../src/platform/browser/launch.ts'
import { tempFolder } from '../support/folder.ts'
import { inBrowser, startStage, TEST_MS } from './stage.ts'

// Goal: nothing leaves the browser for anybody but the platform.
// Method: the browser's own way out, which pages do not use, is a proxy that writes down whoever asks; and the browser's
// network log, in which every request and every name it looks up stands, whichever way it went.

/** Long enough for what a browser does once it has settled. */
const SETTLED_MS = 8_000

/** A proxy that writes down the first line of whatever comes, and answers nothing. */
function startRecorder() {
  const heard: string[] = []
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        heard.push(bytes.toString('latin1').split('\r\n', 1)[0] ?? '')
        socket.end()
      },
    },
  })
  return { heard, port: server.port, [Symbol.dispose]: () => server.stop(true) }
}

inBrowser('a browser that is used', () => {
  test(
    'speaks to the platform and to nobody else',
    async () => {
      using folder = tempFolder()
      using recorder = startRecorder()
      const log = folder.file('net-log.json')
      const executable = folder.file('chromium')
      // The last flag of a name is the one that counts.
      writeFileSync(
        executable,
        `#!/bin/sh\nexec '${findChromium('')}' "$@" --proxy-server=http://127.0.0.1:${recorder.port} '--proxy-bypass-list=<-loopback>' --log-net-log='${log}'\n`,
      )
      chmodSync(executable, 0o755)
      await using it = await startStage({ executable })
      const { name: post } = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })

      const signed = await it.signIn('ann')
      const done = await it.answer('ann', { post })
      await realClock.sleep(SETTLED_MS)

      await it.browser.close()
      const text = await Bun.file(log).text()
      const urls = [...text.matchAll(/"(?:url|original_url)":"((?:https?|wss?):[^"]*)"/g)]
      const names = [...text.matchAll(/"(?:host|hostname)":"([^"]*)"/g)]
      const hosts = new Set([
        ...urls.map(([, url = '']) => new URL(url).hostname),
        ...names.map(([, host = '']) => host.replace(/^\w+:\/\//, '').replace(/:\d+$/, '')),
      ])
      expect({ signed, done }).toMatchObject({ signed: { ok: true }, done: { ok: true } })
      expect(urls.some(([, url = '']) => url.startsWith(it.sandbox.url))).toBeTrue()
      expect([...hosts].filter((host) => host !== '127.0.0.1')).toEqual([])
      expect(recorder.heard).toEqual([])
    },
    TEST_MS,
  )
})
