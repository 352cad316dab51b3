// Everything that `npm run mutants` runs: the list, and each sync left out alone.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { areas } from './list.ts'
import { locate, type Source, syncsIn } from './locate.ts'
import type { Edit, Mutant } from './mutant.ts'
import type { Task } from './run.ts'

/** One of these notices each sync in disk/, git/ and store/, or that sync is superfluous. */
const syncTests = [
  'fault/syncs.test.ts',
  'fault/journal-syncs.test.ts',
  'fault/object-store-purge.test.ts',
  'attack/refused-packs.test.ts',
]

/** Throws an Error that names every entry of the list that does not fit the code. */
export function tasks(root: string): readonly Task[] {
  const sources = readSources(root)
  const textOf = new Map(sources.map(({ file, text }) => [file, text]))
  const replaced = ({ file, start, end }: Edit): string => {
    return textOf.get(file)?.slice(start, end) ?? ''
  }
  const problems: string[] = []
  const fit = (area: string, test: string, mutant: Mutant): readonly Task[] => {
    try {
      const edit = locate(sources, mutant)
      return [{ area, edit, replaced: replaced(edit), tests: [test], name: mutant.name }]
    } catch (error) {
      problems.push(`${area}: ${String(error)}`)
      return []
    }
  }
  const listed = Object.entries(areas).flatMap(([area, list]) =>
    Object.entries(list).flatMap(([test, mutants]) =>
      mutants.flatMap((mutant) => fit(area, test, mutant)),
    ),
  )
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const durable = sources.filter(({ file }) => /^src\/(?:disk|git|store)\//.test(file))
  const syncs = durable.flatMap(syncsIn).map((edit): Task => {
    return { area: 'syncs', edit, replaced: replaced(edit), tests: syncTests, name: undefined }
  })
  return [...listed, ...syncs]
}

function readSources(root: string): readonly Source[] {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => `src/${file.replaceAll('\\', '/')}`)
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))
}
