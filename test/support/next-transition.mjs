// The next commit of a store as processes of tests write it: one file of random bytes. Takes the
// compiled product, as those processes do.

import { randomBytes } from 'node:crypto'
import { encodeTree, newObject } from '../../dist/git/objects/object.js'

export function nextTransition(head) {
  const blob = newObject('blob', new Uint8Array(randomBytes(600)))
  const tree = newObject('tree', encodeTree([{ mode: '100644', name: 'file', oid: blob.oid }]))
  const parent = head === undefined ? '' : `parent ${head}\n`
  const who = 'a <a@localhost> 1000000000 +0000'
  const text = `tree ${tree.oid}\n${parent}author ${who}\ncommitter ${who}\n\nchange\n`
  const commit = newObject('commit', Buffer.from(text))
  return { objects: [blob, tree, commit], expected: head, next: commit.oid }
}
