// The setting `autoMemoryDirectory`, with which the agent of this importer keeps its notes
// elsewhere: of the user, of a project, and of the user in a project. Reads no other setting.

import { statSync } from 'node:fs'
import { isAbsolute, join, resolve, sep } from 'node:path'
import { findTextFile } from '../../home/files.ts'
import { CommandError } from '../command-error.ts'
import type { Context } from '../context.ts'
import { findObject } from '../json.ts'

const NAME = 'autoMemoryDirectory'

/**
 * The directory that the settings name for a project, in whose order of precedence; undefined if
 * none does. Throws `invalid_input` if the notes may not be where a setting says.
 */
export function findNamedMemory(context: Context, roots: readonly string[]): string | undefined {
  const { claudeDirectory, homeDirectory } = context.environment
  const files = [
    ...roots.map((root) => join(root, '.claude/settings.local.json')),
    ...roots.map((root) => join(root, '.claude/settings.json')),
    join(claudeDirectory, 'settings.json'),
  ]
  const shared = new Set(files.slice(roots.length, -1))
  // In the home directory the settings of the project are those of the user.
  shared.delete(files.at(-1) ?? '')
  for (const file of files) {
    const value = findSetting(context, file)
    if (value === undefined) continue
    const directory = value.replace(/^~(?=\/|$)/, () => homeDirectory)
    if (!isAbsolute(directory)) {
      context.notices.push(`${NAME} in ${file} is not absolute, so that Claude Code ignores it`)
      continue
    }
    checkIsDirectory(file, directory)
    if (shared.has(file) && !roots.some((root) => isWithin(root, directory))) {
      throw unclear(file, `names a place outside of the project: ${directory}`)
    }
    return directory
  }
  return undefined
}

function findSetting(context: Context, file: string): string | undefined {
  const text = findTextFile('the settings of Claude Code', file, false)
  if (text === undefined) return undefined
  const settings = findObject(text)
  if (settings === undefined) context.notices.push(`${file} holds no JSON object; it was ignored`)
  const value = settings?.[NAME]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function checkIsDirectory(file: string, directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return
  throw unclear(file, `names no directory: ${directory}`)
}

/** Who makes a repository must not choose what the user of a clone imports. */
function isWithin(root: string, directory: string): boolean {
  return `${resolve(directory)}${sep}`.startsWith(`${resolve(root)}${sep}`)
}

function unclear(file: string, problem: string): CommandError {
  return new CommandError(
    'invalid_input',
    `${NAME} in ${file} ${problem}`,
    'Name the directory with the notes: `gitlocket import --from claude-code <directory>`',
  )
}
