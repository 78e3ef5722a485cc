import { watchBeats } from './watchdog.ts'

declare const self: Worker

self.addEventListener(
  'message',
  ({ data }: MessageEvent<{ cells: SharedArrayBuffer; after_s: number }>) => {
    postMessage('ready')
    setImmediate(() => watchBeats(new Int32Array(data.cells), data.after_s))
  },
)
