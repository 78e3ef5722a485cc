import { openBootClock, watchDeadline } from './deadline.ts'

declare const self: Worker

self.addEventListener('message', ({ data }: MessageEvent<SharedArrayBuffer>) => {
  postMessage('ready')
  setImmediate(() => watchDeadline(new BigInt64Array(data), openBootClock()))
})
