// What stock git needs to move the same commits between the same repositories. Each gives
// milliseconds.

import type { Host } from '../hosts.ts'
import { run } from '../machine.ts'
import { timed } from '../rounds.ts'

type GitAccess = Pick<Host, 'environment'>

export function gitPush(cwd: string, url: string, { environment }: GitAccess): Promise<number> {
  return timed(() => run('git', ['push', '--quiet', url, 'main'], { cwd, env: environment }))
}

/** Into the branch of a bare repository. */
export function gitFetch(cwd: string, url: string, { environment }: GitAccess): Promise<number> {
  const args = ['fetch', '--quiet', url, 'main:main']
  return timed(() => run('git', args, { cwd, env: environment }))
}

/** As over a network: from a path, git would link the files instead. */
export function gitClone(cwd: string, url: string, { environment }: GitAccess): Promise<number> {
  const args = ['clone', '--quiet', '--bare', '--no-local', url, 'clone.git']
  return timed(() => run('git', args, { cwd, env: environment }))
}
