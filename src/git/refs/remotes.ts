// The remotes of a repository, stored in its config as git stores them, so that `git remote` lists
// them too. Must change whole sections only, and refuse a config that it cannot parse.

import { asciiText, utf8 } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { lineFileBytesMax } from '../../limits.ts'
import type { Remote } from '../exchange.ts'
import { branchName } from './branch.ts'
import { type GitConfig, parseGitConfig } from './git-config.ts'
import { type GitFileLockContext, replaceUnderLock } from './git-file-lock.ts'
import { checkRemoteName, trackingRefName } from './tracking-ref.ts'

/** What fits on one quoted line of a config file. */
const URL_TEXT = /^\P{Cc}{1,2048}$/u

/** In the order of the config. */
export function readRemotes(context: Pick<GitFileLockContext, 'disk' | 'directory'>): Remote[] {
  const remotes: Remote[] = []
  for (const [key, values] of parseConfig(readConfig(context))) {
    const name = /^remote\.(.*)\.url$/s.exec(key)?.[1]
    const url = values[0]
    if (name !== undefined && url !== undefined) remotes.push({ name, url: decode(url) })
  }
  return remotes
}

/** Throws `invalid_input` for a name that is taken, or a name or URL that is not allowed. */
export async function addRemote(context: GitFileLockContext, remote: Remote): Promise<void> {
  const { name, url } = remote
  checkRemoteName(name)
  if (!URL_TEXT.test(url)) {
    throw new StoreError('invalid_input', 'The address of a remote holds control characters')
  }
  if (readRemotes(context).some((existing) => existing.name === name)) {
    throw new StoreError('invalid_input', `There is a remote named ${name} already`)
  }
  const refspec = `+${branchName}:${trackingRefName(name)}`
  await editConfig(context, (text) => {
    const gap = text === '' || text.endsWith('\n') ? '' : '\n'
    return `${text}${gap}[remote "${name}"]\n\turl = ${quote(url)}\n\tfetch = ${refspec}\n`
  })
}

/** Throws `not_found`. */
export function getRemote(
  context: Pick<GitFileLockContext, 'disk' | 'directory'>,
  name: string,
): Remote {
  const found = readRemotes(context).find((remote) => remote.name === name)
  if (found !== undefined) return found
  throw unknownRemoteError(name)
}

export function unknownRemoteError(name: string): StoreError {
  return new StoreError('not_found', `There is no remote named ${name}`)
}

/** Throws `not_found`. The caller removes the tracking ref. */
export async function removeRemote(context: GitFileLockContext, name: string): Promise<void> {
  getRemote(context, name)
  await editConfig(context, (text) => withoutSection(text, name))
}

/** Removes every section of the remote. */
function withoutSection(text: string, name: string): string {
  let inside = false
  const kept = text.split('\n').filter((line) => {
    const header = /^\s*\[([A-Za-z0-9.-]+)(?:[ \t]+"([^"]*)")?\]/.exec(line)
    if (header !== null) inside = header[1]?.toLowerCase() === 'remote' && header[2] === name
    return !inside
  })
  return kept.join('\n')
}

/** The file is read and written as Latin-1, to preserve its bytes; git stores UTF-8. */
function quote(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  return `"${bytes.replaceAll(/["\\]/g, '\\$&')}"`
}

function decode(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8')
}

async function editConfig(
  context: GitFileLockContext,
  edit: (text: string) => string,
): Promise<void> {
  // As Latin-1: other sections may hold UTF-8.
  const before = asciiText(readConfig(context))
  await replaceUnderLock(context, 'config', Buffer.from(edit(before), 'latin1'), () => {
    if (asciiText(readConfig(context)) === before) return
    throw new StoreError(
      'ref_conflict',
      "The repository's config changed in the meantime: try again",
    )
  })
}

function readConfig({
  disk,
  directory,
}: Pick<GitFileLockContext, 'disk' | 'directory'>): Uint8Array {
  return disk.readFile(`${directory}/config`, lineFileBytesMax) ?? utf8('')
}

function parseConfig(bytes: Uint8Array): GitConfig {
  return parseGitConfig(asciiText(bytes))
}
