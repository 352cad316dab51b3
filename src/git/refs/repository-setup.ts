// What git must find to take a directory for a repository, where it is damaged: HEAD, config,
// packed-refs and the directories. What HEAD and config must say is known; what else the config
// says, and packed-refs, is kept by sections and lines, as far as it can be read. Decides nothing
// about objects and where refs are.

import { asciiText, utf8 } from '../../bytes.ts'
import { atomicWrite, type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { findSetting, type GitConfig, parseGitConfig } from './git-config.ts'
import { headText, newConfig } from './repository.ts'

const directories = ['objects', 'refs'] as const

export interface SetupFile {
  readonly name: 'HEAD' | 'config' | 'packed-refs' | (typeof directories)[number]
  readonly problem: string
}

/** Which had nothing in it: it is damaged by not being there. */
export function isSetupDirectory({ name }: SetupFile): boolean {
  return directories.some((one) => one === name)
}

/** What of that is damaged, of a directory that holds a store for certain. */
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

/** Durable when it resolves. What the files said before is the caller's to keep. */
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
  // Byte for byte: sections may hold UTF-8.
  const bytes = Buffer.from(`${newConfig}${others}`, 'latin1')
  await atomicWrite(disk, `${directory}/config`, bytes)
}

function configText(disk: Disk, directory: string): string | undefined {
  const bytes = disk.readFile(`${directory}/config`)
  return bytes && asciiText(bytes)
}

function packedRefsText(disk: Disk, directory: string): string {
  return asciiText(disk.readFile(`${directory}/packed-refs`) ?? new Uint8Array(0))
}

/** As gitformat-packed-refs has them: a header, refs, and below a ref what its tag leads to. */
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
