import { dlopen, FFIType } from 'bun:ffi'

const CLOCK_MONOTONIC = 1
const libc = dlopen('libc.so.6', {
  clock_gettime: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
})
const timespec = new BigInt64Array(2)

/** Milliseconds of the monotonic clock, the same in every process (Node: `process.hrtime`). */
export function monotonicMs(): number {
  libc.symbols.clock_gettime(CLOCK_MONOTONIC, timespec)
  return Number(timespec[0]) * 1000 + Number(timespec[1]) / 1e6
}
