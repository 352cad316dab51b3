// The setting `autoMemoryDirectory`, with which the agent of this importer keeps its notes
// elsewhere: of an organization, of the user, of a project, and of the user in a project. Reads no
// other setting.

import { existsSync, readdirSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve, sep } from 'node:path'
import { attempt, findTextFile } from '../../home/files.ts'
import { CommandError } from '../call/command-error.ts'
import type { Context } from '../call/context.ts'
import type { Environment } from '../call/environment.ts'
import { findObject } from '../machine/json.ts'

const NAME = 'autoMemoryDirectory'

interface Asked extends Pick<Context, 'notices'> {
  readonly environment: Pick<
    Environment,
    'claudeDirectory' | 'claudePolicyDirectory' | 'homeDirectory'
  >
}

/**
 * The directory that the settings name for a project, in whose order of precedence; undefined if
 * none does. Throws `invalid_input` if the notes may not be at a setting's place.
 */
export function findNamedMemory(context: Asked, roots: readonly string[]): string | undefined {
  const { claudeDirectory, claudePolicyDirectory, homeDirectory } = context.environment
  const local = roots.map((root) => join(root, '.claude/settings.local.json'))
  const shared = new Set(roots.map((root) => join(root, '.claude/settings.json')))
  const user = join(claudeDirectory, 'settings.json')
  const files = [...policiesIn(claudePolicyDirectory), ...local, ...shared, user]
  // In the home directory the settings of the project are those of the user.
  shared.delete(user)
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

/** The files of the organization, strongest first: of those in the directory, later names. */
function policiesIn(directory: string): readonly string[] {
  const drops = join(directory, 'managed-settings.d')
  const names = existsSync(drops)
    ? attempt('list a directory', drops, () => readdirSync(drops))
    : []
  const read = names.filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  const overlaid = read.toSorted().toReversed()
  return [...overlaid.map((name) => join(drops, name)), join(directory, 'managed-settings.json')]
}

function findSetting(context: Asked, file: string): string | undefined {
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

/** The author of a repository must not choose the imports of a clone's user. */
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
