// A test vector: some bytes, what opens them, and what a reader must say about them. All fields are
// text; bytes are hex, those of keyrings and git objects base64. Vectors of one kind share a file
// of v1/, which never changes: what it accepts is what every later release must read.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fromHex } from '../../src/bytes.ts'
import type { GitObject, Oid } from '../../src/git/objects/object.ts'

export const groups = [
  'ids',
  'addresses',
  'words',
  'paths',
  'identities',
  'recovery-keys',
  'operator-secrets',
  'device-cards',
  'grant-texts',
  'grant-secrets',
  'wraps',
  'baselines',
  'store-files',
  'envelopes',
  'records',
  'details',
  'memories',
  'settings',
  'directories',
  'keyrings',
  'commits',
  'times',
  'certificates',
  'log-rows',
  'log-entries',
  'log-bases',
  'host-rows',
  'list-heads',
  'stores',
] as const
export type Group = (typeof groups)[number]

/** `name`, `clause` of FORMAT, `expect` (`accepted` or a code), and what the group needs. */
export type Vector = Readonly<Record<string, string>>

export interface Judge {
  readonly product: (vector: Vector, objects: ReadonlyMap<Oid, GitObject>) => unknown
  readonly reference: (vector: Vector, objects: ReadonlyMap<Oid, GitObject>) => unknown
}

export const vectorDirectory: string = fileURLToPath(new URL('v1', import.meta.url))

export function readVectors(group: Group): readonly Vector[] {
  const list: unknown = JSON.parse(readFileSync(join(vectorDirectory, `${group}.json`), 'utf8'))
  if (!Array.isArray(list)) throw new Error(`${group}: not a list`)
  return list.map((item: unknown) => textFields(item, group))
}

/** The git objects of all stores, by oid. */
export function readObjects(): ReadonlyMap<Oid, GitObject> {
  const file: unknown = JSON.parse(readFileSync(join(vectorDirectory, 'objects.json'), 'utf8'))
  return new Map(
    Object.entries(textFields(file, 'objects')).map(([oid, text]) => {
      const [type, base64 = ''] = text.split(' ')
      if (type !== 'commit' && type !== 'tree' && type !== 'blob') throw new Error('No such type')
      return [oid, { type, body: new Uint8Array(Buffer.from(base64, 'base64')) }]
    }),
  )
}

/** A field that the group needs. */
export function field(vector: Vector, name: string): string {
  const value = vector[name]
  if (value === undefined) throw new Error(`${vector['name']}: ${name} is missing`)
  return value
}

export function bytesField(vector: Vector, name: string): Uint8Array {
  return fromHex(field(vector, name))
}

function textFields(value: unknown, where: string): Vector {
  if (typeof value !== 'object' || value === null) throw new Error(`${where}: not an object`)
  const entries = Object.entries(value).map(([name, text]: [string, unknown]) => {
    if (typeof text !== 'string') throw new Error(`${where}: ${name} is not a text`)
    return [name, text] as const
  })
  return Object.fromEntries(entries)
}
