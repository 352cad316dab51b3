// `join <url>`: this machine becomes another one of a store that a remote holds. The key is checked
// before anything is written; what goes wrong leaves nothing but the identity of this machine.

import type { Identity } from '../../keys/identity.ts'
import { hasCode } from '../../errors.ts'
import { joinStore } from '../../store/sync/join.ts'
import type { JoinOptions } from '../../store/sync/join.ts'
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
import { countText } from '../sizes.ts'

export function join(context: Context, input: Input): Promise<Answer> {
  return withIdentityFile(context.environment, async (identity) => {
    try {
      const store = await joinAs(context, input, identity)
      return await closing(store, (joined) => describe(context, input, joined))
    } catch (error) {
      if (!hasCode(error, 'permission_denied')) throw error
      return joinAsAuditor(context, input, identity)
    }
  })
}

/** A clone of the trail alone can be made, since this identity has no keys of the contents. */
async function joinAsAuditor(context: Context, input: Input, identity: Identity): Promise<Answer> {
  // Few are auditors.
  const { joinTrail } = await import('../../store/sync/trail.ts')
  const audit = await joining(context, (how) => {
    return joinTrail({ ...how, identity, url: input.argument(0) })
  })
  const { storeId, deviceId, role, entries, head } = audit
  const { storeDirectory, identityFile } = context.environment
  return {
    text: [
      `This machine may verify the trail of ${storeId}, and reads no contents or paths`,
      '',
      `  Clone        ${storeDirectory}`,
      `  Identity     ${identityFile} (keep it secret)`,
      `  Fingerprint  ${deviceId} (${role ?? 'removed'})`,
      `  Verified     ${countText(entries.length, 'commit', 'commits')}, up to ${head}`,
      '',
      'Next: gitlocket audit, and gitlocket sync before the next one',
      '',
    ].join('\n'),
    json: {
      memory_store_id: storeId,
      device_id: deviceId,
      role: role ?? null,
      store: storeDirectory,
      identity_file: identityFile,
      commits: entries.length,
      head,
    },
  }
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
  const [url, author] = [input.argument(0), authorOf(context, input)]
  return joining(context, (how) => joinStore({ ...how, identity, url, author, ...secret }))
}

type Joining = Omit<JoinOptions, 'url' | 'author' | 'identity'>

function joining<T>(context: Context, work: (how: Joining) => Promise<T>): Promise<T> {
  const { storeDirectory: directory, stateDirectory } = context.environment
  const { signal } = context.interrupts
  return context.interrupts.patiently('Ended; nothing was joined', () =>
    withProgress(context, 'Joining', (progress) => {
      const transfer = transferProgress(progress)
      const access = remoteAccess(context)
      return work({ directory, stateDirectory, progress, signal, transfer, access })
    }),
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
