// `serve backup|restore|rotate-operator`: what is done for all stores of a server at once, for the
// day on which its machine or its operator secret is lost.

import { resolve } from 'node:path'
import { ensureOperatorSecret } from '../../../home/identity-file.ts'
import { rotateOperator } from '../../../hosting/administration.ts'
import {
  backupHost,
  backupHostOf,
  type BackupReport,
  restoreHost,
  restoreHostTo,
} from '../../../hosting/backup.ts'
import type { HostNotice } from '../../../hosting/host-backend.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { actorOptions, authorOf } from '../../call/options.ts'
import { findOperatorSecret } from '../../machine/secrets.ts'
import { openBackend } from '../../store/engine.ts'
import { placeOptions, withAdministration, withServerPlace } from '../../store/server.ts'
import { withProgress } from '../../terminal/progress.ts'
import { countText } from '../../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'serve backup',
    summary: 'Copy the stores of a server, also while it runs',
    usage: '<directory>',
    options: placeOptions,
    notes: ['The directory must be absent or empty. Copy the identity file apart from it.'],
    run: serveBackup,
  },
  {
    name: 'serve restore',
    summary: 'Make the stores of a server from a backup',
    usage: '<directory>',
    options: placeOptions,
    notes: [
      'Needs the identity of the server, and an empty place: a directory for its data, or a ' +
        'database, so that stores can move from one to the other. The older state is accepted ' +
        'once. Stores that have a remote should sync before they are written to.',
    ],
    run: serveRestore,
  },
  {
    name: 'serve rotate-operator',
    destroys: true,
    summary: 'Have the operator secret recover all stores of a server, and no earlier one',
    options: {
      ...placeOptions,
      ...actorOptions,
    },
    notes: [
      'Put the new secret, from `key operator`, where `serve` takes it from, and restart the ' +
        'server, so that new stores have it; then run this. It may be repeated, also after it ' +
        'was interrupted. An earlier secret opens nothing that is written from then on.',
    ],
    run: serveRotateOperator,
  },
]

function serveBackup(context: Context, input: Input): Promise<Answer> {
  const target = resolve(input.argument(0))
  return withServerPlace(context, input, async (place) => {
    const backend = await openBackend(context, input, place.identity)
    return reporting(`Copied to ${target}`, (notice) => {
      if (backend !== undefined) return backupHostOf(backend, target, notice)
      return backupHost({ ...place, notice }, target)
    })
  })
}

function serveRestore(context: Context, input: Input): Promise<Answer> {
  const source = resolve(input.argument(0))
  return withServerPlace(context, input, async (place) => {
    const backend = await openBackend(context, input, place.identity)
    const target = backend === undefined ? place.dataDirectory : 'the database'
    return reporting(`Restored to ${target}`, (notice) => {
      if (backend !== undefined) return restoreHostTo(source, backend, notice)
      return restoreHost(source, { ...place, notice })
    })
  })
}

async function serveRotateOperator(context: Context, input: Input): Promise<Answer> {
  const { actor } = authorOf(context, input)
  return withAdministration(context, input, async (host) => {
    const operatorSecret = findOperatorSecret(context) ?? (await nearIdentity(context))
    const storeIds = (await host.stores()).map(({ storeId }) => storeId)
    const report = await withProgress(context, 'Rotating', (options) =>
      rotateOperator({
        storeIds,
        use: (storeId, rotate) => host.use(storeId, rotate),
        operatorSecret,
        actor,
        ...options,
      }),
    )
    const { rotated, unchanged, failed } = report
    const stores = countText(rotated, 'store', 'stores')
    const before = unchanged === 0 ? '' : `; ${unchanged} had it before`
    const left = failed.map(({ storeId }) => `  not ${storeId}: run it again\n`)
    return {
      text:
        `The operator secret recovers ${stores} now, and earlier ones do not${before}\n` +
        left.join(''),
      json: { rotated, unchanged, failed: failed.map(({ storeId }) => storeId) },
      failures: failed.map(({ error }) => error),
      exitCode: failed.length > 0 ? INCOMPLETE : 0,
    }
  })
}

async function nearIdentity({ environment }: Context): Promise<string> {
  return (await ensureOperatorSecret(environment)).operatorSecret
}

async function reporting(
  done: string,
  work: (notice: (notice: HostNotice) => void) => Promise<BackupReport>,
): Promise<Answer> {
  const failures: unknown[] = []
  const { stores, failed } = await work(({ error }) => failures.push(error))
  const lost = failed.map((storeId) => `  not ${storeId}\n`)
  return {
    text: `${done}: ${countText(stores, 'store', 'stores')}\n${lost.join('')}`,
    json: { stores, failed },
    failures,
    exitCode: failed.length > 0 ? INCOMPLETE : 0,
  }
}

/** As for a damaged history: the listed stores are missing. */
const INCOMPLETE = 11
