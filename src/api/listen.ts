import type { AnyElysia } from 'elysia'

/**
 * Listens for the app. Once modules that come late are there, Elysia composes it and gives Bun its routes a second time,
 * and asks for a collection of garbage: part of every start, for the same routes, since ours are all there by then.
 */
export function listen(app: AnyElysia, at: { hostname: string; port: number }): void {
  // What it waits for. Should that have another name one day, it only does all of it twice again.
  Reflect.defineProperty(app, 'promisedModules', { value: new Promise(() => {}) })
  app.listen(at)
}
