// Makes the frozen vectors of format 1, from fixed seeds. Every vector is judged by both decoders
// before it is written, and files that exist are never written again: `npm run vectors`.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verdictOf } from '../support/verdict.ts'
import { judges } from './judges.ts'
import { grantForms } from './make/grants.ts'
import { keyrings } from './make/keyrings.ts'
import { plainForms } from './make/plain.ts'
import { sealedForms } from './make/sealed.ts'
import { starts } from './make/starts.ts'
import { stores, type StoreVectors } from './make/stores.ts'
import { textForms } from './make/text-forms.ts'
import { times } from './make/times.ts'
import { type Group, groups, type Vector, vectorDirectory } from './vector.ts'

/** Throws if the vectors exist, or if a decoder disagrees with a vector. */
export async function writeVectors(): Promise<void> {
  if (existsSync(vectorDirectory)) throw new Error('The vectors of format 1 are frozen')
  const made = await stores()
  const lists: Partial<Record<Group, readonly Vector[]>> = {
    ...(await textForms()),
    ...(await sealedForms()),
    ...(await plainForms()),
    ...grantForms(),
    starts: starts(),
    keyrings: await keyrings(),
    times: times(),
    stores: made.vectors,
  }
  const problems: string[] = []
  for (const group of groups) problems.push(...(await judge(group, lists[group] ?? [], made)))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  mkdirSync(vectorDirectory)
  for (const group of groups) {
    writeFileSync(join(vectorDirectory, `${group}.json`), listText(lists[group] ?? []))
  }
  writeFileSync(join(vectorDirectory, 'objects.json'), objectsText(made))
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
