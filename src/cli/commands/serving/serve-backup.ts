// `serve backup|restore|accept-restored|rotate-operator|rotate-identity`: works on all stores of a
// server at once, for the day on which its machine, its database or a secret is lost.

import { resolve } from 'node:path'
import type { AcceptReport } from '../../../engine/engine-backend.ts'
import { formatId } from '../../../format/id.ts'
import { ensureIdentity, ensureOperatorSecret } from '../../../home/identity-file.ts'
import { type Rotation, rotateOperator } from '../../../hosting/administration.ts'
import {
  backupHost,
  backupHostOf,
  type BackupReport,
  restoreHost,
  restoreHostTo,
} from '../../../hosting/backup.ts'
import { DataDirectory } from '../../../hosting/data-directory.ts'
import type { HostNotice, RotatingBackend } from '../../../hosting/host-backend.ts'
import { type IdentityRotationReport, rotateIdentity } from '../../../hosting/rotate-identity.ts'
import type { Identity } from '../../../keys/identity.ts'
import {
  type Answer,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../../call/command.ts'
import { actorOptions, authorOf } from '../../call/options.ts'
import { findOperatorSecret } from '../../machine/secrets.ts'
import { engineOf, openBackend } from '../../store/engine.ts'
import { placeOptions, withAdministration, withServerPlace } from '../../store/server.ts'
import { withProgress } from '../../terminal/progress.ts'
import { wire } from '../../text/wire.ts'
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
    name: 'serve accept-restored',
    summary: 'Accept once that the database of servers was put back to an older state',
    options: placeOptions,
    notes: [
      'End the servers first, and start them afterwards. Those that remember a newer state ' +
        'refuse the older one as `rolled_back` until this has run. It may be repeated. Changes ' +
        'since then are lost, unless a remote has them. A store with a remote must sync before ' +
        'anything is written to it, or the remote refuses this device for good: such stores are ' +
        'listed. See docs/FLEET.md.',
    ],
    run: serveAcceptRestored,
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
  {
    name: 'serve rotate-identity',
    destroys: true,
    summary:
      'Give all servers of these stores a new identity, and take all access from the old one',
    options: {
      ...placeOptions,
      '--to <file>': 'The file of the new identity; made if missing',
      ...actorOptions,
    },
    notes: [
      'For a secret that was stolen. End all servers first; then put the new identity where they ' +
        'take it from, and start them. It may be repeated, also after it was interrupted: name ' +
        'the old identity with GITLOCKET_IDENTITY_FILE, and the new one with --to. Each store ' +
        'begins an epoch of keys; changes of members go to its remote first.',
      'The old identity opens nothing that is written from then on; its thief may know all that ' +
        'was written before. See docs/FLEET.md for what else to replace.',
    ],
    run: serveRotateIdentity,
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

function serveAcceptRestored(context: Context, input: Input): Promise<Answer> {
  // First: without one, a missing identity would be made.
  engineOf(context, input)
  return withServerPlace(context, input, async (place) => {
    const backend = await openBackend(context, input, place.identity)
    if (backend === undefined) throw new Error('an engine was named')
    try {
      return await reporting('Accepted as restored', (notice) => backend.acceptRestored(notice))
    } finally {
      await backend.close()
    }
  })
}

async function serveRotateOperator(context: Context, input: Input): Promise<Answer> {
  const { actor } = authorOf(context, input)
  return withAdministration(context, input, async (host) => {
    const operatorSecret = findOperatorSecret(context) ?? (await nearIdentity(context))
    const use: Rotation['use'] = (storeId, rotate) => host.use(storeId, rotate)
    const report = await withProgress(context, 'Rotating', (options) =>
      host.rotateAlone(async () => {
        const storeIds = (await host.stores()).map(({ storeId }) => storeId)
        return rotateOperator({ storeIds, use, operatorSecret, actor, ...options })
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

function serveRotateIdentity(context: Context, input: Input): Promise<Answer> {
  const file = input.text('to')
  if (file === undefined) throw usageError('Name the file of the new identity with --to')
  const path = resolve(file)
  const { actor } = authorOf(context, input)
  return withServerPlace(context, input, async (place) => {
    const open = async (identity: Identity): Promise<RotatingBackend> => {
      const backend = await openBackend(context, input, identity)
      return backend ?? new DataDirectory({ ...place, identity, clock: context.clock })
    }
    const { identity: next, isNew } = await ensureIdentity(path)
    if (isNew) process.stderr.write(`Made an identity at ${path}: keep a copy elsewhere\n`)
    const [from, to] = [await open(place.identity), await open(next)]
    try {
      const failures: unknown[] = []
      const notice = ({ error }: HostNotice): number => failures.push(error)
      const report = await withProgress(context, 'Rotating', (options) =>
        rotateIdentity({ from, to, actor, notice, ...options }),
      )
      return identityAnswer({ path, before: place.identity, next, report, failures })
    } finally {
      await from.close()
      await to.close()
    }
  })
}

function identityAnswer({
  path,
  before,
  next,
  report,
  failures,
}: {
  readonly path: string
  readonly before: Identity
  readonly next: Identity
  readonly report: IdentityRotationReport
  readonly failures: readonly unknown[]
}): Answer {
  const { stores, failed, shared } = report
  const [deviceId, previousDeviceId] = [next, before].map((one) => formatId('device', one.deviceId))
  const lines = [
    `${countText(stores, 'store', 'stores')} of ${deviceId} now; ${previousDeviceId} opens none`,
    ...failed.map((storeId) => `  not ${storeId}: run it again with both identities`),
    ...shared.map((storeId) => `  ${storeId} has further devices: check its \`device list\``),
    `Next: give ${path} to all servers in place of the old identity, then start them`,
    '',
  ]
  return {
    text: lines.join('\n'),
    json: wire({ ...report, deviceId, previousDeviceId, identityFile: path }),
    failures,
    exitCode: failed.length > 0 ? INCOMPLETE : 0,
  }
}

async function nearIdentity({ environment }: Context): Promise<string> {
  return (await ensureOperatorSecret(environment)).operatorSecret
}

async function reporting(
  done: string,
  work: (notice: (notice: HostNotice) => void) => Promise<BackupReport & Partial<AcceptReport>>,
): Promise<Answer> {
  const failures: unknown[] = []
  const report = await work(({ error }) => failures.push(error))
  const { stores, failed, unsynced = [] } = report
  const lines = [
    `${done}: ${countText(stores, 'store', 'stores')}\n`,
    ...failed.map((storeId) => `  not ${storeId}\n`),
    ...unsynced.map((id) => `  before you start a server: gitlocket --store ${id} sync\n`),
  ]
  return {
    text: lines.join(''),
    json: report,
    failures,
    exitCode: failed.length > 0 ? INCOMPLETE : 0,
  }
}

/** As for a damaged history: the listed stores are missing. */
const INCOMPLETE = 11
