// Merges of two forged clones that are both attacks and vectors: the tables give the verdict on
// each. FORMAT §6.4.

import { idOf } from './forge-seal.ts'
import {
  endOfA,
  endOfB,
  type Forging,
  fresh,
  inLeft,
  inRight,
  named,
  ofB,
  united,
} from './forged-clones.ts'
import { memory, version } from './standard-forge.ts'

const modified = { operation: 'modified' } as const

export const endUnderOnePath: Forging = ({ left, right, asWriter }) => {
  left.change([{ ...inLeft, path: '/left.md' }])
  right.change([{ ...inRight, path: '/right.md' }], asWriter)
  left.merge(right, [{ ...endOfA, path: '/right.md' }])
  return left
}

/** The path is that of a version which a later redaction erases. */
export const endUnderErasedPath: Forging = ({ left, right, asWriter }) => {
  const versionId = idOf('erased')
  left.change([{ ...inLeft, path: '/left.md', versionId }])
  right.change([{ ...inRight, path: '/right.md' }], asWriter)
  left.rewrite(new Set([versionId]))
  left.merge(right, [{ ...endOfA, path: '/left.md' }])
  left.redact([[memory.a, versionId]])
  return left
}

export const backFromDeletion: Forging = ({ left, right, asWriter }) => {
  left.change([endOfA])
  right.change([inRight], asWriter)
  left.merge(right, [united])
  return left
}

export const endOfTwoEnds: Forging = ({ left, right, asWriter }) => {
  left.change([endOfA])
  right.change([endOfA], asWriter)
  left.merge(right, [{ ...endOfA, path: '/anything.md' }])
  return left
}

export const moveOfTheirs: Forging = ({ left, right, asWriter }) => {
  left.change([inLeft])
  right.change([fresh], asWriter)
  left.merge(right, [{ ...fresh, ...modified, versionId: idOf('moved') }])
  return left
}

export const mergeOfMerges: Forging = ({ left, right, asWriter }) => {
  left.change([inLeft])
  right.change([inRight], asWriter)
  const before = left.fork()
  left.merge(right, [united])
  right.merge(before, [{ ...united, content: 'the other way\n' }], asWriter)
  left.merge(right, [{ ...united, content: 'once more\n' }])
  return left
}

export const settingsByHeight: Forging = ({ left, right, second }) => {
  left.settings(named('left'))
  left.settings(named('left again'))
  right.settings(named('right'), { author: second })
  right.merge(left, [], { author: second })
  return right
}

export const afterRedaction: Forging = ({ left, right, asWriter }) => {
  left.redact([[memory.a, version.a1]])
  const redacted = new Set([version.a1])
  left.rewrite(redacted)
  right.rewrite(redacted)
  right.change([ofB], asWriter)
  left.merge(right)
  return left
}

export const rowOfDeleted: Forging = ({ left, right, asWriter }) => {
  left.change([inLeft])
  right.change([endOfB], asWriter)
  left.merge(right, [ofB])
  return left
}

export const treeOfOneSide: Forging = ({ left, right, asWriter }) => {
  left.change([inLeft])
  right.change([ofB], asWriter)
  const before = [...left.memories].flatMap(([id, { blob }]) => {
    return blob === undefined ? [] : [[id, blob] as const]
  })
  left.merge(right, [], { memories: () => new Map(before) })
  return left
}

export const withAncestor: Forging = ({ left }) => {
  const before = left.fork()
  left.change([inLeft])
  left.merge(before)
  return left
}
