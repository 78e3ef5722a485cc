import { expect, test } from 'bun:test'
import { EventEmitter } from 'node:events'

import { createSources, readHidden } from '../../../../src/cli/account/credentials.ts'

/** A terminal that is typed at, and what it shows. */
function terminal() {
  const keys = new EventEmitter()
  const raw: boolean[] = []
  let screen = ''
  return {
    raw,
    screen: () => screen,
    ask: () =>
      readHidden(
        'Password: ',
        Object.assign(keys, {
          setRawMode: (it: boolean) => raw.push(it),
          resume: () => {},
          pause: () => {},
        }),
        { write: (text: string) => (screen += text) },
      ),
    type: (...chunks: (string | Uint8Array)[]) => {
      for (const chunk of chunks) keys.emit('data', Buffer.from(chunk))
    },
    listeners: () => keys.listenerCount('data'),
  }
}

test('input ends with Enter, is edited by backspace, and is never shown', async () => {
  const it = terminal()
  const typed = it.ask()
  // A letter of two bytes may come in two pieces.
  it.type('hu', 'nx\u007f', 'ter', Uint8Array.of(0xc3), Uint8Array.of(0xa9), '\r', 'after')

  expect(await typed).toBe('hunteré')
  expect(it.screen()).toBe('Password: \n')
  expect(it.raw).toEqual([true, false])
  expect(it.listeners()).toBe(0)
})

test('Ctrl-C aborts and restores the terminal', async () => {
  const it = terminal()
  const typed = it.ask()
  it.type('secret\u0003')

  expect(await typed.then(String, (error: Error) => error.message)).toBe('cancelled')
  expect(it.raw).toEqual([true, false])
})

test.each([
  ['', 'the input is empty; no action was taken'],
  ['hunter2', 'hunter2'],
])('%j at a prompt is %j', async (typed, becomes) => {
  const sources = createSources(
    {
      env: {},
      readStdin: () => Promise.resolve(''),
      stdinIsTerminal: true,
      warn: () => {},
      promptSecret: () => Promise.resolve(typed),
    },
    {},
  )

  expect(await sources.prompt('Password: ').catch((error: Error) => error.message)).toBe(becomes)
})
