// Who writes through a server of MCP, and in which order: what its calls need besides the stores.

import type { Mount } from '../memory-tool/mount.ts'
import { renderPrompt } from '../memory-tool/prompt.ts'
import { ToolSpace } from '../memory-tool/tool-space.ts'
import type { Author } from '../store/commits/commit-context.ts'
import type { Served } from './protocol.ts'

/** The author of what a client writes, from the name that it gives itself. */
export type AuthorOf = (name: unknown) => Author

/** Names the session in whose name the client writes now; undefined if it is not known. */
export type SessionNow = () => string | undefined

/**
 * Names the author: the session of now if there is one. Else he is named once, when the first call
 * needs him: the name that is heard first counts.
 */
export class Scribe {
  readonly #authorOf: AuthorOf
  readonly #sessionNow: SessionNow | undefined
  #name: unknown
  #author: Author | undefined

  constructor(authorOf: AuthorOf, name?: unknown, sessionNow?: SessionNow) {
    this.#authorOf = authorOf
    this.#name = name
    this.#sessionNow = sessionNow
  }

  readonly hear = (name: unknown): void => {
    this.#name ??= name
  }

  readonly author = (): Author => {
    const session = this.#sessionNow?.()
    if (session !== undefined) return { actor: { type: 'session', id: session } }
    this.#author ??= this.#authorOf(this.#name)
    return this.#author
  }
}

export type ServingOptions = Pick<Served, 'version' | 'inOrder' | 'tell'>

/** `isOne`: the store is `/memories` itself, and no directory of it. */
export function serving(
  mounts: readonly Mount[],
  isOne: boolean,
  scribe: Scribe,
  options: ServingOptions,
): Served {
  const authored = mounts.map((mount) => withAuthor(mount, scribe.author))
  const [only] = authored
  const space = isOne && only !== undefined ? ToolSpace.ofOne(only) : ToolSpace.ofSeveral(authored)
  return { space, instructions: instructionsFor(space), hear: scribe.hear, ...options }
}

function withAuthor(mount: Mount, author: () => Author): Mount {
  return {
    ...mount,
    use: (work) => mount.use((context) => work({ ...context, me: context.store.as(author()) })),
  }
}

const otherTools =
  'In addition to the tool `memory`, `memory_search` finds known facts, `memory_read` gives the ' +
  'exact text and its hash, and `memory_history` and `memory_restore` bring back old versions.'

/** What a client may put into the system prompt of its model. */
function instructionsFor(space: ToolSpace): string {
  return `${renderPrompt(space)}\n\n${otherTools}`
}
