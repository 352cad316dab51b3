// `join <url>`: this machine becomes another one of a store that a remote holds. The key is checked
// before anything is written; what goes wrong leaves nothing but the identity of this machine.

import type { Identity } from '../../keys/identity.ts'
import { hasCode } from '../../errors.ts'
import { joinStore } from '../../store/sync/join.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Answer, Input } from '../command.ts'
import { closing } from '../context.ts'
import type { Context } from '../context.ts'
import { withIdentityFile } from '../identity-file.ts'
import { authorOf } from '../options.ts'
import { withProgress } from '../progress.ts'
import { remoteAccess, transferProgress } from '../remote-access.ts'
import { getSecret } from '../secrets.ts'
import type { Secret } from '../secrets.ts'

export function join(context: Context, input: Input): Promise<Answer> {
  return withIdentityFile(context.environment, async (identity) => {
    const store = await joinAs(context, input, identity)
    return closing(store, (joined) => describe(context, input, joined))
  })
}

/** A device that an owner has added needs no secret. */
async function joinAs(context: Context, input: Input, identity: Identity): Promise<MemoryStore> {
  const { passphraseFile, recoveryKeyFile } = context.environment
  if (passphraseFile === undefined && recoveryKeyFile === undefined) {
    try {
      return await joinWith(context, input, identity, undefined)
    } catch (error) {
      if (!hasCode(error, 'wrong_key')) throw error
    }
  }
  return joinWith(context, input, identity, await getSecret(context))
}

function joinWith(
  context: Context,
  input: Input,
  identity: Identity,
  secret: Secret | undefined,
): Promise<MemoryStore> {
  const { storeDirectory: directory, stateDirectory } = context.environment
  const { signal } = context.interrupts
  const url = input.argument(0)
  return context.interrupts.patiently('Ended; nothing was joined', () =>
    withProgress(context, 'Joining', (progress) =>
      joinStore({
        url,
        directory,
        stateDirectory,
        identity,
        progress,
        signal,
        transfer: transferProgress(progress),
        access: remoteAccess(context),
        author: authorOf(context, input),
        ...secret,
      }),
    ),
  )
}

async function describe(context: Context, input: Input, store: MemoryStore): Promise<Answer> {
  const { storeId, deviceId, role, commits, memories, headWords } = await store.status()
  const { storeDirectory, identityFile } = context.environment
  const pinned = input.argument(0).includes('#memstore_')
  return {
    text: [
      `This machine is now a device of ${storeId}`,
      '',
      `  Store        ${storeDirectory}`,
      `  Identity     ${identityFile} (keep it secret)`,
      `  Fingerprint  ${deviceId} (${role ?? 'removed'})`,
      `  Memories     ${memories} in ${commits} commits`,
      `  Head         ${headWords.join(' ')}`,
      '',
      ...(pinned
        ? []
        : [
            'The remote was believed about which store this is and how new it is. Compare the id',
            'and the words of the head with `gitlocket status` on another machine.',
            '',
          ]),
      'Next: gitlocket ls',
      '',
    ].join('\n'),
    json: {
      memory_store_id: storeId,
      device_id: deviceId,
      role: role ?? null,
      store: storeDirectory,
      identity_file: identityFile,
      commits,
      memories,
      head_words: headWords,
    },
  }
}
