// T12: an attacker who can write to the repository cannot show a tree that the records do not
// describe: files added or missing, another shape, another mode, other public files. FORMAT §2,
// §2.1, §6.4.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { utf8 } from '../../src/bytes.ts'
import { gitHash } from '../../src/crypto/sha1.ts'
import { readmeFile } from '../../src/format/public-files.ts'
import type { Oid } from '../../src/git/objects/object.ts'
import { plainSettings } from '../support/forge-fault.ts'
import { flipBit, inGitOrder, type RawEntry } from '../support/forge-seal.ts'
import { Forge } from '../support/forge.ts'
import {
  accepted,
  memory,
  nextRow,
  refused,
  standardHistory,
  verdicts,
} from '../support/standard-forge.ts'

let standard: Forge
beforeAll(async () => {
  const { forge } = await standardHistory()
  standard = forge
})

type Case = [
  code: string,
  name: string,
  spoil: (forge: Forge, entries: readonly RawEntry[]) => readonly RawEntry[],
  reference?: string,
]

function extra(name: string, mode = '100644'): Case[2] {
  return (forge, entries) =>
    inGitOrder([...entries, { mode, name, oid: forge.put('blob', utf8('x')) }])
}

describe('T12: a root tree with a fault is refused', () => {
  test.each<Case>([
    ['tree_mismatch', 'a file too many', extra('extra')],
    ['object_corrupt', 'a hidden file', extra('.gitattributes'), 'tree_mismatch'],
    ['object_corrupt', 'a submodule', extra('module', '160000'), 'tree_mismatch'],
    ['object_corrupt', 'an executable', extra('run', '100755'), 'tree_mismatch'],
    ['object_corrupt', 'a symbolic link', extra('link', '120000'), 'tree_mismatch'],
    [
      'object_corrupt',
      'the keyring as a symbolic link',
      (_, entries) => withEntry(entries, 'keyring', { mode: '120000' }),
      'tree_mismatch',
    ],
    ['object_corrupt', 'a mode with a leading zero', extra('zero', '0100644'), 'tree_mismatch'],
    [
      'object_corrupt',
      'entries in the wrong order',
      (_, entries) => entries.toReversed(),
      'tree_mismatch',
    ],
    [
      'object_corrupt',
      'one name twice',
      (_, entries) => inGitOrder([...entries, ...entries.slice(0, 1)]),
      'tree_mismatch',
    ],
    ['tree_mismatch', 'no keyring', (_, entries) => without(entries, 'keyring')],
    ['tree_mismatch', 'no settings', (_, entries) => without(entries, 'settings')],
    ['tree_mismatch', 'no memories', (_, entries) => without(entries, 'm')],
    [
      'tree_mismatch',
      'no README.md',
      (_, entries) => without(entries, 'README.md'),
      'public_file_mismatch',
    ],
    [
      'public_file_mismatch',
      'another README.md',
      (forge, entries) =>
        withEntry(entries, 'README.md', { oid: forge.put('blob', utf8('# run me\n')) }),
    ],
    [
      'public_file_mismatch',
      'another store.json',
      (forge, entries) =>
        withEntry(entries, 'store.json', { oid: forge.put('blob', utf8('{"format":1}\n')) }),
    ],
    [
      'tree_mismatch',
      'the settings in the place of the keyring',
      (_, entries) => withEntry(entries, 'keyring', { oid: oidOf(entries, 'settings') }),
    ],
    [
      'tree_mismatch',
      'another keyring without a record',
      (forge, entries) => withEntry(entries, 'keyring', { oid: forge.put('blob', utf8('GLKK')) }),
    ],
    [
      'tree_mismatch',
      'other settings without a record',
      (forge, entries) => withEntry(entries, 'settings', { oid: forge.put('blob', utf8('x')) }),
    ],
    [
      'object_missing',
      'a directory of memories that is not there',
      (_, entries) => withEntry(entries, 'm', { oid: 'ab'.repeat(20) }),
    ],
    [
      'tree_mismatch',
      'a file in the place of the memories',
      (_, entries) => withEntry(entries, 'm', { mode: '100644', oid: oidOf(entries, 'settings') }),
    ],
  ])('%s: %s', async (code, _, spoil, reference) => {
    const forge = standard.fork()
    forge.change([nextRow], { root: (entries) => spoil(forge, entries) })
    expect(await verdicts(forge)).toEqual(refused(code, reference))
  })

  test.each<[name: string, bytes: Uint8Array]>([
    ['another README.md', utf8('# run me\n')],
    ['a README.md of the same length', flipBit(7)(readmeFile)],
  ])('public_file_mismatch: %s from genesis on', async (_, bytes) => {
    const forge = await Forge.create('another readme')
    const oid = forge.put('blob', bytes)
    forge.genesis({ root: (entries) => withEntry(entries, 'README.md', { oid }) })
    expect(await verdicts(forge)).toEqual(refused('public_file_mismatch'))
  })

  test('object_missing: a README.md that is named and not stored', async () => {
    const forge = standard.fork()
    forge.objects.delete(gitHash('blob', readmeFile))
    // The reference decoder knows its bytes and does not read it.
    expect(await verdicts(forge)).toEqual(refused('object_missing', 'accepted'))
  })
})

