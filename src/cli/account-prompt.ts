import { Refusal } from './command.ts'

/** A terminal, as far as it is needed to type without being seen. */
type Keys = {
  setRawMode?(raw: boolean): unknown
  on(event: 'data', take: (chunk: Uint8Array) => void): unknown
  off(event: 'data', take: (chunk: Uint8Array) => void): unknown
  resume(): unknown
  pause(): unknown
}

const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f']

/** Asks for one line that is not shown as it is typed. Throws Refusal when it is given up with Ctrl-C. */
export async function readHidden(
  question: string,
  keys: Keys,
  screen: { write(text: string): unknown },
): Promise<string> {
  const typed = Promise.withResolvers<string>()
  const decoder = new TextDecoder()
  let line: string[] = []

  const take = (chunk: Uint8Array) => {
    for (const key of decoder.decode(chunk, { stream: true })) {
      if (key === '\r' || key === '\n' || key === CTRL_D) return typed.resolve(line.join(''))
      if (key === CTRL_C) return typed.reject(new Refusal('given up'))
      if (key === BACKSPACE || key === DELETE) line = line.slice(0, -1)
      else line.push(key)
    }
  }

  screen.write(question)
  keys.setRawMode?.(true)
  keys.on('data', take)
  keys.resume()
  try {
    return await typed.promise
  } finally {
    keys.off('data', take)
    keys.pause()
    keys.setRawMode?.(false)
    screen.write('\n')
  }
}
