import { openBootClock, startDeadline } from '../../../src/standby/deadline.ts'

// A process with a deadline, for deadline.test.ts: `busy` computes without an end, `idle` waits.
const [mode, ms] = process.argv.slice(2)
const boot = openBootClock()
const deadline = await startDeadline(boot)
const child = Bun.spawn(['sleep', '600'])
deadline.setChild(child.pid)
deadline.set(boot() + Number(ms))
console.log(child.pid)
const compute = (): never => {
  for (;;) boot()
}
if (mode === 'busy') compute()
await Bun.sleep(600_000)
