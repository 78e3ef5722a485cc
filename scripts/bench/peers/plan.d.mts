export const CONCURRENCY: number
export const TARGETS: number
export function itemOf(
  n: number,
  at: number,
): {
  id: string
  name: string
  title: string
  text: string
  bench_id: string
  bench_at: number
} & Record<string, unknown>
export function signedHeaders(key: Uint8Array, id: string, text: string): Record<string, string>
export function mappingOf(
  platform: string,
): (child: { data: Record<string, unknown> }) => Record<string, unknown>
export function planOf(json: string): {
  receiver: string
  run(sender: {
    commit: (numbers: number[]) => unknown
    now_ms: () => number
    recorded: () => boolean | Promise<boolean>
  }): Promise<{ took_ms: number }>
}
