import { LeaseUnreachable, type Register } from '../../src/standby/register.ts'

/** A register in memory that two leases share. `fail` makes the next calls fail, before or after their effect. */
export function memoryRegister() {
  let stored: { version: string; text: string } | null = null
  let count = 0
  const faults: ('before' | 'after')[] = []
  const end = async <T>(work: () => T): Promise<T> => {
    await Promise.resolve()
    const fault = faults.shift()
    if (fault === 'before') throw new LeaseUnreachable('timeout')
    const result = work()
    if (fault === 'after') throw new LeaseUnreachable('timeout')
    return result
  }
  const register: Register = {
    read: () => end(() => stored),
    swap: (expected, text) =>
      end(() => {
        if ((stored?.version ?? null) !== expected) return null
        stored = { version: String(++count), text }
        return stored.version
      }),
    close: () => Promise.resolve(),
  }
  return { register, fail: (...next: ('before' | 'after')[]) => faults.push(...next) }
}
