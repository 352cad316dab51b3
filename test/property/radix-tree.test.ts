// The radix tree that is changed step by step has at every moment the shape that FORMAT §2.1 gives to
// the set of its ids, as built from scratch by the reference decoder.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NewObject, Oid } from '../../src/git/object.ts'
import { findBlob, MemoryTree } from '../../src/store/memory-tree.ts'
import { idOf } from '../support/forge-seal.ts'
import { buildRadixTree } from '../support/reference/tree.ts'
import { full, seed } from '../support/seed.ts'
import { readOnlyObjects } from '../support/verdict.ts'

/** Ids that share prefixes of many lengths, so that directories split and flatten often. */
const memoryId = fc
  .tuple(fc.constantFrom('', '0', '00', '000f', '00000000', 'f'), fc.nat(39))
  .map(([prefix, number]) => prefix + idOf(`${prefix} ${number}`).slice(prefix.length))

const step = fc.record({
  memoryId,
  blob: fc.option(fc.nat(9), { nil: undefined, freq: 3 }),
})

test('the shape follows from the set of ids alone', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), fc.nat(7), (steps, pause) => {
      const tree = new MemoryTree()
      const objects = new Map<Oid, NewObject>()
      const shown = new Map<string, Oid>()
      steps.forEach((one, index) => {
        const blob = one.blob === undefined ? undefined : idOf(`blob ${one.blob}`).padEnd(40, '0')
        tree.set(one.memoryId, blob)
        if (blob === undefined) shown.delete(one.memoryId)
        else shown.set(one.memoryId, blob)
        if (index % (pause + 1) === 0) compare(tree, objects, shown)
      })
      compare(tree, objects, shown)
    }),
    { seed, numRuns: full ? 5000 : 150 },
  )
})

/** Roots are equal, every tree was handed over once, and each memory is found where it belongs. */
function compare(
  tree: MemoryTree,
  objects: Map<Oid, NewObject>,
  shown: ReadonlyMap<string, Oid>,
): void {
  const fresh: NewObject[] = []
  const root = tree.encode(fresh)
  for (const object of fresh) objects.set(object.oid, object)
  const expected = buildRadixTree(shown)
  expect(root).toBe(expected?.root)
  expect(tree.count).toBe(shown.size)
  if (root === undefined || expected === undefined) return
  for (const [oid, body] of expected.trees) {
    expect(Buffer.compare(objects.get(oid)?.body ?? new Uint8Array(), body)).toBe(0)
  }
  const source = readOnlyObjects(objects, root)
  for (const [id, blob] of shown) {
    expect(tree.find(id)).toBe(blob)
    expect(findBlob(source, root, id)).toBe(blob)
  }
}
