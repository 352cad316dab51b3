// Two machines, one of which reaches the remote over a server that a test can make lie.

import { environment } from './faulty-remotes.ts'
import { type GitServer, startGitServer } from './git-server.ts'
import type { Pair } from './hostile-remotes.ts'
import { author } from './stores.ts'

export interface ServedPair extends Pair {
  /** What `b` talks to; `a` has a path. */
  readonly server: GitServer
}

/** `b` has synced with the server once; with credentials if there are any. */
export async function serve(
  pair: Pair,
  user?: { readonly username: string; readonly password: string },
): Promise<ServedPair> {
  const server = await startGitServer({ repository: pair.remote, ...(user && { user }) })
  const { store } = pair.b
  await store.remotes.remove('origin')
  await store.remotes.add('origin', server.url)
  const access = { environment, ...(user && { credentials: async () => user }) }
  await store.as(author).sync({ access })
  return { ...pair, server }
}
