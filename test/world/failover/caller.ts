import type { Node } from './node.ts'

const TIMEOUT_MS = 5000

/**
 * A customer's program that reads all the time, from both nodes: the platform then has a request of the primary
 * every few milliseconds, so that short overlaps are seen too.
 */
export function startCaller({
  nodes,
  places,
  per_s,
}: {
  nodes: readonly Node[]
  places: readonly string[]
  per_s: number
}) {
  const counts = { answered: 0, refused: 0, failed: 0 }
  let token = ''
  let count = 0
  let from = 0

  async function call(url: string, place: string): Promise<void> {
    try {
      const response = await fetch(`${url}/api/forum/posts?subforum=${place}&limit=1`, {
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      await response.arrayBuffer()
      // 503: the standby, or a primary that may not act at present.
      counts[response.ok ? 'answered' : response.status === 503 ? 'refused' : 'failed'] += 1
    } catch {
      counts.failed += 1
    }
  }
  const timer = setInterval(() => {
    if (token === '') return
    for (; count < ((performance.now() - from) / 1000) * per_s; count++)
      for (const { url } of nodes)
        if (url !== '') void call(url, places[count % places.length] ?? '')
  }, 5)
  return {
    counts,
    go(key: string) {
      token = key
      from = performance.now()
    },
    stop: () => clearInterval(timer),
  }
}
