import { describe, expect, test } from 'bun:test'

import { fail, ok } from '../../../src/core/base/result.ts'
import type { Node } from '../../../src/core/forum/items.ts'
import { countMore, everyNode, repliesOf } from '../../../src/gateway/comments.ts'
import type { SourceReads } from '../../../src/platforms/port.ts'
import { fakeClock } from '../../support/clock.ts'
import { aNode, aPost, more, readsOver, tree } from '../../support/reads.ts'

const clock = () => fakeClock(() => Promise.resolve())
const FULL = {
  post_id: 'p',
  comment_id: null,
  sort: 'confidence',
  depth: null,
  limit: null,
  full: true,
}

async function readTree(platform: Partial<SourceReads>, query = FULL, tree_fetches = 8) {
  const outcome = await readsOver(platform, clock(), { tree_fetches }).tree(query, null)
  if (!outcome.ok) throw new Error(`a fault: ${outcome.fault.kind}`)
  return outcome.value.body
}

/** A tree as nested ids, with `…` for a `more` node. */
const sketch = (nodes: readonly Node[]): unknown[] =>
  nodes.map((node) => {
    if (node.kind === 'more') return `…${JSON.stringify(node.data['children'])}`
    const below = sketch(repliesOf(node))
    return below.length === 0 ? node.data['id'] : [node.data['id'], ...below]
  })

