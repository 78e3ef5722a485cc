import { dlopen, FFIType } from 'bun:ffi'

const CLOCK_THREAD_CPUTIME_ID = 3
const libc = dlopen('libc.so.6', {
  clock_gettime: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
})
const timespec = new BigInt64Array(2)

/** Processor time of this thread, in ms; other processes on the machine are not included. */
export function threadMs(): number {
  libc.symbols.clock_gettime(CLOCK_THREAD_CPUTIME_ID, timespec)
  return Number(timespec[0]) * 1000 + Number(timespec[1]) / 1e6
}
