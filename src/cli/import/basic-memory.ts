// Projects of basic-memory (docs.basicmemory.com): Markdown whose front matter has title, type and
// permalink, with observations and relations in the text. Its database is an index of these files,
// and is left alone.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../errors.ts'
import { findTextFile } from '../../home/files.ts'
import { usageError } from '../command-error.ts'
import type { Input } from '../command.ts'
import type { Context } from '../context.ts'
import { isObject } from '../json.ts'
import { findMarkdownBelow } from './markdown.ts'
import type { Found } from './source.ts'

/** The source is a directory, the name of a project, or else the default project. */
export function findBasicMemory(context: Context, input: Input): Promise<Found> {
  const given = input.findArgument(0)
  const isDirectory = given !== undefined && existsSync(given)
  const root = isDirectory ? given : projectDirectory(context, given)
  return findMarkdownBelow(context, input, root, '/')
}

function projectDirectory({ environment }: Context, given: string | undefined): string {
  const { homeDirectory } = environment
  const file = join(homeDirectory, '.basic-memory/config.json')
  const text = findTextFile('the configuration of basic-memory', file, false)
  if (text === undefined) {
    throw given === undefined
      ? usageError(`There is no ${file}: name the directory of the project`, 'import')
      : new StoreError('invalid_input', `There is nothing at ${given}`)
  }
  const { projects, default_project: first } = parseConfiguration(text, file)
  const name = given ?? (typeof first === 'string' ? first : 'main')
  const entry = isObject(projects) && Object.hasOwn(projects, name) ? projects[name] : undefined
  // Newer versions have an object for each project.
  const path = isObject(entry) ? entry['path'] : entry
  if (typeof path === 'string') return path.replace(/^~(?=\/|$)/, () => homeDirectory)
  throw new StoreError('invalid_input', `There is no directory, and no project of ${file}: ${name}`)
}

function parseConfiguration(text: string, file: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Said below. The error would quote the file.
  }
  throw new StoreError('invalid_input', `${file} does not hold a JSON object`)
}
