// The remotes of a repository, stored in its config as git stores them, so that `git remote` lists
// them too. Must change whole sections only, and refuse a config that it cannot parse.

import { StoreError } from '../../errors.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { Remote } from '../exchange.ts'
import { branchName } from './branch.ts'
import { parseGitConfig } from './git-config.ts'
import { editUnderLock, type GitFileLockContext, textOf } from './git-file-lock.ts'
import { checkRemoteName, trackingRefName } from './tracking-ref.ts'

type Repository = Pick<GitFileLockContext, 'disk' | 'directory'>

/** What fits on one quoted line of a config file. */
const URL_TEXT = /^\P{Cc}{1,2048}$/u

export function readRemotes({ disk, directory }: Repository): Remote[] {
  const remotes: Remote[] = []
  for (const [key, values] of parseGitConfig(textOf(disk, `${directory}/config`))) {
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
  await editUnderLock(context, 'config', (text) => {
    const gap = text === '' || text.endsWith('\n') ? '' : '\n'
    return `${text}${gap}[remote "${name}"]\n\turl = ${quote(url)}\n\tfetch = ${refspec}\n`
  })
}

export function getRemote(context: Repository, name: string): Remote {
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
  await editUnderLock(context, 'config', (text) => withoutSection(text, name))
}

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
  const bytes = Bytes.from(text, 'utf8').toString('latin1')
  return `"${bytes.replaceAll(/["\\]/g, '\\$&')}"`
}

function decode(value: string): string {
  return Bytes.from(value, 'latin1').toString('utf8')
}
