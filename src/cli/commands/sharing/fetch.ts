// `fetch --all`: gives the clone of a grant's holder the history from before its beginning.

import {
  type Answer,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../../call/command.ts'
import { actorOptions, authorOf } from '../../call/options.ts'
import { remoteAccess } from '../../machine/remote-access.ts'
import { withStore } from '../../store/open-store.ts'
import { withProgress } from '../../terminal/progress.ts'
import { countText } from '../../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'fetch',
    summary: 'Fetch and verify the whole history, where a grant began without it',
    options: { '--all': 'From the beginning of the store on', ...actorOptions },
    notes: [
      'A clone that was opened with GITLOCKET_GRANT begins with a state that the device vouches ' +
        'for which gave the grant. This fetches everything before it, verifies it from the ' +
        'first commit on, and tells if that device has lied. Syncs first. It takes as long as ' +
        '`join`.',
    ],
    run: fetchAll,
  },
]

function fetchAll(context: Context, input: Input): Promise<Answer> {
  if (!input.flag('all')) throw usageError('fetch takes --all; `sync` fetches new changes', 'fetch')
  return withStore(context, async (store) => {
    const access = remoteAccess(context)
    const isWhole = store.history.beginning === undefined
    if (!isWhole) await store.as(authorOf(context, input)).sync({ access })
    const commits = await withProgress(context, 'Verifying the history', (options) =>
      store.history.fetchAll({ access, ...options }),
    )
    const verified = `${countText(commits, 'commit', 'commits')}, verified from the first one`
    const text = isWhole ? `The whole history is here: ${verified}\n` : `Fetched ${verified}\n`
    return { text, json: { commits, fetched: !isWhole } }
  })
}