describe('T12: a tree of memories with a fault is refused', () => {
  type Shown = ReadonlyMap<string, Oid>
  test.each<[code: string, name: string, spoil: (shown: Shown, a: string, b: string) => Shown]>([
    ['tree_mismatch', 'a memory is missing', (shown, _, b) => omit(shown, b)],
    ['tree_mismatch', 'the changed memory is missing', (shown, a) => omit(shown, a)],
    [
      'tree_mismatch',
      'a memory too many',
      (shown) => new Map([...shown, [memory.other, some(shown)]]),
    ],
    [
      'tree_mismatch',
      'an unchanged memory shows the blob of another',
      (shown, a, b) => new Map([...shown, [b, shown.get(a) ?? '']]),
    ],
    [
      'envelope_commitment',
      'the changed memory shows the blob of another',
      (shown, a, b) => new Map([...shown, [a, shown.get(b) ?? '']]),
    ],
    [
      'object_missing',
      'the changed memory shows an object that is not there',
      (shown, a) => new Map([...shown, [a, 'ab'.repeat(20)]]),
    ],
  ])('%s: %s', async (code, _, spoil) => {
    const forge = standard.fork()
    const [a, b] = [forge.idOf(memory.a), forge.idOf(memory.b)]
    forge.change([nextRow], { memories: (shown) => spoil(shown, a, b) })
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test.each<[name: string, memories: number, shape: (forge: Forge, shown: Shown) => Oid]>([
    ['17 memories in one flat directory', 17, flat],
    ['16 memories in directories', 16, split],
    ['one level too many', 3, (forge, shown) => nested(forge, shown)],
    ['upper-case names', 3, (forge, shown) => upper(forge, shown)],
    ['an empty directory', 0, (forge) => forge.tree([])],
  ])('tree_mismatch: %s', async (_, count, shape) => {
    const forge = await fillWith(count)
    expect(await verdicts(forge)).toEqual(accepted)
    let shown: Shown = new Map()
    forge.settings(
      { ...plainSettings, name: 'next' },
      {
        memories(blobs) {
          shown = blobs
          return blobs
        },
        root: (entries) =>
          inGitOrder([
            ...without(entries, 'm'),
            { mode: '40000', name: 'm', oid: shape(forge, shown) },
          ]),
      },
    )
    expect(await verdicts(forge)).toEqual(refused('tree_mismatch'))
  })
})

/** A history with `count` memories. */
async function fillWith(count: number): Promise<Forge> {
  const forge = await Forge.started(`filled ${count}`)
  const rows = Array.from({ length: count }, (_, index) => {
    const path = `/${index}`
    return { memoryId: path, operation: 'created', path, content: `${index}` } as const
  })
  if (count > 0) forge.change(rows)
  return forge
}

function flat(forge: Forge, shown: ReadonlyMap<string, Oid>): Oid {
  return forge.tree([...shown].map(([name, oid]) => ({ mode: '100644', name, oid })))
}

function split(forge: Forge, shown: ReadonlyMap<string, Oid>): Oid {
  const digits = new Set([...shown.keys()].map((id) => id.charAt(0)))
  const entries = [...digits].map((name) => {
    const below = [...shown].filter(([id]) => id.startsWith(name))
    const files = below.map(([id, oid]) => ({ mode: '100644', name: id.slice(1), oid }))
    return { mode: '40000', name, oid: forge.tree(files) }
  })
  return forge.tree(entries)
}

function nested(forge: Forge, shown: ReadonlyMap<string, Oid>): Oid {
  return forge.tree([{ mode: '40000', name: 'm', oid: flat(forge, shown) }])
}

function upper(forge: Forge, shown: ReadonlyMap<string, Oid>): Oid {
  return forge.tree(
    [...shown].map(([id, oid]) => ({ mode: '100644', name: id.toUpperCase(), oid })),
  )
}

function without(entries: readonly RawEntry[], name: string): readonly RawEntry[] {
  return entries.filter((entry) => entry.name !== name)
}

function withEntry(
  entries: readonly RawEntry[],
  name: string,
  change: Partial<RawEntry>,
): readonly RawEntry[] {
  return inGitOrder(entries.map((entry) => (entry.name === name ? { ...entry, ...change } : entry)))
}

function oidOf(entries: readonly RawEntry[], name: string): Oid {
  return entries.find((entry) => entry.name === name)?.oid ?? ''
}

function omit(shown: ReadonlyMap<string, Oid>, memoryId: string): ReadonlyMap<string, Oid> {
  return new Map([...shown].filter(([id]) => id !== memoryId))
}

function some(shown: ReadonlyMap<string, Oid>): Oid {
  const [first] = shown.values()
  expect(first).toBeDefined()
  return first ?? ''
}
