/** Whether this is an object of JSON, and no list: fields nobody has looked at yet. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
