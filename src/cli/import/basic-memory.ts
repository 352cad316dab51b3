// Projects of basic-memory (docs.basicmemory.com): Markdown with observations and relations in the
// text. Its database is an index of these files, and is left alone.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../errors.ts'
import { findTextFile } from '../../home/files.ts'
import { type Context, type Input, usageError } from '../call/command.ts'
import { findObject, isObject, type JsonObject } from '../machine/json.ts'
import { findMarkdownBelow } from './files.ts'
import type { FoundTexts } from './source.ts'

/** The source is a directory, the name of a project, or else the default project. */
export function findBasicMemory(context: Context, input: Input): Promise<FoundTexts> {
  const given = input.findArgument(0)
  const isDirectory = given !== undefined && existsSync(given)
  const root = isDirectory ? given : projectDirectory(context, given)
  return findMarkdownBelow(context, input, root, '/')
}

function projectDirectory({ environment }: Context, given: string | undefined): string {
  const files = environment.basicMemoryDirectories.map((place) => join(place, 'config.json'))
  const file = files.find((name) => existsSync(name))
  if (file === undefined) {
    throw given === undefined
      ? usageError(`There is no ${files.at(-1)}: name the directory of the project`, 'import')
      : new StoreError('invalid_input', `There is nothing at ${given}`)
  }
  const text = findTextFile('the configuration of basic-memory', file, false)
  const configuration = findObject(text ?? '')
  if (configuration === undefined) {
    throw new StoreError('invalid_input', `${file} does not hold a JSON object`)
  }
  const { projects, default_project: first } = configuration
  const name = given ?? (typeof first === 'string' ? first : 'main')
  const entry = isObject(projects) ? findProject(projects, name) : undefined
  // Newer versions have an object for each project.
  const path = isObject(entry) ? entry['path'] : entry
  if (typeof path === 'string') {
    return path.replace(/^~(?=\/|$)/, () => environment.homeDirectory)
  }
  throw new StoreError('invalid_input', `There is no directory, and no project of ${file}: ${name}`)
}

/** By its name, or as basic-memory itself finds it, by the only name with the same permalink. */
function findProject(projects: JsonObject, name: string): unknown {
  if (Object.hasOwn(projects, name)) return projects[name]
  const wanted = permalink(name)
  const alike = Object.entries(projects).filter(([other]) => permalink(other) === wanted)
  return alike.length === 1 ? alike[0]?.[1] : undefined
}

/** `work-notes` for `Work Notes`, `work_notes` and `WorkNotes`. */
function permalink(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-')
    .toLowerCase()
    .replaceAll(/['’]/g, '')
    .replaceAll(/[^\p{L}\p{N}/]+/gu, '-')
    .replaceAll(/^-|-$/g, '')
}
