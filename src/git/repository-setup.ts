// The two files without which no git takes a directory for a repository, HEAD and config, where
// they are damaged: what they must say is known, and what else the config says is kept section by
// section, as far as it can be read. Decides nothing about objects and refs.

import { asciiText, utf8 } from '../bytes.ts'
import { hasCode } from '../errors.ts'
import { atomicWrite, type Disk } from './disk.ts'
import { findSetting, type GitConfig, parseGitConfig } from './git-config.ts'
import { headText, newConfig } from './repository.ts'

export interface SetupFile {
  readonly name: 'HEAD' | 'config'
  readonly problem: string
}

/** Which of the two are damaged, of a directory that holds a store for certain. */
export function damagedSetup(disk: Disk, directory: string): readonly SetupFile[] {
  const damaged: SetupFile[] = []
  const head = disk.readFile(`${directory}/HEAD`)
  if (head === undefined || asciiText(head) !== headText) {
    damaged.push({ name: 'HEAD', problem: 'it does not name refs/heads/main' })
  }
  const text = configText(disk, directory)
  const config = text === undefined ? undefined : orUndefined(text)
  if (config === undefined || findSetting(config, 'core.bare') !== 'true') {
    damaged.push({ name: 'config', problem: 'it does not say that the repository is bare' })
  }
  return damaged
}

/** Durable when it resolves. What the files said before is the caller's to keep. */
export async function writeSetup(
  disk: Disk,
  directory: string,
  { name }: SetupFile,
): Promise<void> {
  if (name === 'HEAD') return atomicWrite(disk, `${directory}/HEAD`, utf8(headText))
  const text = configText(disk, directory) ?? ''
  const kept = sectionsOf(text).filter((section) => orUndefined(section) !== undefined)
  const others = kept.filter((section) => !/^\s*\[core\]/i.test(section)).join('')
  // Byte for byte: sections may hold UTF-8.
  const bytes = Buffer.from(`${newConfig}${others}`, 'latin1')
  await atomicWrite(disk, `${directory}/config`, bytes)
}

function configText(disk: Disk, directory: string): string | undefined {
  const bytes = disk.readFile(`${directory}/config`)
  return bytes && asciiText(bytes)
}

/** Each from its header to the next one. */
function sectionsOf(text: string): readonly string[] {
  return text.split(/^(?=[ \t]*\[)/m)
}

function orUndefined(text: string): GitConfig | undefined {
  try {
    return parseGitConfig(text)
  } catch (error) {
    if (hasCode(error, 'unsupported_repository')) return undefined
    throw error
  }
}