describe('a full tree', () => {
  test('without `more` nodes is returned unmodified', async () => {
    const nodes = [aNode('a', 't3_p', [aNode('b', 't1_a')]), aNode('c', 't3_p')]

    const body = await readTree({ tree: async () => tree(nodes) })

    expect(body).toEqual({
      post: aPost('p'),
      comments: nodes,
      after: null,
      meta: { truncated: false, more_count: 0 },
    })
    expect(body.comments[0]).toBe(nodes[0] as Node)
  })

  test('includes the nodes behind `more` nodes, each under its parent', async () => {
    const requested_ids: string[][] = []
    const body = await readTree({
      tree: async () =>
        tree([
          aNode('a', 't3_p', [aNode('b', 't1_a'), more('t1_a', ['c'], 3)]),
          more('t3_p', ['f']),
        ]),
      more: async ({ ids }) => {
        requested_ids.push(ids)
        return ok([aNode('c', 't1_a'), aNode('d', 't1_c'), aNode('e', 't1_d'), aNode('f', 't3_p')])
      },
    })

    expect(requested_ids).toEqual([['c', 'f']])
    expect(sketch(body.comments)).toEqual([['a', 'b', ['c', ['d', 'e']]], 'f'])
    expect(body.meta).toEqual({ truncated: false, more_count: 0 })
  })

  test('keeps every field of nodes that get replies', async () => {
    const body = await readTree({
      tree: async () => tree([aNode('a', 't3_p', [more('t1_a', ['b'])]), more('t3_p', [])]),
      more: async () => ok([aNode('b', 't1_a')]),
    })

    const { replies, ...rest } = body.comments[0]?.data ?? {}
    const { replies: _, ...as_given } = aNode('a', 't3_p').data
    expect(rest).toEqual(as_given)
    expect(replies).toEqual({
      kind: 'Listing',
      data: { after: null, children: [aNode('b', 't1_a')], before: null },
    })
  })

  test('follows `more` nodes inside the answers to `more` nodes', async () => {
    const answers: Record<string, Node[]> = {
      b: [aNode('b', 't3_p'), more('t1_b', ['c'])],
      c: [aNode('c', 't1_b'), more('t1_c', ['d'])],
      d: [aNode('d', 't1_c')],
    }
    const body = await readTree({
      tree: async () => tree([aNode('a', 't3_p'), more('t3_p', ['b'])]),
      more: async ({ ids }) => ok(ids.flatMap((id) => answers[id] ?? [])),
    })

    expect(sketch(body.comments)).toEqual(['a', ['b', ['c', 'd']]])
  })

  test('continues a thread under the comment where it ends', async () => {
    const threads: (string | undefined)[] = []
    const body = await readTree({
      tree: async ({ comment_id }) => {
        threads.push(comment_id)
        return comment_id === undefined
          ? tree([aNode('a', 't3_p', [more('t1_a', [], 0)])])
          : tree([aNode('a', 't3_p', [aNode('b', 't1_a', [aNode('c', 't1_b')])])])
      },
    })

    expect(threads).toEqual([undefined, 'a'])
    expect(sketch(body.comments)).toEqual([['a', ['b', 'c']]])
    expect(body.meta.truncated).toBe(false)
  })

  test('requests a hundred ids at a time, and reports what is left beyond tree_fetches', async () => {
    const hidden = Array.from({ length: 250 }, (_, index) => `x${index}`)
    const sizes: number[] = []
    const body = await readTree(
      {
        tree: async () => tree([aNode('a', 't3_p'), more('t3_p', hidden, 400)]),
        more: async ({ ids }) => {
          sizes.push(ids.length)
          return ok(ids.map((id) => aNode(id, 't3_p')))
        },
      },
      FULL,
      2,
    )

    expect(sizes).toEqual([100, 100])
    expect(body.comments).toHaveLength(202)
    expect(body.comments.at(-1)).toEqual({
      kind: 'more',
      data: {
        count: 200,
        id: 'x200',
        name: 't1_x200',
        parent_id: 't3_p',
        children: hidden.slice(200),
      },
    })
    expect(body.meta).toEqual({ truncated: true, more_count: 200 })
  })

  test('requests ids again that an answer had no room for', async () => {
    const requested_ids: string[][] = []
    const body = await readTree({
      tree: async () => tree([more('t3_p', ['a', 'b', 'c'], 9)]),
      more: async ({ ids }) => {
        requested_ids.push(ids)
        const [first = '', ...rest] = ids
        const placeholders = rest.length === 0 ? [] : [more('t3_p', rest)]
        return ok([aNode(first, 't3_p'), aNode(`${first}1`, `t1_${first}`), ...placeholders])
      },
    })

    expect(requested_ids).toEqual([['a', 'b', 'c'], ['b', 'c'], ['c']])
    expect(sketch(body.comments)).toEqual([
      ['a', 'a1'],
      ['b', 'b1'],
      ['c', 'c1'],
    ])
    expect(body.meta).toEqual({ truncated: false, more_count: 0 })
  })

  test('is truncated if the platform returns nothing for requested ids', async () => {
    const requested_ids: string[][] = []
    const body = await readTree({
      tree: async () => tree([aNode('a', 't3_p'), more('t3_p', ['b'])]),
      more: async ({ ids }) => {
        requested_ids.push(ids)
        return ok([more('t3_p', ids)])
      },
    })

    expect(requested_ids).toEqual([['b']])
    expect(sketch(body.comments)).toEqual(['a', '…["b"]'])
    expect(body.meta).toEqual({ truncated: true, more_count: 1 })
  })

  test('never requests an id twice that the platform does not return', async () => {
    const requested_ids: string[][] = []
    const body = await readTree({
      tree: async () => tree([aNode('a', 't3_p'), more('t3_p', ['gone']), more('t3_p', ['gone'])]),
      more: async ({ ids }) => {
        requested_ids.push(ids)
        return ok([])
      },
    })

    expect(requested_ids).toEqual([['gone']])
    expect(sketch(body.comments)).toEqual(['a'])
  })

  test('keeps a reply with a missing parent at the place of its `more` node', async () => {
    const body = await readTree({
      tree: async () => tree([aNode('a', 't3_p', [more('t1_a', ['b'])])]),
      more: async () => ok([aNode('b', 't1_vanished')]),
    })

    expect(sketch(body.comments)).toEqual([['a', 'b']])
  })

  test('contains no comment twice', async () => {
    const body = await readTree({
      tree: async () => tree([aNode('a', 't3_p'), more('t3_p', ['b'])]),
      more: async () => ok([aNode('a', 't3_p'), aNode('b', 't3_p'), aNode('b', 't3_p')]),
    })

    expect([...everyNode(body.comments)].map(({ data }) => data['id'])).toEqual(['a', 'b'])
  })

  test('is returned as truncated if a later request fails', async () => {
    const body = await readTree({
      tree: async () => tree([aNode('a', 't3_p'), more('t3_p', ['b'])]),
      more: async () => fail({ kind: 'throttled', retry_after_s: 60 }),
    })

    expect(sketch(body.comments)).toEqual(['a', '…["b"]'])
    expect(body.meta).toEqual({ truncated: true, more_count: 1 })
  })

  test('with ten thousand levels does not overflow the stack', async () => {
    let deep = aNode('x0', 't1_x1')
    for (let level = 1; level < 10_000; level++)
      deep = aNode(`x${level}`, `t1_x${level + 1}`, [deep])

    const body = await readTree({ tree: async () => tree([deep]) })

    expect([...everyNode(body.comments)]).toHaveLength(10_000)
  })
})

test('a tree with a depth limit is requested with it, and marked as truncated', async () => {
  const nodes = [aNode('a', 't3_p', [more('t1_a', ['b'])]), more('t3_p', ['c', 'd'])]
  const body = await readTree(
    {
      tree: async (query) => {
        expect(query).toEqual({ post_id: 'p', sort: 'top', depth: 2, limit: 10 })
        return tree(nodes)
      },
    },
    { ...FULL, sort: 'top', depth: 2 as never, limit: 10 as never, full: false },
  )

  expect(body.comments).toEqual(nodes)
  expect(body.meta).toEqual({ truncated: true, more_count: 3 })
})

test('a malformed reply of a node is not counted and ends nothing', () => {
  const children = [null, 5, 'more', { kind: 'more' }, { kind: 'more', data: {} }]
  const node = { kind: 't1', data: { replies: { kind: 'Listing', data: { children } } } }

  expect(countMore([node, { kind: 't1', data: { replies: '' } }])).toBe(1)
})
