// The history that most attacks start from, and the verdict of both decoders on what an attack made
// of it.

import type { Identity } from '../../src/keys/identity.ts'
import { idOf } from './forge-seal.ts'
import { Forge } from './forge.ts'
import { productVerdict, referenceVerdict, type Verdict } from './verdict.ts'

/** Ids of the memories and versions of the standard history. */
export const memory: { readonly a: string; readonly b: string; readonly other: string } = {
  a: idOf('memory a'),
  b: idOf('memory b'),
  other: idOf('memory other'),
}
export const version: Readonly<Record<'a1' | 'a2' | 'b1' | 'b2' | 'next', string>> = {
  a1: idOf('version a1'),
  a2: idOf('version a2'),
  b1: idOf('version b1'),
  b2: idOf('version b2'),
  next: idOf('version next'),
}

export interface Standard {
  readonly forge: Forge
  readonly writer: Identity
  readonly reader: Identity
}

/** /a.md in two versions, /dir/b.md in one; a founder, a writer and a reader. */
export async function standardHistory(name = 'standard'): Promise<Standard> {
  const forge = await Forge.started(name)
  const writer = await forge.join('writer')
  const reader = await forge.join('reader')
  forge.change([
    created('a', '/a.md', 'alpha\n', version.a1),
    created('b', '/dir/b.md', 'beta\n', version.b1),
  ])
  forge.change([
    {
      memoryId: memory.a,
      operation: 'modified',
      path: '/a.md',
      content: 'alpha, again\n',
      versionId: version.a2,
    },
  ])
  return { forge, writer, reader }
}

/** A row that is right at the end of the standard history. */
export const nextRow = {
  memoryId: memory.a,
  operation: 'modified',
  path: '/a.md',
  content: 'gamma\n',
  versionId: version.next,
} as const

function created(name: 'a' | 'b', path: string, content: string, versionId: string) {
  return { memoryId: memory[name], operation: 'created', path, content, versionId } as const
}

/** What both decoders say about a history. */
export interface Verdicts {
  readonly product: Verdict
  readonly reference: Verdict
}

export async function verdicts({ evidence }: Pick<Forge, 'evidence'>): Promise<Verdicts> {
  return {
    product: await productVerdict(evidence),
    reference: await referenceVerdict(evidence),
  }
}

export const accepted: Verdicts = { product: 'accepted', reference: 'accepted' }

/**
 * Both refuse. The reference may have another word for it where two checks apply, because their
 * order is not part of the format.
 */
export function refused(code: Verdict, reference: Verdict = code): Verdicts {
  return { product: code, reference }
}
