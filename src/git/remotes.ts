// The remotes of a repository, in its config as git itself keeps them, so that `git remote` shows
// them too. Edits only whole sections of the file, and only what it can read.

import { asciiText, utf8 } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { branchName } from './branch.ts'
import { type GitConfig, parseGitConfig } from './git-config.ts'
import { type GitFileLockContext, replaceUnderLock } from './git-file-lock.ts'

export interface Remote {
  readonly name: string
  readonly url: string
}

/** A part of a ref name that needs no quoting anywhere. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|$)){0,62}$/
/** Printable ASCII without what git's config would need quotes or escapes for. */
const URL_TEXT = /^[!$-:<-[\]-~]{1,2048}$/

/** The ref at which the head of a remote was last seen. */
export function trackingRef(name: string): string {
  return `refs/remotes/${name}/main`
}

/** In the order of the file. */
export function readRemotes(context: Pick<GitFileLockContext, 'disk' | 'directory'>): Remote[] {
  const remotes: Remote[] = []
  for (const [key, values] of parseConfig(readConfig(context))) {
    const name = /^remote\.(.*)\.url$/s.exec(key)?.[1]
    const url = values[0]
    if (name !== undefined && url !== undefined) remotes.push({ name, url })
  }
  return remotes
}

/** Throws `invalid_input` for a name that is taken, or a name or URL that is not allowed. */
export async function addRemote(context: GitFileLockContext, remote: Remote): Promise<void> {
  const { name, url } = remote
  if (!NAME.test(name) || name.endsWith('.lock')) {
    throw new StoreError(
      'invalid_input',
      'A remote is named by letters, digits, points, hyphens and underscores',
    )
  }
  if (!URL_TEXT.test(url)) {
    throw new StoreError(
      'invalid_input',
      'The URL of a remote holds characters that must be written as %XX',
    )
  }
  if (readRemotes(context).some((one) => one.name === name)) {
    throw new StoreError('invalid_input', `There is a remote named ${name} already`)
  }
  const refspec = `+${branchName}:${trackingRef(name)}`
  await editConfig(context, (text) => {
    const gap = text === '' || text.endsWith('\n') ? '' : '\n'
    return `${text}${gap}[remote "${name}"]\n\turl = ${url}\n\tfetch = ${refspec}\n`
  })
}

/** Throws `not_found`. The tracking ref is the caller's. */
export async function removeRemote(context: GitFileLockContext, name: string): Promise<void> {
  if (!readRemotes(context).some((one) => one.name === name)) {
    throw new StoreError('not_found', `There is no remote named ${name}`)
  }
  await editConfig(context, (text) => withoutSection(text, name))
}

/** Drops the sections of a remote wherever the file has them. */
function withoutSection(text: string, name: string): string {
  let inside = false
  const kept = text.split('\n').filter((line) => {
    const header = /^\s*\[([A-Za-z0-9.-]+)(?:[ \t]+"([^"]*)")?\]/.exec(line)
    if (header !== null) inside = header[1]?.toLowerCase() === 'remote' && header[2] === name
    return !inside
  })
  return kept.join('\n')
}

async function editConfig(
  context: GitFileLockContext,
  edit: (text: string) => string,
): Promise<void> {
  // Byte for byte: other sections may hold UTF-8.
  const before = asciiText(readConfig(context))
  await replaceUnderLock(context, 'config', Buffer.from(edit(before), 'latin1'), () => {
    if (asciiText(readConfig(context)) === before) return
    throw new StoreError('ref_conflict', "The repository's config changed meanwhile: try again")
  })
}

function readConfig({
  disk,
  directory,
}: Pick<GitFileLockContext, 'disk' | 'directory'>): Uint8Array {
  return disk.readFile(`${directory}/config`) ?? utf8('')
}

function parseConfig(bytes: Uint8Array): GitConfig {
  return parseGitConfig(asciiText(bytes))
}
