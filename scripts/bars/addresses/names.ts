/** A name server over UDP with scripted answers. */

const TYPES = { A: 1, AAAA: 28 } as const
const CLASS_IN = 1
const HEADER_BYTES = 12
const NAME_AT_QUESTION = 0xc00c
const NO_SUCH_NAME = 3

/** Answers for a name, one per lookup; the last one repeats. `TIMEOUT` sends no answer. */
type Script = { answers: (readonly string[])[]; lookups: Map<number, number> }

export type Names = Disposable & {
  /** Sets the answers for a name from now on. */
  set(name: string, ...answers: (readonly string[])[]): void
  /** Number of lookups of a name, counted by its A queries. */
  lookups(name: string): number
}

/** Starts the server. Names without answers do not exist. */
export async function startNames(hostname: string): Promise<Names> {
  const scripts = new Map<string, Script>()

  function answerTo(query: Buffer): Buffer | null {
    const { name, type, end } = questionOf(query)
    const script = scripts.get(name)
    const lookup = script?.lookups.get(type) ?? 0
    script?.lookups.set(type, lookup + 1)
    const found = script?.answers[Math.min(lookup, script.answers.length - 1)] ?? []
    if (found[0] === 'TIMEOUT') return null
    const records = found
      .filter((address) => (type === TYPES.AAAA) === address.includes(':'))
      .map((address) => recordOf(type, address))
    const head = Buffer.from(query.subarray(0, HEADER_BYTES))
    head.writeUInt16BE(0x8180 | (found.length === 0 ? NO_SUCH_NAME : 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(type === TYPES.A || type === TYPES.AAAA ? records.length : 0, 6)
    head.writeUInt32BE(0, 8)
    return Buffer.concat([head, query.subarray(HEADER_BYTES, end), ...records])
  }

  const socket = await Bun.udpSocket({
    hostname,
    port: 53,
    socket: {
      data(it, query, port, address) {
        const answer = answerTo(query)
        if (answer) it.send(answer, port, address)
      },
    },
  })
  return {
    set: (name, ...answers) =>
      void scripts.set(name.toLowerCase().replace(/\.$/, ''), { answers, lookups: new Map() }),
    lookups: (name) => scripts.get(name)?.lookups.get(TYPES.A) ?? 0,
    [Symbol.dispose]: () => socket.close(),
  }
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function recordOf(type: number, address: string): Buffer {
  const data = type === TYPES.A ? Buffer.from(address.split('.').map(Number)) : bytesOfV6(address)
  const head = Buffer.alloc(HEADER_BYTES)
  head.writeUInt16BE(NAME_AT_QUESTION, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(CLASS_IN, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function bytesOfV6(address: string): Buffer {
  // The URL parser writes an embedded IPv4 address as two groups.
  const plain = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [before = '', after] = plain.split('::')
  const [head, tail] = [groupsOf(before), groupsOf(after)]
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  const bytes = Buffer.alloc(16)
  for (const [at, group] of [...head, ...zeros, ...tail].entries())
    bytes.writeUInt16BE(Number.parseInt(group, 16), at * 2)
  return bytes
}

const groupsOf = (text: string | undefined): string[] => (text ? text.split(':') : [])
