import { appendFileSync } from 'node:fs'

// Preloaded into tests (`bun test --preload`): records every answer of a service that a test receives through
// `fetch`, and changes nothing. FORUMD_EXCHANGES names the folder; each process writes its own file, one
// exchange per line.

/** One call of a test and its answer. */
export type Exchange = {
  method: string
  /** With the query. */
  path: string
  status: number
  headers: [string, string][]
  /** Empty for an endless answer or one that is not JSON. */
  body: string
}

const folder = process.env['FORUMD_EXCHANGES']
const OURS = 'access-control-expose-headers'

function recording(upstream: typeof fetch): typeof fetch {
  const recordedFetch = async (...call: Parameters<typeof fetch>) => {
    const response = await upstream(...call)
    if (response.headers.get(OURS)?.includes('X-Credits-Remaining') === true)
      await record(call, response)
    return response
  }
  return Object.assign(recordedFetch, { preconnect: upstream.preconnect })
}

async function record([to, init]: Parameters<typeof fetch>, response: Response): Promise<void> {
  const { pathname, search } = new URL(to instanceof Request ? to.url : to)
  const json = response.headers.get('content-type')?.startsWith('application/json') === true
  const exchange: Exchange = {
    method: init?.method ?? (to instanceof Request ? to.method : 'GET'),
    path: pathname + search,
    status: response.status,
    headers: [...response.headers],
    body: json ? await response.clone().text() : '',
  }
  appendFileSync(`${folder}/${process.pid}.jsonl`, `${JSON.stringify(exchange)}\n`)
}

if (folder !== undefined) globalThis.fetch = recording(fetch)
