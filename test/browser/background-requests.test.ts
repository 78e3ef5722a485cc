import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'

import { findChromium } from '../../src/platforms/reddit/browser/launch.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { tempFolder } from '../support/folder.ts'
import { inBrowser, startBrowserFixture, TEST_MS } from './fixture.ts'

setDefaultTimeout(TEST_MS)

// Goal: the browser contacts no host but the platform.
// Method: the browser's default proxy, which pages do not use, records all requests; the browser's network log lists
// every request and DNS lookup on any route.

/** Long enough for the background requests of an idle browser. */
const IDLE_MS = 8_000

/** A proxy that records the first line of each connection and never answers. */
function startRecorder() {
  const requests: string[] = []
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        requests.push(bytes.toString('latin1').split('\r\n', 1)[0] ?? '')
        socket.end()
      },
    },
  })
  return { requests, port: server.port, [Symbol.dispose]: () => server.stop(true) }
}

inBrowser('a browser in use', () => {
  test('contacts only the platform', async () => {
    using folder = tempFolder()
    using recorder = startRecorder()
    const log = folder.file('net-log.json')
    const executable = folder.file('chromium')
    // The last of repeated flags applies.
    writeFileSync(
      executable,
      `#!/bin/sh\nexec '${findChromium('')}' "$@" --proxy-server=http://127.0.0.1:${recorder.port} '--proxy-bypass-list=<-loopback>' --log-net-log='${log}'\n`,
    )
    chmodSync(executable, 0o755)
    await using it = await startBrowserFixture({ executable })
    const { name: post } = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })

    const signed = await it.signIn('ann')
    const done = await it.answer('ann', { post })
    await realClock.sleep(IDLE_MS)

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
    expect(recorder.requests).toEqual([])
  })
})
