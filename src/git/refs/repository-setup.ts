// Repairs what git needs to recognise a repository: HEAD, config, packed-refs and the directories.
// HEAD and part of the config are known; the rest of the config and packed-refs are kept as far as
// they can be parsed. Must not decide about objects or the values of refs.

import { asciiText, utf8 } from '../../bytes.ts'
import { atomicWrite, type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { lineFileBytesMax } from '../../limits.ts'
import { findSetting, type GitConfig, parseGitConfig } from './git-config.ts'
import { headText, newConfig } from './repository.ts'

const directories = ['objects', 'refs'] as const

export interface SetupFile {
  readonly name: 'HEAD' | 'config' | 'packed-refs' | (typeof directories)[number]
  readonly problem: string
}

/** Whether a directory is missing; there is nothing to save from it. */
export function isSetupDirectory({ name }: SetupFile): boolean {
  return directories.some((one) => one === name)
}

/** Which of these files are damaged, in a directory that certainly holds a store. */
export function damagedSetup(disk: Disk, directory: string): readonly SetupFile[] {
  const damaged: SetupFile[] = []
  const head = disk.readFile(`${directory}/HEAD`, lineFileBytesMax)
  if (head === undefined || asciiText(head) !== headText) {
    damaged.push({ name: 'HEAD', problem: 'it does not name refs/heads/main' })
  }
  const text = configText(disk, directory)
  const config = text === undefined ? undefined : orUndefined(text)
  if (config === undefined || findSetting(config, 'core.bare') !== 'true') {
    damaged.push({ name: 'config', problem: 'it does not say that the repository is bare' })
  }
  const packed = packedRefsText(disk, directory)
  if (packed !== readableLines(packed)) {
    damaged.push({ name: 'packed-refs', problem: 'it has lines that name no commit' })
  }
  for (const name of directories) {
    if (disk.stat(`${directory}/${name}`) === undefined) {
      damaged.push({ name, problem: 'the directory is missing' })
    }
  }
  return damaged
}

/** Durable when it resolves. The caller keeps a copy of the old file. */
export async function writeSetup(disk: Disk, directory: string, file: SetupFile): Promise<void> {
  const { name } = file
  if (name === 'HEAD') return atomicWrite(disk, `${directory}/HEAD`, utf8(headText))
  if (isSetupDirectory(file)) return makeDurableDirectory(disk, `${directory}/${name}`)
  if (name === 'packed-refs') {
    const lines = readableLines(packedRefsText(disk, directory))
    return atomicWrite(disk, `${directory}/packed-refs`, Buffer.from(lines, 'latin1'))
  }
  const text = configText(disk, directory) ?? ''
  const kept = sectionsOf(text).filter((section) => orUndefined(section) !== undefined)
  const others = kept.filter((section) => !/^\s*\[core\]/i.test(section)).join('')
  // As Latin-1: sections may hold UTF-8.
  const bytes = Buffer.from(`${newConfig}${others}`, 'latin1')
  await atomicWrite(disk, `${directory}/config`, bytes)
}

function configText(disk: Disk, directory: string): string | undefined {
  const bytes = disk.readFile(`${directory}/config`, lineFileBytesMax)
  return bytes && asciiText(bytes)
}

function packedRefsText(disk: Disk, directory: string): string {
  return asciiText(disk.readFile(`${directory}/packed-refs`, lineFileBytesMax) ?? new Uint8Array(0))
}

/**
 * The lines that are valid by gitformat-packed-refs: a header, refs, and peeled tags below a ref.
 */
function readableLines(text: string): string {
  const kept: string[] = []
  let wasRef = false
  for (const [index, line] of text.split('\n').entries()) {
    const isRef = /^[0-9a-f]{40} refs\/\S+$/.test(line)
    const isPeeled = wasRef && /^\^[0-9a-f]{40}$/.test(line)
    if (isRef || isPeeled || (index === 0 && line.startsWith('# pack-refs '))) kept.push(line)
    wasRef = isRef
  }
  return kept.map((line) => `${line}\n`).join('')
}

/** Splits before each section header. */
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
