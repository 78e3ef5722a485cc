/** A service of a model on the loopback, whose answers a test scripts. */
export type ModelScript = (request: {
  body: any
  item: Record<string, string>
  headers: Headers
}) => Response | Promise<Response>

/** A chat completion with this content. */
export const completionOf = (content: unknown): Response =>
  Response.json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: {
          role: 'assistant',
          content: typeof content === 'string' ? content : JSON.stringify(content),
        },
      },
    ],
  })

/** Scores posts about cats. */
const scoreCats: ModelScript = ({ item }) =>
  completionOf(
    item['title']?.includes('cat')
      ? { score: 0.9, reason: 'it is about a cat' }
      : { score: 0.1, reason: 'no cat in it' },
  )

/** Starts the service. `script` changes its answers. */
export function startFakeModel() {
  let answer: ModelScript = scoreCats
  const requests: { url: string; headers: Headers; body: any; item: Record<string, string> }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const body: any = await request.json()
      const item = JSON.parse(body.messages[1].content)
      requests.push({ url: new URL(request.url).pathname, headers: request.headers, body, item })
      return answer({ body, item, headers: request.headers })
    },
  })
  return {
    base_url: `http://127.0.0.1:${server.port}/v1`,
    requests,
    script: (it: ModelScript) => void (answer = it),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
