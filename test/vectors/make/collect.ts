// The objects that a commit reaches, for the pool that all vectors of stores share.

import type { GitObject, Oid } from '../../../src/git/objects/object.ts'
import type { Forge } from '../../support/forge.ts'

/** What the head reaches, and no more. */
export function collect(forge: Forge, head: Oid, into: Map<Oid, GitObject>): void {
  const walk = (oid: Oid): void => {
    const object = forge.objects.get(oid)
    if (object === undefined || into.has(oid)) return
    into.set(oid, object)
    for (const next of referencesOf(object)) walk(next)
  }
  walk(head)
}

function referencesOf({ type, body }: GitObject): readonly Oid[] {
  if (type === 'blob') return []
  const text = Buffer.from(body).toString('latin1')
  if (type === 'commit')
    return [...text.matchAll(/^(?:tree|parent) (.{40})$/gm)].map((m) => m[1] ?? '')
  const found: Oid[] = []
  for (let at = body.indexOf(0); at !== -1; at = body.indexOf(0, at + 21)) {
    found.push(Buffer.from(body.subarray(at + 1, at + 21)).toString('hex'))
  }
  return found
}
