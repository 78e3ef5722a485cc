type Native = Record<string, unknown> & { id: number }

/** A server with the API of a source of dense ids, with the items that a test adds. */
export function startDenseSite(now: () => number) {
  const items = new Map<number, Native | null>()
  const requests: string[] = []
  const state = { max: 100, updates: [] as number[], down: false, status: 200 }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname } = new URL(url)
      requests.push(pathname)
      const headers = { date: new Date(now()).toUTCString() }
      if (state.status !== 200) return new Response('', { status: state.status, headers })
      const id = /^\/v0\/item\/(\d+)\.json$/.exec(pathname)?.[1]
      if (id !== undefined) return Response.json(items.get(Number(id)) ?? null, { headers })
      if (pathname === '/v0/maxitem.json') return Response.json(state.max, { headers })
      if (pathname === '/v0/updates.json')
        return Response.json({ items: state.updates, profiles: [] }, { headers })
      return Response.json(null, { headers })
    },
  })

  /** Adds the next item, or an item in the place of an id. Created now. */
  function put(fields: Record<string, unknown>, id = state.max + 1): number {
    const time = Math.floor(now() / 1000)
    items.set(id, { id, type: 'story', by: 'ann', time, title: '', score: 1, ...fields })
    state.max = Math.max(state.max, id)
    return id
  }

  return {
    url: `http://127.0.0.1:${server.port}`,
    /** Paths of the requests so far. */
    requests,
    /** Status of every answer, and the ids listed as changed. */
    state,
    put,
    story: (title: string, fields: object = {}) => put({ title, ...fields }),
    comment: (parent: number, text: string, fields: object = {}) =>
      put({ type: 'comment', parent, text, title: undefined, ...fields }),
    /** Changes an item and lists it as changed. */
    edit(id: number, fields: object) {
      items.set(id, { id, ...items.get(id), ...fields })
      state.updates = [id]
    },
    /** The next id has no item yet. */
    reserve(): number {
      state.max += 1
      items.set(state.max, null)
      return state.max
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
