// Makes the frozen vectors of format 1, from fixed seeds. Every vector is judged by both decoders
// before it is written, and files that exist are never written again: `npm run vectors`. A group
// that is added later is written by `WRITE_VECTORS=1 npx vitest run test/vectors -t <group>`.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verdictOf } from '../support/verdict.ts'
import { judges } from './judges.ts'
import { baselines } from './make/baselines.ts'
import { certificates } from './make/certificates.ts'
import { grantForms } from './make/grants.ts'
import { keyrings } from './make/keyrings.ts'
import { plainForms } from './make/plain.ts'
import { rows } from './make/rows.ts'
import { sealedForms } from './make/sealed.ts'
import { stores, type StoreVectors } from './make/stores.ts'
import { textForms } from './make/text-forms.ts'
import { times } from './make/times.ts'
import { type Group, groups, type Vector, vectorDirectory } from './vector.ts'

/** Writes the groups without a file. Throws if each has one, or if a decoder disagrees. */
export async function writeVectors(): Promise<void> {
  const missing = groups.filter((group) => !existsSync(fileOf(group)))
  if (missing.length === 0) throw new Error('The vectors of format 1 are frozen')
  const made = await stores()
  const lists: Partial<Record<Group, readonly Vector[]>> = {
    ...(await textForms()),
    ...(await sealedForms()),
    ...(await plainForms()),
    ...grantForms(),
    ...(await rows()),
    baselines: baselines(),
    keyrings: await keyrings(),
    times: times(),
    certificates: await certificates(),
    stores: made.vectors,
  }
  const problems: string[] = []
  for (const group of missing) problems.push(...(await judge(group, lists[group] ?? [], made)))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  mkdirSync(vectorDirectory, { recursive: true })
  for (const group of missing) writeFileSync(fileOf(group), listText(lists[group] ?? []))
  if (missing.includes('stores')) writeFileSync(fileOf('objects'), objectsText(made))
}

function fileOf(group: Group | 'objects'): string {
  return join(vectorDirectory, `${group}.json`)
}

async function judge(
  group: Group,
  vectors: readonly Vector[],
  { objects }: StoreVectors,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const vector of vectors) {
    const { product, reference } = judges[group]
    const says = await verdictOf(() => product(vector, objects))
    const other = await verdictOf(() => reference(vector, objects))
    if (says === vector['expect'] && other === vector['expect']) continue
    problems.push(`${group}: ${vector['name']}: ${vector['expect']}, ${says}, ${other}`)
  }
  return problems
}

function listText(vectors: readonly Vector[]): string {
  return `${JSON.stringify(vectors, undefined, 2)}\n`
}

function objectsText({ objects }: StoreVectors): string {
  const lines = [...objects]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([oid, { type, body }]) => `  "${oid}": "${type} ${Buffer.from(body).toString('base64')}"`)
  return `{\n${lines.join(',\n')}\n}\n`
}
