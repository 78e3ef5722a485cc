import { openBootClock, watchDeadline } from './deadline.ts'

declare const self: Worker

self.onmessage = ({ data }: MessageEvent<SharedArrayBuffer>) => {
  postMessage('ready')
  // In a later turn: the message leaves first.
  setTimeout(() => watchDeadline(new BigInt64Array(data), openBootClock()), 0)
}
